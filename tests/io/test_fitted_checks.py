"""A stored model whose arrays or fields somebody changed, with every checksum made right again, is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from altopt import AltOpt, InputError
from altopt.io.folder import read_folder, write_folder
from altopt.io.store import shapes_of
from problems import two_communities


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    X, y, _, A = two_communities()
    folder = tmp_path_factory.mktemp("stored") / "m"
    AltOpt(random_state=0, cross_fit=False, n_rounds=1).fit(X, y, graph=A).save(folder)
    return folder


def loaded_after(stored, tmp_path, change, honest=True):
    """Load a copy in which `change(head, arrays)` was made; `honest` lists the changed arrays anew."""
    head, arrays = read_folder(stored, "model")
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(head, arrays)
    if honest:
        head["shapes"] = shapes_of(arrays)
    write_folder(tmp_path / "m", head, arrays)
    return AltOpt.load(tmp_path / "m")


def put(name, index, value):
    def change(head, arrays):
        arrays[name].ravel()[index] = value

    return change


def cut(name):
    return lambda head, arrays: arrays.update({name: arrays[name][:-1]})


def dropped(name):
    return lambda head, arrays: arrays.pop(name)


def as_type(name, dtype):
    return lambda head, arrays: arrays.update({name: arrays[name].astype(dtype)})


def field(name, value):
    return lambda head, arrays: head["fitted"].update({name: value})


CHANGES = {
    "index beyond": put("fitted.last_graph.indices", 3, 5_000_000),
    "index negative": put("fitted.last_graph.indices", 3, -7),
    "indptr falls": put("fitted.last_graph.indptr", 3, 2**30),
    "indptr starts late": put("fitted.last_graph.indptr", 0, 1),
    "edge without reverse": put("fitted.last_graph.indices", 0, 0),
    "shape": put("fitted.last_graph.shape", 0, 2**40),
    "NaN in F": put("fitted.scores", 0, np.nan),
    "inf in P": put("fitted.encoder_output", 0, np.inf),
    "F cut": cut("fitted.scores"),
    "code beyond": put("fitted.codes", 0, 9),
    "label negative": put("fitted.labels", 0, -1),
    "labels as floats": as_type("fitted.labels", np.float64),
    "reached as numbers": as_type("fitted.reached", np.int64),
    "confidence beyond": put("fitted.confidence", 0, 7.0),
    "encoder cut": cut("encoder.W"),
    "encoder NaN": put("encoder.b", 0, np.nan),
    "seed": field("seed", "0"),
    "seed negative": field("seed", -1),
    "restart": field("restart", 7.0),
    "temperature": field("temperature", -1.0),
    "features": field("n_features", 3),
    "features as a flag": field("n_features", True),
    "self loops": field("self_loops", 1),
    "unknown field": field("surprise", 1),
    "function": field("readout", {"part": "altopt.io.store:load", "fields": {"path": "/"}}),
    "class in place of a part": field("solver", {"class": "LinearEncoder"}),
    "part of another kind": field("solver", {"part": "LinearEncoder", "fields": {}}),
    "columns": lambda head, arrays: head.update(columns=[1, 2]),
    "parameters": lambda head, arrays: head["parameters"].update(os="system"),
    "no parameters": lambda head, arrays: head.pop("parameters"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_no_save_writes_is_refused(name, stored, tmp_path):
    with pytest.raises(InputError, match="cannot be loaded|is damaged|other parameters"):
        loaded_after(stored, tmp_path, CHANGES[name])


def test_no_array_may_be_missing_or_of_another_shape(stored, tmp_path):
    for name, array in load_file(next(stored.glob("*.safetensors"))).items():
        for change in [dropped(name), cut(name)] if array.size else [dropped(name)]:
            with pytest.raises(InputError):
                loaded_after(stored, tmp_path, change, honest=False)


def test_unchanged_it_loads(stored, tmp_path):
    again = loaded_after(stored, tmp_path, lambda head, arrays: None)
    assert np.array_equal(again.scores_, AltOpt.load(stored).scores_)


ATTACKS = [
    {"part": "os:system", "fields": {"command": "touch {mark}"}},
    {"part": "altopt.io.codec:known_part", "fields": {"path": "x"}},
    {"part": "import_module", "fields": {"name": "antigravity"}},
    {"part": "LinearEncoder", "fields": {"__class__": "os:system"}},
    {
        "part": "LinearEncoder",
        "fields": {"C": {"part": "subprocess:run", "fields": {"args": "touch {mark}"}}},
    },
    {"class": "os:system"},
    {"skops": "fitted.scores"},
    {"estimator": "fitted"},
]


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
@pytest.mark.parametrize("key", ["encoder", "inputs", "solver", "random_state"])
def test_a_setting_runs_nothing(key, attack, stored, tmp_path):
    mark = tmp_path / "mark"
    value = json.loads(json.dumps(attack).replace("{mark}", str(mark)))
    with pytest.raises(InputError):
        loaded_after(stored, tmp_path, lambda head, arrays: head["parameters"].update({key: value}))
    assert not mark.exists()
