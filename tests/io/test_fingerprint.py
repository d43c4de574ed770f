"""The fingerprint of a fit: the same for equal values in every process, another for any other value."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from altopt.encoders import LinearEncoder, TabularEncoder
from altopt.io.fingerprint import fingerprint


class Own:
    """A part of somebody's own that is no dataclass, and that knows itself."""

    def __init__(self, width):
        self.width, self.names, self.self = width, {"b", "a", "c"}, self


def values():
    X = np.arange(6.0).reshape(2, 3)
    return [
        None,
        0,
        False,
        0.0,
        "0",
        X,
        X.T,
        X.ravel(),
        X.astype(np.float32),
        X + 1e-12,
        sp.csr_array(X),
        np.array(["a", "b"]),
        np.array(["a", "c"], dtype=object),
        [1, 2],
        (1, 2),
        [[1], 2],
        {"a": 1},
        {"a": None},
        LinearEncoder(),
        LinearEncoder(C=2.0),
        LinearEncoder,
        TabularEncoder(RandomForestClassifier(5)),
        TabularEncoder(RandomForestClassifier(6)),
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        Own(1),
        Own(2),
        object(),
    ]


def test_equal_values_have_one_fingerprint_and_others_another():
    marks = [fingerprint(value) for value in values()]
    assert marks == [fingerprint(value) for value in values()]
    assert all(a != b for a, b in combinations(marks, 2))


def test_the_order_in_memory_plays_no_part():
    X = np.arange(12.0).reshape(3, 4)
    assert fingerprint(X) == fingerprint(np.asfortranarray(X)) == fingerprint(np.repeat(X, 2, axis=1)[:, ::2])


def test_another_process_finds_the_same():
    call = "from altopt.io.fingerprint import fingerprint as f; print(f({'a', 'b', 'c'}, f, object()))"
    found = {
        subprocess.run(
            [sys.executable, "-c", call],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
