"""Every kind of encoder inputs meets the same promises; each is its dense definition."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from altopt import AltOpt, Graph, InputError
from altopt.fitted.new_nodes import changed_nodes, grown, new_nodes
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    ChangedNodes,
    DegreeInputs,
    DiffusedInputs,
    HopInputs,
    Inputs,
    InputSource,
    Prepared,
    RawInputs,
    ReducedInputs,
    encoder_rows,
    unit_rows,
)
from altopt.inputs.rows import LazyRows
from altopt.operator import NormalizedAdjacency

N, D = 60, 40

KINDS = {
    "raw": RawInputs(),
    "diffused": DiffusedInputs(),
    "diffused, rows to sum 1": DiffusedInputs(scale_rows=True),
    "reduced": ReducedInputs(n_components=12),
    "hops": HopInputs(n_components=12),
    "hops, all columns": HopInputs(hops=(1, 3), n_components=99),
    "out-means": HopInputs(hops=(1, 2), direction="out", n_components=12),
    "in-means": HopInputs(hops=(1,), direction="in", n_components=12),
    "adjacency": AdjacencyInputs(),
    "out-adjacency": AdjacencyInputs("out"),
    "in-adjacency": AdjacencyInputs("in"),
    "adjacency, reduced": AdjacencyInputs(n_components=8),
    "out-adjacency, reduced": AdjacencyInputs("out", n_components=8),
    "degrees": DegreeInputs(),
    "degrees around": DegreeInputs(n_hops=2),
    "blocks, unit": BlockInputs((RawInputs(), AdjacencyInputs("out"), DegreeInputs())),
    "blocks, levelled": BlockInputs((HopInputs(n_components=5), AdjacencyInputs("in")), scaling="level"),
    "blocks, as they are": BlockInputs(
        (HopInputs(n_components=5), ReducedInputs(n_components=5)), scaling=None
    ),
    "blocks of blocks": BlockInputs((BlockInputs((RawInputs(), DegreeInputs())), AdjacencyInputs())),
}


def directed(seed=0, n=N, density=0.06):
    """A one-way graph with a clear spectrum; the last node has no edges, the one before only gives."""
    rng = np.random.default_rng(seed)
    A = (rng.random((n, n)) < density * np.linspace(0.3, 2.0, n)).astype(float)
    np.fill_diagonal(A, 0.0)
    A[-1] = A[:, -1] = A[:, -2] = 0.0
    return sp.csr_array(A)


def features(seed=1, n=N, d=D):
    """Sparse counts in a few topics, so that leading directions stand out."""
    rng = np.random.default_rng(seed)
    topics = rng.random((6, d)) * np.linspace(2.0, 0.3, 6)[:, None]
    X = np.round(rng.gamma(0.5, size=(n, 6)) @ topics * (rng.random((n, d)) < 0.3))
    return sp.csr_array(X)


def prepared(kind, A=None, X=None, seed=0, restart=0.2):
    graph = Graph(directed() if A is None else A, directed=True)
    X = features() if X is None else X
    return kind.prepare(InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart, 10, seed))


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


WIDE = " of a wide X"
REDUCED = ("reduced", "hops", "out-means", "in-means", "blocks, as they are")


def as_if_wide(monkeypatch):
    """Directions are found by the range finder, as for an X with many columns."""
    for module in ("reduced", "hops"):
        monkeypatch.setattr(f"altopt.inputs.{module}.few_columns", lambda n_rows, n_columns: False)


@pytest.fixture(params=[*KINDS, *(name + WIDE for name in REDUCED)])
def kind(request, monkeypatch):
    if request.param.endswith(WIDE):
        as_if_wide(monkeypatch)
    return KINDS[request.param.removesuffix(WIDE)]


@pytest.mark.parametrize("name", ["reduced", "out-means", "in-means"])
def test_few_columns_or_many_the_directions_are_the_same(name, monkeypatch):
    whole = dense(encoder_rows(prepared(KINDS[name])))
    as_if_wide(monkeypatch)
    found = dense(encoder_rows(prepared(KINDS[name])))
    products = whole @ whole.T
    assert_allclose(found @ found.T, products, atol=2e-3 * np.abs(products).max())


def test_directions_that_are_not_there_are_zero():
    X = np.outer(np.arange(1.0, N + 1), np.ones(30))  # one direction in all
    Z = prepared(ReducedInputs(n_components=5, standardise=False, root=False), X=X).Z
    assert (np.abs(Z[:, 0]) > 0).sum() > N / 2
    assert_allclose(Z[:, 1:], 0.0, atol=1e-4 * np.abs(Z).max())


def test_inputs_keep_the_contract(kind):
    made = prepared(kind)
    assert isinstance(kind, Inputs)
    assert isinstance(made, Prepared)
    rows = encoder_rows(made)
    assert rows.shape[0] == N
    assert rows.dtype == np.float32
    assert np.isfinite(dense(rows)).all()


def test_inputs_have_the_same_bits_for_the_same_seed(kind):
    assert_array_equal(dense(encoder_rows(prepared(kind))), dense(encoder_rows(prepared(kind))))


def test_the_numbering_of_nodes_does_not_matter(kind):
    """Products of rows stay what they were: columns may be nodes, and turn with them."""
    order = np.random.default_rng(5).permutation(N)
    rows = dense(encoder_rows(prepared(kind)))
    shuffled = dense(encoder_rows(prepared(kind, directed()[order][:, order], features()[order])))
    products = rows @ rows.T
    assert_allclose(shuffled @ shuffled.T, products[order][:, order], atol=2e-3 * np.abs(products).max())


def test_inputs_come_back_from_their_stored_state(kind):
    made = prepared(kind)
    again = kind.restore({name: value.copy() for name, value in made.state().items()})
    assert_array_equal(dense(encoder_rows(again)), dense(encoder_rows(made)))
    new = newcomers()
    assert_array_equal(dense(again.rows(again.extend(new))), dense(made.rows(made.extend(new))))


def test_rows_made_block_by_block_are_the_rows(kind):
    made = prepared(kind)
    lazy = LazyRows(made)
    assert lazy.shape == encoder_rows(made).shape
    assert_allclose(dense(lazy[10:25]), dense(encoder_rows(made))[10:25], rtol=1e-5, atol=1e-6)


def newcomers(n_new=3, restart=0.2):
    """Nodes N, N + 1 (tied to nodes and each other) and N + 2, which has no edge."""
    graph = Graph(directed(), directed=True)
    source, target = np.array([N, N, N + 1, 4]), np.array([3, 5, N, N + 1])
    ends = (source, target, np.ones(4))
    larger = grown(graph, n_new, ends)
    return new_nodes(larger, NormalizedAdjacency(larger.adjacency), features(seed=9)[:n_new], restart, 10)


def test_new_nodes_have_rows_like_the_others_and_one_without_edges_too(kind):
    made = prepared(kind)
    rows = made.rows(made.extend(newcomers()))
    assert rows.shape == (3, encoder_rows(made).shape[1])
    assert np.isfinite(dense(rows)).all()


def test_a_new_node_that_copies_a_known_one_has_its_rows():
    """Known nodes are held fixed, so only what looks at the node's own edges and features is equal to the bit."""
    graph = Graph(directed(), directed=True)
    A, X = directed().toarray(), features()
    twin = 12
    out, into = np.flatnonzero(A[twin]), np.flatnonzero(A[:, twin])
    source = np.concatenate([np.full(len(out), N), into])
    target = np.concatenate([out, np.full(len(into), N)])
    ends = (source, target, np.ones(len(source)))
    larger = grown(graph, 1, ends)
    new = new_nodes(larger, NormalizedAdjacency(larger.adjacency), X[[twin]], 0.2, 10)
    # not those that go by A_tilde: it knows the neighbours' degrees, which the twin has raised
    of_its_own = ("raw", "out-means", "in-means", "adjacency", "out-adjacency", "in-adjacency", "degrees")
    for name in (*of_its_own, "out-adjacency, reduced", "blocks, unit", "blocks of blocks"):
        made = prepared(KINDS[name])
        own = dense(encoder_rows(made))[twin]
        assert_allclose(dense(made.rows(made.extend(new)))[0], own, atol=1e-5, err_msg=name)


# rows that come and rows that change


def flat(Z):
    """What is kept of nodes, as one dense matrix."""
    return np.concatenate([flat(part) for part in Z.parts], axis=1) if hasattr(Z, "parts") else dense(Z)


def test_appended_rows_are_those_of_the_new_nodes(kind):
    made = prepared(kind)
    new = made.extend(newcomers())
    longer = made.with_rows(new)
    assert isinstance(longer, Prepared)
    assert longer.Z.shape[0] == N + 3
    assert_array_equal(flat(longer.Z[:N]), flat(made.Z))
    assert_array_equal(dense(longer.rows(longer.Z[N : N + 3])), dense(made.rows(new)))
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
    both = grown(graph, 2, tuple(np.concatenate(parts) for parts in zip(*edges)))
    made = prepared(kind)
    together = made.extend(new_nodes(both, NormalizedAdjacency(both.adjacency), X, 0.2, 10))
    first = grown(graph, 1, edges[0])
    longer = made.with_rows(
        made.extend(new_nodes(first, NormalizedAdjacency(first.adjacency), X[:1], 0.2, 10))
    )
    second = longer.extend(new_nodes(both, NormalizedAdjacency(both.adjacency), X[1:], 0.2, 10))
    assert_allclose(flat(longer.Z)[-1], flat(together)[0], atol=1e-6)
    assert_allclose(flat(second)[0], flat(together)[1], atol=1e-6)


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
    assert_allclose(flat(found), before[nodes], atol=2e-6 * scale)
    assert_allclose(flat(made.with_rows(found, nodes).Z), before, atol=2e-6 * scale)


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


# each kind is what it says


def test_hops_are_powers_of_A_tilde_and_means():
    A, X = directed().toarray(), np.sqrt(features().toarray())
    A_tilde = NormalizedAdjacency(Graph(A_sparse := directed(), directed=True).adjacency).as_dense()
    wide = HopInputs(hops=(0, 1, 2), n_components=99, row_exponent=0.0)
    for direction, S in {
        "both": A_tilde,
        "out": A / np.maximum(A.sum(axis=1, keepdims=True), 1),
        "in": A.T / np.maximum(A.T.sum(axis=1, keepdims=True), 1),
    }.items():
        made = prepared(
            HopInputs(hops=(0, 1, 2), n_components=99, row_exponent=0.0, direction=direction), A_sparse
        )
        rows = np.split(encoder_rows(made), 3, axis=1)
        for hop, block in zip(wide.hops, rows):
            expected = np.linalg.matrix_power(S, hop) @ X
            expected -= expected.mean(axis=0)
            expected /= np.sqrt(np.mean(np.sum(expected**2, axis=1)))
            assert_allclose(block, expected, atol=1e-4)
            assert np.mean(np.sum(block**2, axis=1)) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("wide", [False, True])
def test_the_directions_of_hops_are_those_of_the_dense_stack(wide, monkeypatch):
    if wide:
        as_if_wide(monkeypatch)
    A, X = directed().toarray(), np.sqrt(features().toarray())
    S = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    made = prepared(HopInputs(hops=(0, 2), direction="out", n_components=4, n_power=8))
    V = made.coordinates.V
    # of a wide X the size of a hop is estimated from a sketch, so what V keeps of the stack is compared
    stack = np.concatenate([X / np.linalg.norm(X), S @ S @ X / np.linalg.norm(S @ S @ X)])
    best = np.linalg.svd(stack, full_matrices=False)[2][:4].T
    kept, most = np.linalg.norm(stack @ V), np.linalg.norm(stack @ best)
    assert_allclose(V.T @ V, np.eye(4), atol=1e-4)
    assert 0.99 * most < kept <= most * (1 + 1e-6)


@pytest.mark.parametrize(("direction", "turn"), [("both", None), ("out", False), ("in", True)])
def test_adjacency_rows_are_unit_rows(direction, turn):
    A = directed().toarray()
    A = np.maximum(A, A.T) if turn is None else A.T if turn else A
    expected = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-12)
    rows = encoder_rows(prepared(AdjacencyInputs(direction)))
    assert sp.issparse(rows)
    assert_allclose(rows.toarray(), expected, atol=1e-6)
    U, s, _ = np.linalg.svd(expected)
    reduced = encoder_rows(prepared(AdjacencyInputs(direction, n_components=5, n_power=20)))
    assert_allclose(reduced @ reduced.T, (U[:, :5] * s[:5] ** 2) @ U[:, :5].T, atol=0.02)


def test_degrees_are_a_soft_histogram_of_unit_rows():
    made = prepared(DegreeInputs())
    rows = encoder_rows(made)
    out, into = np.asarray(directed().sum(axis=1)).ravel(), np.asarray(directed().sum(axis=0)).ravel()
    width = rows.shape[1] // 2
    for degree, half in ((out, rows[:, :width]), (into, rows[:, width:])):
        shares = half / half.sum(axis=1, keepdims=True)
        assert_allclose(shares @ np.arange(width), np.log2(1 + degree), atol=1e-5)
    assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_degrees_around_are_means_over_the_nodes_that_edges_lead_to():
    A = directed().toarray()
    rows = encoder_rows(prepared(DegreeInputs(n_hops=2)))
    means = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-9)
    here = np.log2(1 + np.stack([A.sum(axis=1), A.sum(axis=0)], axis=1))
    expected = np.concatenate([here, means @ here, means @ means @ here], axis=1)
    histograms = rows.reshape(len(rows), expected.shape[1], -1)
    shares = histograms / histograms.sum(axis=2, keepdims=True)
    assert_allclose(shares @ np.arange(shares.shape[2]), expected, atol=1e-5)
    assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_products_of_unit_blocks_are_mean_cosines():
    parts = (RawInputs(), AdjacencyInputs("out"), HopInputs(n_components=5))
    rows = dense(encoder_rows(prepared(BlockInputs(parts))))
    each = [dense(unit_rows(encoder_rows(prepared(part)))) for part in parts]
    assert_allclose(rows @ rows.T, np.mean([R @ R.T for R in each], axis=0), atol=1e-5)


def test_levelled_blocks_count_alike():
    parts = (RawInputs(), AdjacencyInputs("in"), HopInputs(n_components=5))
    made = prepared(BlockInputs(parts, scaling="level"))
    widths = np.cumsum([encoder_rows(prepared(part)).shape[1] for part in parts])[:-1]
    for block in np.split(dense(encoder_rows(made)), widths, axis=1):
        assert np.mean(np.sum(block**2, axis=1)) == pytest.approx(1 / 3, rel=1e-4)


def test_blocks_are_sparse_where_that_is_smaller():
    sparse = BlockInputs((RawInputs(), AdjacencyInputs("out")))
    assert sp.issparse(encoder_rows(prepared(sparse)))
    filled = BlockInputs((AdjacencyInputs("out"), HopInputs(n_components=60, hops=(0, 1, 2))))
    assert not sp.issparse(encoder_rows(prepared(filled)))


# refusals


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (AdjacencyInputs("out"), "direction='out' needs a directed graph"),
        (HopInputs(direction="in"), "direction='in' needs a directed graph"),
    ],
)
def test_what_cannot_be_made_is_refused(kind, message):
    graph = Graph(np.array([[0, 1], [1, 2]]), n_nodes=N)
    with pytest.raises(InputError, match=message):
        kind.prepare(InputSource(graph, NormalizedAdjacency(graph.adjacency), features(), 0.2, 10, 0))


# in the estimator


def test_every_kind_fits_predicts_later_nodes_and_is_stored(kind, tmp_path):
    A, X = directed(), features()
    y = np.where(np.arange(N) < 30, np.arange(N) % 3, -1)
    model = AltOpt(inputs=kind, n_rounds=1, cross_fit=False, random_state=0).fit(
        X, y, graph=Graph(A, directed=True)
    )
    P = model.predict_proba(features(seed=4)[:3], edges=[(0, 1), (0, 2), (1, 7)])
    assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert again.inputs == kind
    assert_array_equal(again.predict_proba(features(seed=4)[:3], edges=[(0, 1), (0, 2), (1, 7)]), P)


def test_undirected_kinds_work_on_the_graph_built_from_X(tmp_path):
    X = features().toarray()
    y = np.where(np.arange(N) < 30, np.arange(N) % 3, -1)
    kind = BlockInputs((RawInputs(), AdjacencyInputs(), HopInputs(n_components=6), DegreeInputs()))
    model = AltOpt(inputs=kind, n_rounds=1, cross_fit=False, random_state=0).fit(X, y)
    assert_allclose(model.predict_proba(X[:4] + 0.1).sum(axis=1), 1.0, atol=1e-6)
