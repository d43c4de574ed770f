"""The laws of encoder inputs: what inputs of your own must meet, checked in one call that says what is wrong."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.checks.require import require
from altopt.graph import Graph
from altopt.graph.validation import UNKNOWN
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, Prepared, as_inputs
from altopt.operator import NormalizedAdjacency
from altopt.threads import threads_for

N_NODES, N_FEATURES, N_TOPICS = 60, 40, 6
N_CLASSES, LABELLED_SHARE = 3, 0.6
RESTART, N_STEPS = 0.2, 10
TWIN = 12  # the known node that a new node copies
GRAM_RTOL = 2e-3  # randomised directions are found to this accuracy
MEMORY_RTOL = 0.02
TWIN_RTOL = (
    0.2  # near, not equal: a twin raises its neighbours' degrees, and triangles of new nodes are estimated
)


def check_inputs(inputs: Inputs, seed: int = 0) -> None:
    """Check that inputs keep the contract of `altopt.inputs.Inputs`, on a small directed graph with an isolated node.

    - They are hashable.
    - `prepare` gives finite float32 rows, one per node, leaves X as it was, and gives the same bits for the same seed.
    - `memory` states the bytes that are kept.
    - `rows` of some nodes are those of all nodes, sliced.
    - Renumbering the nodes renumbers the products of rows.
    - `extend` gives finite rows; a new node that copies a known one, its features and edges, has nearly its row.
    - `restore(state())` gives the same rows, of known nodes and of new ones.
    - `with_rows` and `renewed`, where offered (`grows`, `renews`): rows appended or replaced are those given, and
      renewing nodes whose edges did not change changes nothing.
    - NaN in X reaches the rows only if the inputs say `keeps_missing`.
    - A node's own label never enters its row; labels enter only if the inputs say `reads_labels`.

    Parameters
    ----------
    inputs : Inputs
    seed : int
        Of the graph, the features and `prepare`.

    Raises
    ------
    InputError
        With one sentence that says which law is broken.

    Examples
    --------
    >>> from altopt.checks import check_inputs
    >>> from altopt.inputs import HopInputs
    >>> check_inputs(HopInputs(hops=(0, 1), n_components=8))
    """
    require(isinstance(inputs, Inputs), inputs, "it is not a subclass of altopt.inputs.Inputs")
    as_inputs(inputs)
    A, X = toy_graph(seed), toy_features(seed)
    with threads_for(0, with_torch=False):
        prepared = check_prepare(inputs, A, X, seed)
        check_renumbering(inputs, prepared, A, X, seed)
        check_extend(inputs, prepared, A, X)
        check_restore(inputs, prepared, A, X)
        check_renewed(inputs, prepared, A)
        check_with_rows(inputs, prepared, A, X)
        check_missing(inputs, A, X, seed)
        check_labels(inputs, prepared, A, X, seed)


def toy_graph(seed: int) -> Any:
    """A directed graph; the last node is isolated, the one before has no incoming edge."""
    rng = np.random.default_rng(seed)
    A = (rng.random((N_NODES, N_NODES)) < 0.12 * np.linspace(0.3, 2.0, N_NODES)).astype(float)
    np.fill_diagonal(A, 0.0)
    A[-1] = A[:, -1] = A[:, -2] = 0.0
    return sp.csr_array(A)


def toy_features(seed: int) -> Any:
    """Sparse counts from a few topics, so that leading directions are distinct."""
    rng = np.random.default_rng(seed + 1)
    topics = rng.random((N_TOPICS, N_FEATURES)) * np.linspace(2.0, 0.3, N_TOPICS)[:, None]
    mixed = rng.gamma(0.5, size=(N_NODES, N_TOPICS)) @ topics
    return sp.csr_array(np.round(mixed * (rng.random(mixed.shape) < 0.3)))


def toy_codes(seed: int) -> Array:
    rng = np.random.default_rng(seed + 2)
    known = rng.random(N_NODES) < LABELLED_SHARE
    known[-1], known[TWIN] = True, False
    return np.where(known, rng.integers(N_CLASSES, size=N_NODES), UNKNOWN)


def source_of(A: Any, X: Any, seed: int, codes: Array | None = None) -> InputSource:
    graph = Graph(A, directed=True)
    A_tilde = NormalizedAdjacency(graph.adjacency)
    codes = toy_codes(seed) if codes is None else codes
    return InputSource(graph, A_tilde, X, RESTART, N_STEPS, seed, codes, N_CLASSES)


def all_rows(prepared: Prepared) -> Array:
    return dense(prepared.rows(prepared.Z))


def dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)


def check_prepare(inputs: Inputs, A: Any, X: Any, seed: int) -> Prepared:
    given = X.copy()
    prepared = inputs.prepare(source_of(A, X, seed))
    require(
        isinstance(prepared, Prepared), inputs, "prepare does not return a subclass of altopt.inputs.Prepared"
    )
    require((given != X).nnz == 0, inputs, "prepare writes to X")
    rows = prepared.rows(prepared.Z)
    require(rows.shape[0] == N_NODES == prepared.Z.shape[0], inputs, "rows or Z do not have one row per node")
    require(rows.dtype == np.float32, inputs, f"rows are {rows.dtype}, not float32")
    require(np.isfinite(dense(rows)).all(), inputs, "rows are not finite")
    again = all_rows(inputs.prepare(source_of(A, X, seed)))
    require(np.array_equal(again, dense(rows)), inputs, "the same seed gives other rows")
    for part in (slice(10, 25), np.array([3, 40, 7])):
        sliced = np.allclose(dense(prepared.rows(prepared.Z[part])), dense(rows)[part], rtol=1e-4, atol=1e-5)
        require(sliced, inputs, "the rows of some nodes are not the rows of all nodes, sliced")
    stated, kept = inputs.memory(source_of(A, X, seed).shape).kept, prepared.nbytes
    near = abs(stated - kept) <= MEMORY_RTOL * kept
    require(near, inputs, f"memory states {stated:,.0f} bytes kept, but {kept:,.0f} are")
    return prepared


def check_renumbering(inputs: Inputs, prepared: Prepared, A: Any, X: Any, seed: int) -> None:
    """Products of rows are compared: columns may stand for nodes, and signs of directions are arbitrary."""
    order = np.random.default_rng(5).permutation(N_NODES)
    rows = all_rows(prepared)
    source = source_of(sp.csr_array(A[order][:, order]), X[order], seed, toy_codes(seed)[order])
    shuffled = all_rows(inputs.prepare(source))
    products = rows @ rows.T
    off = np.abs(shuffled @ shuffled.T - products[order][:, order]).max()
    same = off <= GRAM_RTOL * np.abs(products).max()
    require(same, inputs, "renumbering the nodes changes the products of rows")


def new_nodes(A: Any, X: Any) -> NewNodes:
    """A copy of a known node, with its edges; one with a single edge; and one without edges."""
    n, m = N_NODES, 3
    wider = sp.lil_array((n + m, n + m))
    wider[:n, :n] = A
    wider[n, :n], wider[:n, n] = A[[TWIN]].toarray(), A[:, [TWIN]].toarray().ravel()
    wider[n + 1, 3] = 1.0
    graph = Graph(sp.csr_array(wider), directed=True)
    ties = NormalizedAdjacency(graph.adjacency).matrix[np.arange(n, n + m)]
    directed, nodes = sp.csr_array(wider), np.arange(n, n + m)
    out, into = sp.csr_array(directed[nodes]), sp.csr_array(directed[:, nodes].T)
    return NewNodes(X[[TWIN, 3, 4]], ties, out, into, RESTART, N_STEPS)


def check_extend(inputs: Inputs, prepared: Prepared, A: Any, X: Any) -> None:
    rows = all_rows(prepared)
    new = dense(prepared.rows(prepared.extend(new_nodes(A, X))))
    require(
        new.shape == (3, rows.shape[1]), inputs, "extend does not give each new node a row of the same width"
    )
    require(np.isfinite(new).all(), inputs, "extend gives rows that are not finite")
    spread = np.sqrt(np.mean(np.sum((rows - rows.mean(axis=0)) ** 2, axis=1)))
    off = np.linalg.norm(new[0] - rows[TWIN])
    complaint = (
        f"a new node that copies a known one has another row: off by {off:.2g}, rows spread by {spread:.2g}"
    )
    require(off <= TWIN_RTOL * spread, inputs, complaint)


def check_restore(inputs: Inputs, prepared: Prepared, A: Any, X: Any) -> None:
    state = prepared.state()
    named = all(isinstance(name, str) and isinstance(value, np.ndarray) for name, value in state.items())
    require(named, inputs, "state is not a dictionary of named numpy arrays")
    restored = inputs.restore({name: value.copy() for name, value in state.items()})
    same = np.array_equal(all_rows(restored), all_rows(prepared))
    require(same, inputs, "restored inputs have other rows")
    new = new_nodes(A, X)
    first, second = (dense(part.rows(part.extend(new))) for part in (prepared, restored))
    require(np.array_equal(first, second), inputs, "restored inputs give new nodes other rows")


def check_renewed(inputs: Inputs, prepared: Prepared, A: Any) -> None:
    if not prepared.renews:
        return
    nodes = np.array([2, 7, N_NODES - 2, N_NODES - 1])
    ties = NormalizedAdjacency(Graph(A, directed=True).adjacency).matrix[nodes]
    out, into = sp.csr_array(A[nodes]), sp.csr_array(A[:, nodes].T)
    Z = prepared.renewed(ChangedNodes(nodes, ties, ties, out, into, RESTART, N_STEPS))
    expected = all_rows(prepared)
    off = np.abs(dense(prepared.rows(Z)) - expected[nodes]).max()
    unchanged = off <= 5e-3 * np.abs(expected).max()
    require(unchanged, inputs, "renewing nodes whose edges did not change changes their rows")


def check_with_rows(inputs: Inputs, prepared: Prepared, A: Any, X: Any) -> None:
    if not prepared.grows:
        return
    before = all_rows(prepared)
    new = prepared.extend(new_nodes(A, X))
    of_new = dense(prepared.rows(new))
    longer = prepared.with_rows(new)
    require(
        isinstance(longer, Prepared), inputs, "with_rows does not return a subclass of altopt.inputs.Prepared"
    )
    grown = all_rows(longer)
    appended = grown.shape[0] == N_NODES + 3 and np.allclose(grown[N_NODES:], of_new, rtol=1e-3, atol=1e-4)
    require(appended, inputs, "with_rows does not append the rows it is given")
    require(
        np.allclose(grown[:N_NODES], before, atol=1e-5), inputs, "with_rows changes the rows of other nodes"
    )
    nodes = np.array([5, 20])
    replaced = all_rows(longer.with_rows(longer.Z[np.array([6, 21])], nodes))
    expected = grown.copy()
    expected[nodes] = grown[[6, 21]]
    require(
        np.allclose(replaced, expected, atol=1e-5), inputs, "with_rows(Z, at) does not replace the rows `at`"
    )


def check_missing(inputs: Inputs, A: Any, X: Any, seed: int) -> None:
    incomplete = X.toarray()
    incomplete[::7, 3] = np.nan
    if not inputs.keeps_missing:
        rows = all_rows(inputs.prepare(source_of(A, incomplete, seed)))
        complaint = "NaN in X reaches the rows, but keeps_missing is False"
        require(np.isfinite(rows).all(), inputs, complaint)


def check_labels(inputs: Inputs, prepared: Prepared, A: Any, X: Any, seed: int) -> None:
    """A node and the isolated one swap their labels, so that classes keep their sizes."""
    codes, rows = toy_codes(seed), all_rows(prepared)
    node = int(np.flatnonzero((codes != UNKNOWN) & (codes != codes[-1]))[TWIN])
    swapped = codes.copy()
    swapped[[node, -1]] = codes[[-1, node]]
    changed = all_rows(inputs.prepare(source_of(A, X, seed, swapped)))
    own = np.allclose(changed[node], rows[node], rtol=1e-4, atol=1e-5)
    require(own, inputs, "a node's own label enters its row")
    told = inputs.reads_labels or np.array_equal(changed, rows)
    require(told, inputs, "labels change the rows, but reads_labels is False")
