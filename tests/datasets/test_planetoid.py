"""Planetoid's pickles are read as numbers; whatever else a pickle holds is refused before it is made."""

import collections
import os
import pickle
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import InputError
from altopt.datasets.planetoid import read_files, unpickled


class Runs:
    def __init__(self, called, *arguments):
        self.called, self.arguments = called, arguments

    def __reduce__(self):
        return self.called, self.arguments


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_with_code_is_refused_and_runs_nothing(protocol, tmp_path):
    mark, file = tmp_path / "mark", tmp_path / "ind.cora.x"
    code = f"open({str(mark)!r}, 'w').close()"
    attacks = [
        Runs(os.system, f"touch {mark}"),
        Runs(eval, code),
        Runs(exec, code),
        Runs(partial, exec, code),
        Runs(getattr, os, "system"),
        Runs(np.load, str(mark)),
        Runs(collections.defaultdict, Runs(exec, code)),
        [1, {2: Runs(exec, code)}],
    ]
    for attack in attacks[:4] + attacks[6:] if protocol < 2 else [*attacks[:4], *attacks[5:]]:
        file.write_bytes(pickle.dumps(attack, protocol))
        with pytest.raises(InputError, match="which is not data"):
            unpickled(file)
        assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"junk",
        b"cos\nsystem\n(S'true'\ntR.",
        b"(S'true'\nios\nsystem\n.",
        b"c__builtin__\nlist.eval\n.",
        b"cnumpy\nload\n.",
        b"\x80\x04\x8c\x0acodecs.sys\x94.",
        pickle.dumps(np.array([{}], dtype=object), 2),
        pickle.dumps(np.zeros(3), 2)[:-20],
    ],
)
def test_damaged_and_odd_pickles_are_an_input_error(data, tmp_path):
    (tmp_path / "ind.cora.x").write_bytes(data)
    with pytest.raises(InputError, match="is not a file of Planetoid"):
        unpickled(tmp_path / "ind.cora.x")


def test_a_matrix_with_indices_outside_is_refused(tmp_path):
    A = sp.csr_matrix(np.eye(3))
    A.indices[1] = 5_000_000
    (tmp_path / "ind.cora.x").write_bytes(pickle.dumps(A, 2))
    with pytest.raises(InputError, match="entry in column"):
        unpickled(tmp_path / "ind.cora.x")


def write(folder, graph, test=(5, 3)):
    X, Y = np.arange(12.0).reshape(6, 2), np.eye(3)[[0, 1, 2, 0, 1, 2]]
    parts = {"x": X[:2], "allx": X[:3], "tx": X[[3, 5]], "y": Y[:2], "ally": Y[:3], "ty": Y[[3, 5]]}
    for name, rows in parts.items():
        held = sp.csr_matrix(rows) if "x" in name else rows
        (folder / f"ind.toy.{name}").write_bytes(pickle.dumps(held, 2))
    held = collections.defaultdict(list, graph)
    (folder / "ind.toy.graph").write_bytes(pickle.dumps(held, 2))
    (folder / "ind.toy.test.index").write_text("".join(f"{node}\n" for node in test))


def test_test_nodes_are_put_where_their_index_says(tmp_path):
    write(tmp_path, {0: [1, 1, 0], 5: [3]})
    X, y, ends, parts = read_files(tmp_path, "toy")
    assert X.toarray().tolist() == [[0, 1], [2, 3], [4, 5], [10, 11], [0, 0], [6, 7]]
    assert y.tolist() == [0, 1, 2, 2, 0, 0]
    assert ends.tolist() == [[0, 0, 5], [1, 1, 3]]
    assert parts["test"].tolist() == [5, 3]


@pytest.mark.parametrize(
    ("graph", "test"), [({0: [99]}, (5, 3)), ({0: [-1]}, (5, 3)), ({0: "ab"}, (5, 3)), ({}, (9, 5))]
)
def test_files_that_do_not_fit_are_refused(graph, test, tmp_path):
    write(tmp_path, graph, test)
    with pytest.raises(InputError, match="do not fit together|Fetch"):
        read_files(tmp_path, "toy")
