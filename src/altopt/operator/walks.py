"""Co-occurrences of nodes on random walks, of first and second order: in expectation, or counted on walks drawn."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import svds

from altopt.arrays import Array, row_sums
from altopt.errors import InputError
from altopt.operator.scaling import row_stochastic

MAX_PAIRS_OF_EDGES = 5_000_000  # steps of a second-order walk that are written down
DENSE_BELOW = 400  # nodes up to which singular values are found of the dense matrix


def expected_cooccurrence(A: Any, window: int, p: float = 1.0, q: float = 1.0) -> Any:
    """How often j is expected at most `window` steps after i, or before it, on walks that begin by degree.

    With p = q = 1 sum_r D P^r, P = D^-1 A, twice: DeepWalk in closed form. Else the walk's state is its last edge
    (t, v), and the next node x has weight w_vx times 1/p where x = t, 1 where x is a neighbour of t, 1/q elsewhere.
    """
    A = sp.csr_array(A, dtype=np.float64)
    if p == q == 1.0:
        step = walk = row_stochastic(A)
        total = step
        for _ in range(window - 1):
            step = step @ walk
            total = total + step
        C = sp.csr_array(sp.diags_array(row_sums(A)) @ total)
    else:
        n, edges = A.shape[0], A.tocoo()
        ones, number = np.ones(A.nnz), np.arange(A.nnz)
        tail = sp.csr_array(
            (edges.data, (edges.row, number)), shape=(n, A.nnz)
        )  # begins by the edge's weight
        reached = sp.csr_array((ones, (number, edges.col)), shape=(A.nnz, n))
        T, total = edge_transitions(A, p, q), tail @ reached
        for _ in range(window - 1):
            reached = T @ reached
            total = total + tail @ reached
        C = sp.csr_array(total)
    return sp.csr_array(C + C.T)


def edge_transitions(A: Any, p: float, q: float) -> Any:
    """From edge (t, v) to edge (v, x): the steps of a second-order walk, edges numbered as A stores them."""
    degrees = np.diff(A.indptr)
    heads = A.indices
    n_pairs = int(degrees[heads].sum())
    if n_pairs > MAX_PAIRS_OF_EDGES:
        raise InputError(
            f"Walks with p={p:g} and q={q:g} are not written down for {n_pairs:,} pairs of edges that meet. "
            "Set n_walks to count walks that are drawn, or p = q = 1."
        )
    first = np.repeat(np.arange(A.nnz), degrees[heads])  # the edge (t, v) of each pair
    begin = np.repeat(A.indptr[heads] - np.append(0, np.cumsum(degrees[heads])[:-1]), degrees[heads])
    second = begin + np.arange(n_pairs)  # the edge (v, x)
    tails = np.repeat(np.arange(A.shape[0]), degrees)
    weights = A.data[second] * bias(A, tails[first], heads[second], p, q)
    return row_stochastic(sp.csr_array((weights, (first, second)), shape=(A.nnz, A.nnz)))


def bias(A: Any, before: Array, after: Array, p: float, q: float) -> Array:
    """1/p for a step back, 1 for one to a neighbour of the node before, 1/q for one further away."""
    return np.where(before == after, 1 / p, np.where(are_edges(A, before, after), 1.0, 1 / q))


def are_edges(A: Any, i: Array, j: Array) -> Array:
    """Whether A has an entry at each (i, j); its indices are sorted within rows."""
    n = A.shape[0]
    keys = np.repeat(np.arange(n), np.diff(A.indptr)) * n + A.indices
    wanted = i * n + j
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.asarray(keys[place] == wanted)


def drawn_walks(A: Any, n_walks: int, length: int, p: float, q: float, seed: int) -> Array:
    """`n_walks` walks of `length` nodes from every node that has edges, a row each."""
    rng, begins = np.random.default_rng(seed), np.flatnonzero(np.diff(A.indptr))
    walks = np.empty((n_walks * len(begins), length), dtype=np.int64)
    walks[:, 0] = np.tile(begins, n_walks)
    upto = np.cumsum(A.data)
    for k in range(1, length):
        walks[:, k] = next_nodes(A, upto, walks[:, k - 1], rng)
        if k == 1 or p == q == 1.0:
            continue
        most, todo = max(1 / p, 1.0, 1 / q), np.arange(len(walks))
        while len(todo):  # what is drawn by weight is kept by its bias, or drawn again
            kept = bias(A, walks[todo, k - 2], walks[todo, k], p, q)
            todo = todo[rng.random(len(todo)) * most >= kept]
            walks[todo, k] = next_nodes(A, upto, walks[todo, k - 1], rng)
    return walks


def next_nodes(A: Any, upto: Array, nodes: Array, rng: np.random.Generator) -> Array:
    """A neighbour of each node, drawn by the weight of the edge; `upto` are the running sums of all weights."""
    low = np.where(A.indptr[nodes] > 0, upto[A.indptr[nodes] - 1], 0.0)
    high = upto[A.indptr[nodes + 1] - 1]
    place = np.searchsorted(upto, low + rng.random(len(nodes)) * (high - low), side="right")
    return np.asarray(A.indices[np.clip(place, A.indptr[nodes], A.indptr[nodes + 1] - 1)])


def counted_cooccurrence(
    A: Any, window: int, n_walks: int, length: int, p: float, q: float, seed: int
) -> Any:
    """How often two nodes lie within `window` steps of each other on walks drawn at random."""
    A = sp.csr_array(A, dtype=np.float64)
    A.sort_indices()
    walks, n = drawn_walks(A, n_walks, length, p, q, seed), A.shape[0]
    total = sp.csr_array((n, n))
    for r in range(1, min(window, length - 1) + 1):
        i, j = walks[:, :-r].ravel(), walks[:, r:].ravel()
        total = total + sp.csr_array((np.ones(len(i)), (i, j)), shape=(n, n))
    return sp.csr_array(total + total.T)


def embedding_of(C: Any, n_components: int) -> Array:
    """U sqrt(S) of the positive pointwise mutual information log(C_ij C_.. / (C_i. C_.j))."""
    C = sp.csr_array(C)
    sums, n = row_sums(C), C.shape[0]
    rows = np.repeat(np.arange(n), np.diff(C.indptr))
    M = C.copy()
    M.data = np.log(np.maximum(C.data * sums.sum() / (sums[rows] * sums[C.indices]), 1.0))
    M.eliminate_zeros()
    size = min(n_components, n - 1)
    if n <= DENSE_BELOW:
        U, S, _ = np.linalg.svd(M.toarray(), full_matrices=False)
        U, S = U[:, :size], S[:size]
    else:
        U, S, _ = svds(M, k=size, v0=sums / np.linalg.norm(sums))
    return np.asarray(U * np.sqrt(np.maximum(S, 0.0)))
