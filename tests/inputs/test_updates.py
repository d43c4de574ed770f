"""Encoder inputs after a fit: rows of new nodes appended, and rows of nodes whose edges changed replaced."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import Graph
from altopt.fitted.new_nodes import changed_nodes, new_nodes
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    ChangedNodes,
    DegreeInputs,
    DiffusedInputs,
    HopInputs,
    InputSource,
    Prepared,
    RawInputs,
    encoder_rows,
)
from altopt.operator import NormalizedAdjacency
from parts import INPUTS
from toy_inputs import N, dense, directed, features, newcomers, prepared


@pytest.fixture(params=INPUTS)
def kind(request):
    return INPUTS[request.param]


def flat(Z):
    """What is kept of nodes, as one dense matrix."""
    return np.concatenate([flat(part) for part in Z.parts], axis=1) if hasattr(Z, "parts") else dense(Z)


def precision(made):
    """How much of a row is lost where it is kept."""
    return 1e-3 if flat(made.Z).dtype == np.float16 else 0.0


def test_a_new_node_that_copies_a_known_one_has_its_rows():
    """Known nodes are held fixed, so only what looks at the node's own edges and features is equal to the bit."""
    graph = Graph(directed(), directed=True)
    A, X = directed().toarray(), features()
    twin = 12
    out, into = np.flatnonzero(A[twin]), np.flatnonzero(A[:, twin])
    source = np.concatenate([np.full(len(out), N), into])
    target = np.concatenate([out, np.full(len(into), N)])
    ends = (source, target, np.ones(len(source)))
    larger = graph.grown(1, *ends)
    new = new_nodes(larger, NormalizedAdjacency(larger.adjacency), X[[twin]], 0.2, 10)
    # not those that go by A_tilde: it knows the neighbours' degrees, which the twin has raised
    of_its_own = ("raw", "out-means", "in-means", "adjacency", "out-adjacency", "in-adjacency", "degrees")
    for name in (*of_its_own, "out-adjacency, reduced", "blocks, unit", "blocks of blocks"):
        made = prepared(INPUTS[name])
        own = dense(encoder_rows(made))[twin]
        assert_allclose(dense(made.rows(made.extend(new)))[0], own, atol=1e-5, err_msg=name)


def test_appended_rows_are_those_of_the_new_nodes(kind):
    made = prepared(kind)
    new = made.extend(newcomers())
    longer = made.with_rows(new)
    assert isinstance(longer, Prepared)
    assert longer.Z.shape[0] == N + 3
    assert_array_equal(flat(longer.Z[:N]), flat(made.Z))
    assert_allclose(dense(longer.rows(longer.Z[N : N + 3])), dense(made.rows(new)), atol=precision(made))
    again = kind.restore(longer.state())
    assert_array_equal(dense(encoder_rows(again)), dense(encoder_rows(longer)))


def test_nodes_may_come_one_after_another(kind):
    """A newcomer's rows do not depend on whether others, that it is not tied to, came before it."""
    graph = Graph(directed(), directed=True)
    edges = (
        (np.array([N, N]), np.array([3, 5]), np.ones(2)),
        (np.array([N + 1, 20]), np.array([30, N + 1]), np.ones(2)),
    )
    X = features(seed=9)[:2]
    both = graph.grown(2, *(np.concatenate(parts) for parts in zip(*edges)))
    made = prepared(kind)
    together = made.extend(new_nodes(both, NormalizedAdjacency(both.adjacency), X, 0.2, 10))
    first = graph.grown(1, *edges[0])
    longer = made.with_rows(
        made.extend(new_nodes(first, NormalizedAdjacency(first.adjacency), X[:1], 0.2, 10))
    )
    second = longer.extend(new_nodes(both, NormalizedAdjacency(both.adjacency), X[1:], 0.2, 10))
    assert_allclose(flat(longer.Z)[-1], flat(together)[0], atol=precision(made) + 1e-6)
    assert_allclose(flat(second)[0], flat(together)[1], atol=precision(made) + 1e-6)


def nodes_as_they_are(A, nodes, was=None):
    """Nodes of a graph A with the edges it has, and those it had."""
    graph, before = Graph(A, directed=True), Graph(A if was is None else was, directed=True)
    ties = [NormalizedAdjacency(g.adjacency).matrix[nodes] for g in (graph, before)]
    out, into = sp.csr_array(A[nodes]), sp.csr_array(A[:, nodes].T)
    return ChangedNodes(nodes, *ties, out, into, 0.2, 10)


@pytest.mark.parametrize("nodes", [np.array([2, 7, N - 2, N - 1]), np.arange(N)], ids=["a few", "all"])
def test_renewing_where_no_edge_changed_changes_nothing(kind, nodes):
    made = prepared(kind)
    before = flat(made.Z).copy()
    found = made.renewed(nodes_as_they_are(directed(), nodes))
    scale = np.abs(before).max()
    tolerance = precision(made) + 2e-6
    assert_allclose(flat(found), before[nodes], atol=tolerance * scale)
    assert_allclose(flat(made.with_rows(found, nodes).Z), before, atol=tolerance * scale)


def rewired():
    """Three edges more and one fewer; node N - 1 gets its first, and one edge its other direction."""
    A = sp.lil_array(directed())
    source, target = (ends[0] for ends in A.nonzero())
    there = next((i, j) for i, j in zip(*A.nonzero()) if not A[j, i] and {i, j}.isdisjoint({source, target}))
    A[source, target] = 0
    A[there[1], there[0]] = A[2, N - 1] = A[8, 4] = 1
    return sp.csr_array(A)


# what is renewed for all nodes is what a new fit would read, in directions that do not depend on the edges
AS_NEW = {
    "hops": HopInputs(n_components=99),
    "out-means": HopInputs(hops=(0, 2), direction="out", n_components=99),
    "in-means": HopInputs(hops=(1,), direction="in", n_components=99),
    "adjacency": AdjacencyInputs(),
    "out-adjacency": AdjacencyInputs("out"),
    "in-adjacency": AdjacencyInputs("in"),
    "degrees": DegreeInputs(),
    "degrees around": DegreeInputs(n_hops=2),
    "blocks": BlockInputs((HopInputs(n_components=99), AdjacencyInputs("in"), RawInputs())),
}


@pytest.mark.parametrize("name", AS_NEW)
def test_all_nodes_renewed_are_what_a_fit_would_read(name):
    made = prepared(AS_NEW[name])
    expected = flat(prepared(AS_NEW[name], rewired()).Z)
    found = made.renewed(nodes_as_they_are(rewired(), np.arange(N), directed()))
    assert_allclose(flat(found), expected, atol=1e-5 * np.abs(expected).max())


def test_all_nodes_diffused_again_are_what_a_fit_would_read():
    """With steps enough to end at the fixed point, on both sides; a node's first edge and its last one too."""
    lonely, tied = directed(), rewired()
    for was, now in ((lonely, tied), (tied, lonely)):
        graphs = [Graph(A, directed=True) for A in (was, now)]
        operators = [NormalizedAdjacency(g.adjacency) for g in graphs]
        X = features().toarray()
        made, new = (
            DiffusedInputs().prepare(InputSource(graph, A_tilde, X, 0.3, 80, 0))
            for graph, A_tilde in zip(graphs, operators)
        )
        changed = changed_nodes(graphs[0], graphs[1], operators[1], 0.3, 80)
        everyone = ChangedNodes(
            np.arange(N), operators[1].matrix, operators[0].matrix, changed.out, changed.into, 0.3, 80
        )
        assert_allclose(made.renewed(everyone), new.Z, atol=1e-4)


def test_the_nodes_whose_surroundings_changed_are_found():
    graphs = [Graph(A, directed=True) for A in (directed(), rewired())]
    changed = changed_nodes(*graphs, NormalizedAdjacency(graphs[1].adjacency), 0.2, 10)
    was, now = (NormalizedAdjacency(g.adjacency).as_dense() for g in graphs)
    rows = np.any(was != now, axis=1)
    A, B = directed().toarray(), rewired().toarray()
    rows |= np.any(A != B, axis=1) | np.any(A != B, axis=0)
    assert_array_equal(changed.nodes, np.flatnonzero(rows))
    assert_array_equal(changed.ties.toarray(), now[rows])
    assert_array_equal(changed.ties_before.toarray(), was[rows])
    assert_array_equal(changed.out.toarray(), B[rows])
    assert_array_equal(changed.into.toarray(), B[:, rows].T)
