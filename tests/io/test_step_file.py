"""A step as a file: what was written comes back bit for bit, and whatever was damaged is not taken for a step."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from altopt.io.step_file import read_step, write_step

ARRAYS = {
    "F": np.array([[0.1, -0.0, np.nan], [np.inf, 5e-324, 1e308]]),
    "P": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
    "label": np.array([1, 2, 3], dtype=np.int32),
    "mask": np.array([True, False]),
    "count": np.array(7),
    "nothing": np.empty((0, 3)),
}


@pytest.fixture
def path(tmp_path):
    write_step(tmp_path / "step", ARRAYS)
    return tmp_path / "step"


def test_the_bits_come_back(path):
    found = read_step(path)
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert_array_equal(found[name].tobytes(), array.tobytes())
        assert found[name].flags.writeable
    assert [entry.name for entry in path.parent.iterdir()] == ["step"]


def test_no_damage_is_taken_for_a_step(path):
    whole = path.read_bytes()
    for k in range(len(whole)):
        path.write_bytes(whole[:k])
        assert read_step(path) is None
        path.write_bytes(whole[:k] + bytes([whole[k] ^ 1]) + whole[k + 1 :])
        assert read_step(path) is None
    path.write_bytes(whole + b"\0")
    assert read_step(path) is None


def test_what_is_no_file_is_no_step(tmp_path):
    (tmp_path / "folder").mkdir()
    assert read_step(tmp_path / "folder") is None
    assert read_step(tmp_path / "absent") is None


def test_a_failed_write_leaves_the_former_step(path, monkeypatch):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        write_step(path, {"F": np.zeros(2)})
    assert list(read_step(path)) == list(ARRAYS)
    assert [entry.name for entry in path.parent.iterdir()] == ["step"]
