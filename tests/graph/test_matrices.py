"""Sparse matrices whose index arrays lie: refused in a sentence, wherever they come in."""

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt, Graph, InputError, diffuse
from altopt.cli.main import run
from altopt.graph.matrices import checked_csr
from cli_tables import fit_call, tables

N = 12
y = np.array([0, 1] * 3 + [-1] * (N - 6))


def matrix(form: str = "csr"):
    rng = np.random.default_rng(0)
    places = rng.integers(0, N, (2, 30))
    return sp.coo_array((rng.random(30), tuple(places)), shape=(N, N)).asformat(form)


def point_outside(A, index):
    places = A.coords[0] if A.format == "coo" else A.indices
    places[3] = index


def let_indptr_fall(A):
    A.indptr[4], A.indptr[5] = A.indptr[-1], 0


def with_float_indices(A):
    A.indices = A.indices.astype(float)


def with_fewer_indices(A):
    A.indices = A.indices[:-5]


def with_fewer_values(A):
    A.data = A.data[:-5]


def with_short_indptr(A):
    A.indptr = A.indptr[:-3]


def with_more_entries_than_there_are(A):
    A.indptr[-1] += 1_000_000


DAMAGE = [
    lambda A: point_outside(A, 5_000_000),
    lambda A: point_outside(A, -7),
    lambda A: point_outside(A, N),
    let_indptr_fall,
    with_float_indices,
    with_fewer_indices,
    with_fewer_values,
    with_short_indptr,
    with_more_entries_than_there_are,
]
WAYS_IN = {
    "Graph": Graph,
    "directed": lambda A: Graph(A, directed=True),
    "X": lambda A: AltOpt(cross_fit=False).fit(A, y, graph=[(0, 1)]),
    "diffuse": lambda A: diffuse(A, np.eye(N)),
}


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_compressed_matrices_that_lie_are_refused(form, damage):
    A = matrix(form)
    damage(A)
    with pytest.raises(InputError, match="the matrix is damaged: it"):
        checked_csr(A, "the matrix")


@pytest.mark.parametrize("damage", DAMAGE[:3])
def test_coordinates_outside_are_refused(damage):
    A = matrix("coo")
    damage(A)
    with pytest.raises(InputError, match="entry in row"):
        checked_csr(A, "the matrix")


def test_lists_and_dictionaries_that_point_outside_are_refused():
    lists, keys = matrix("lil"), matrix("dok")
    lists.rows[2], lists.data[2] = [5_000_000], [1.0]
    keys._dict[(5_000_000, 1)] = 1.0
    for A in (lists, keys):
        with pytest.raises(InputError, match="is damaged"):
            checked_csr(A, "the matrix")


@pytest.mark.parametrize("way", WAYS_IN)
def test_every_way_in_refuses_an_index_outside(way):
    A = matrix()
    point_outside(A, -7)
    with pytest.raises(InputError, match=r"is damaged: it has an entry in column -7 of 12"):
        WAYS_IN[way](A)


@pytest.mark.filterwarnings("ignore:the graph is not symmetric")
@pytest.mark.parametrize("form", ["coo", "csc", "bsr", "lil", "dok", "dia"])
def test_every_format_gives_the_same_graph(form):
    assert abs(Graph(matrix(form)).adjacency - Graph(matrix()).adjacency).max() < 1e-15


@pytest.mark.parametrize("index", [5_000_000, -7])
@pytest.mark.parametrize("what", ["edges", "features"])
def test_a_matrix_file_that_points_outside_ends_with_a_sentence(tmp_path, capsys, what, index):
    files = tables(tmp_path, "csv", "whole")
    A = sp.csr_array(sp.random_array((240, 240), density=0.02, format="csr", rng=0))
    A.indices[3] = index
    files[what] = tmp_path / f"{what}.npz"
    sp.save_npz(files[what], A)
    assert run(fit_call(files)) == 2
    said = capsys.readouterr().err
    assert f"{files[what]} is damaged: it has an entry in column {index:,} of 240." in said
