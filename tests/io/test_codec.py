"""Values as JSON and arrays: what goes in comes back, and a file names nothing but known records."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.encoders import LinearEncoder
from altopt.inputs import BlockInputs, HopInputs, ReducedInputs
from altopt.io.codec import Given, decode, encode, known_parts
from altopt.views import SpectralFilter, SquaredLaplacianView

VALUES = {
    "nothing": None,
    "numbers": [1, 2.5, True],
    "tuple": (1, (2, "x")),
    "dictionary": {"a": 1, 3: [2.0, None]},
    "a class": SquaredLaplacianView,
    "a part": LinearEncoder(),
    "parts in a part": BlockInputs((HopInputs((0, 2)), ReducedInputs(n_components=7)), scaling="size"),
    "view settings": SpectralFilter((0.0, 1.0)),
}


def back(value, parts=()):
    arrays = {}
    head = json.loads(json.dumps(encode(value, arrays, "value")))
    return decode(head, arrays, "value", Given(parts))


@pytest.mark.parametrize("name", VALUES)
def test_values_come_back(name):
    assert back(VALUES[name]) == VALUES[name]
    assert type(back(VALUES[name])) is type(VALUES[name])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6).reshape(2, 3),
        np.array(["a", "ü"]),
        np.array(["a", 1, None], dtype=object),
        np.array([True]),
    ],
)
def test_arrays_come_back_with_their_type(array):
    again = back(array)
    assert_array_equal(again, array)
    assert again.dtype.kind == array.dtype.kind


def test_sparse_matrices_and_graphs_come_back():
    A = sp.random_array((5, 5), density=0.5, rng=np.random.default_rng(0), format="csr")
    assert (back(A) != A).nnz == 0
    graph = Graph([("ann", "bob"), ("bob", "cem")], directed=True)
    again = back(graph)
    assert again.ids.tolist() == graph.ids.tolist()
    assert (again.directed_adjacency != graph.directed_adjacency).nnz == 0


class Own:
    """A class that is not altopt's."""


def test_a_class_of_the_users_own_must_be_handed_over():
    assert back(Own, parts=[Own]) is Own
    with pytest.raises(InputError, match=r"which is not a part of altopt and is not imported for safety"):
        back(Own)


@pytest.mark.parametrize(
    "path",
    [
        "os:system",
        "subprocess:run",
        "altopt.graph.tables:write_table",
        "altopt.cli.main:main",
        "Graph",
        "AltOpt",
    ],
)
def test_a_file_cannot_name_anything_else(path):
    """Attributes of altopt's own modules neither: one that was called with a file's keywords could run anything."""
    for head in ({"part": path, "fields": {"args": "true"}}, {"class": path}):
        with pytest.raises(InputError, match="not a part of altopt"):
            decode(head, {}, "value")


def test_only_records_are_made_from_a_files_fields():
    """A base class is a known name, but it is no record of fields."""
    assert "Encoder" in known_parts()
    with pytest.raises(InputError, match="which is not a record"):
        decode({"part": "Encoder", "fields": {}}, {}, "value")


def test_what_cannot_be_stored_is_refused_by_name(tmp_path):
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    model = AltOpt(random_state=0).fit(X, [0, -1, 1, -1], graph=[(0, 1), (2, 3)])
    model.temperature = object()
    with pytest.raises(InputError, match=r"parameters.temperature=.* cannot be stored"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight": -0.5}, "weights of the kinds"),
        ({"factor": "1"}, "weights of the kinds"),
        ({"factor": float("inf")}, "weights of the kinds"),
        ({"name": "b"}, "names of their own"),
        ({"name": 3}, "names of their own"),
    ],
)
def test_forged_kinds_of_edges_are_refused(change, message):
    arrays = {}
    stored = encode(Graph({"a": [("x", "y")], "b": [("y", "z")]}), arrays, "graph")
    assert decode(stored, arrays, "graph").edge_weights == {"a": 0.5, "b": 0.5}
    stored["graph"]["kinds"][0] |= change
    with pytest.raises(InputError, match=message):
        decode(stored, arrays, "graph")
