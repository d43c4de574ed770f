"""A generated graph: communities nested in classes, skewed degrees and weakly informative features."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.datasets.dataset import Dataset
from altopt.errors import InputError
from altopt.graph import Graph

COMMUNITY_SIZE = 100  # nodes in a community, on average
IN_COMMUNITY, IN_CLASS = 0.40, 0.25  # share of edges drawn inside the community, the class; the rest anywhere
EDGES_PER_BLOCK = 4_000_000  # edges drawn at a time, to bound the memory of a large graph


@dataclass(frozen=True)
class Generated:
    """A generated graph as bare arrays, for graphs too large to hold twice."""

    indptr: Array
    indices: Array  # int32, sorted in each row; both directions of every edge, all of weight 1
    X: Any
    y: Array
    n_communities: int


def communities(
    n_nodes: int = 3000,
    n_classes: int = 6,
    *,
    mean_degree: float = 8.0,
    n_edges: int | None = None,
    n_features: int = 64,
    features: Literal["dense", "words"] = "dense",
    signal: float = 0.35,
    seed: int = 0,
) -> Dataset:
    """A hierarchical degree-corrected stochastic block model with class-informative features.

    Nodes have lognormal weights theta. The source of an edge is drawn from all nodes in proportion to theta, its
    target likewise from the source's community (40 %), from its class (25 %) or from all nodes (35 %). Node numbers
    are shuffled and carry no information.

    Parameters
    ----------
    n_nodes, n_classes : int
        At least 2 classes, and 10 nodes for each.
    mean_degree : float, default 8
        Approximate: repeated edges count once, which leaves a little less.
    n_edges : int, optional
        The exact number of undirected edges, instead of `mean_degree`.
    n_features : int, default 64
        The number of columns of X.
    features : {"dense", "words"}, default "dense"
        "dense": X_i = signal * (class centroid + community centroid) + noise, all standard normal. "words": sparse
        0/1 columns; a share `signal` of a node's words comes from the vocabularies of its class and its community,
        the rest from a common one.
    signal : float, default 0.35
        How informative the features are.
    seed : int, default 0
        The same seed gives the same graph.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> data = communities(200, 4, n_edges=600, seed=1)
    >>> data.graph
    Graph(200 nodes, 600 edges, unweighted)
    >>> data.X.shape, np.unique(data.y).tolist()
    ((200, 64), [0, 1, 2, 3])
    """
    made = generate(n_nodes, n_classes, mean_degree, n_edges, n_features, features, signal, seed)
    A = sp.csr_array((np.ones(len(made.indices)), made.indices, made.indptr), shape=(n_nodes, n_nodes))
    note = f"Generated, seed {seed}: {made.n_communities} communities in {n_classes} classes."
    return Dataset("communities", made.X, made.y, Graph(A), None, note)


def generate(
    n_nodes: int,
    n_classes: int,
    mean_degree: float,
    n_edges: int | None,
    n_features: int,
    features: Literal["dense", "words"],
    signal: float,
    seed: int,
) -> Generated:
    """What `communities` describes, as arrays."""
    if n_classes < 2 or n_nodes < 10 * n_classes:
        raise InputError(
            f"communities needs at least 2 classes and 10 nodes for each, but n_nodes={n_nodes} and "
            f"n_classes={n_classes}. Raise n_nodes."
        )
    if n_edges is not None and not 0 <= 20 * n_edges <= n_nodes * (n_nodes - 1):
        raise InputError(
            f"n_edges must lie between 0 and a tenth of all pairs of {n_nodes:,} nodes, but is {n_edges:,}. "
            "Raise n_nodes."
        )
    rng = np.random.default_rng(seed)
    blocks = draw_blocks(n_nodes, n_classes, rng)
    wanted = round(n_nodes * mean_degree / 2) if n_edges is None else n_edges
    source, target = draw_edges(blocks, wanted, rng, exactly=n_edges is not None)
    place = rng.permutation(n_nodes)  # the number each node of the block order gets
    order = np.argsort(place)
    y, community = blocks.class_of_node[order], blocks.community_of_node[order]
    X = (dense_features if features == "dense" else word_features)(y, community, n_features, signal, rng)
    indptr, indices = both_ways(place.astype(np.int32), source, target)
    return Generated(indptr, indices, X, y, blocks.n_communities)


@dataclass(frozen=True)
class Blocks:
    """Nodes laid out community after community, class after class, so that each block is a range."""

    community_of_node: Array
    class_of_node: Array
    community_bounds: Array  # community k holds nodes bounds[k] .. bounds[k + 1] - 1
    class_bounds: Array

    @property
    def n_communities(self) -> int:
        return len(self.community_bounds) - 1


def draw_blocks(n_nodes: int, n_classes: int, rng: np.random.Generator) -> Blocks:
    n_communities = max(n_classes, round(n_nodes / COMMUNITY_SIZE))
    # every community starts with a few nodes, so that none is empty; chance places the others
    least = min(5, n_nodes // n_communities)
    sizes = least + rng.multinomial(
        n_nodes - least * n_communities, np.full(n_communities, 1 / n_communities)
    )
    class_of_community = np.arange(n_communities) * n_classes // n_communities
    community_of_node = np.repeat(np.arange(n_communities), sizes)
    class_of_node = class_of_community[community_of_node]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    class_bounds = np.searchsorted(class_of_node, np.arange(n_classes + 1))
    return Blocks(community_of_node, class_of_node, bounds, class_bounds)


def draw_edges(
    blocks: Blocks, n_edges: int, rng: np.random.Generator, exactly: bool = False
) -> tuple[Array, Array]:
    """Distinct undirected edges (source < target) without self-loops, sorted; a little fewer than `n_edges`.

    `exactly` draws on until there are enough, and drops a random surplus.
    """
    n = len(blocks.class_of_node)
    total = np.concatenate([[0.0], np.cumsum(rng.lognormal(0.0, 0.8, n))])
    pairs = draw_pairs(blocks, total, n_edges, rng)
    while exactly and len(pairs) < n_edges:
        # likely pairs are drawn already, so that in a dense graph few of these are new
        more = draw_pairs(blocks, total, 2 * (n_edges - len(pairs)), rng)
        pairs = unique_in_place(np.concatenate([pairs, more]))
    if len(pairs) > n_edges:
        pairs = np.delete(pairs, rng.choice(len(pairs), len(pairs) - n_edges, replace=False))
    index = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    return (pairs // n).astype(index), (pairs % n).astype(index)


def draw_pairs(blocks: Blocks, total: Array, n_draws: int, rng: np.random.Generator) -> Array:
    """`n_draws` edges as numbers  source * n + target,  sorted; self-loops and repetitions dropped."""
    n = len(blocks.class_of_node)

    def draw(low: Any, high: Any, count: int) -> Array:
        """Nodes of the ranges low..high-1, each in proportion to theta: a point of the cumulated theta."""
        point = rng.random(count)
        point *= total[high] - total[low]
        point += total[low]
        order = np.argsort(point)  # points in order are looked up many times faster than points at random
        node = np.empty(count, dtype=np.int64)
        node[order] = np.searchsorted(total, point[order], side="right") - 1
        return np.asarray(np.clip(node, low, high - 1))

    blocks_of_pairs = []
    for start in range(0, n_draws, EDGES_PER_BLOCK):
        count = min(EDGES_PER_BLOCK, n_draws - start)
        source = draw(0, n, count)
        kind = rng.random(count)
        community, klass = blocks.community_of_node[source], blocks.class_of_node[source]
        inside = [kind < IN_COMMUNITY, kind < IN_COMMUNITY + IN_CLASS]
        low = np.select(inside, [blocks.community_bounds[community], blocks.class_bounds[klass]], 0)
        high = np.select(inside, [blocks.community_bounds[community + 1], blocks.class_bounds[klass + 1]], n)
        target = draw(low, high, count)
        pair = np.minimum(source, target) * np.int64(n) + np.maximum(source, target)
        blocks_of_pairs.append(pair[source != target])
    return unique_in_place(
        np.concatenate(blocks_of_pairs) if blocks_of_pairs else np.empty(0, dtype=np.int64)
    )


def unique_in_place(values: Array) -> Array:
    """np.unique with one copy less; `values` is left sorted."""
    values.sort()
    return np.asarray(values[np.concatenate([[True], values[1:] != values[:-1]])]) if len(values) else values


def both_ways(place: Array, source: Array, target: Array) -> tuple[Array, Array]:
    """The rows of the symmetric matrix with these edges, node i of the ends being row place[i]."""
    n, n_edges = len(place), len(source)
    rows, columns = (np.empty(2 * n_edges, dtype=np.int32) for _ in range(2))
    rows[:n_edges] = columns[n_edges:] = place[source]
    rows[n_edges:] = columns[:n_edges] = place[target]
    A = sp.coo_array((np.ones(2 * n_edges, dtype=np.int8), (rows, columns)), shape=(n, n))
    del rows, columns
    # a transpose lists each row in ascending order, and A is its own transpose
    A = sp.csr_array(A.tocsr().tocsc().T)
    return A.indptr, A.indices


def dense_features(
    klass: Array, community: Array, n_features: int, signal: float, rng: np.random.Generator
) -> Array:
    """X_i = signal * (class centroid + community centroid) + noise, as float32."""
    X = rng.standard_normal((len(klass), n_features), dtype=np.float32)
    for block in (klass, community):
        centroids = rng.standard_normal((block.max() + 1, n_features), dtype=np.float32)
        centroids *= np.float32(signal)
        for rows in row_blocks(len(X)):
            X[rows] += centroids[block[rows]]
    return X


def word_features(
    klass: Array, community: Array, n_features: int, signal: float, rng: np.random.Generator
) -> sp.csr_array:
    """0/1 words, about 20 a node: a share `signal` is the class's or the community's own."""
    n_own = max(2, n_features // 20)  # words in one vocabulary
    class_words = rng.integers(0, n_features, (klass.max() + 1, n_own))
    community_words = rng.integers(0, n_features, (community.max() + 1, n_own))
    node = np.repeat(np.arange(len(klass)), 1 + rng.poisson(19, len(klass)))
    kind = rng.random(len(node))
    pick = rng.integers(0, n_own, len(node))
    common = (n_features * rng.random(len(node)) ** 2).astype(np.int64)  # low columns are the frequent words
    own = [class_words[klass[node], pick], community_words[community[node], pick]]
    word = np.select([kind < signal / 2, kind < signal], own, common)
    X = sp.coo_array((np.ones(len(node), np.float32), (node, word)), shape=(len(klass), n_features)).tocsr()
    X.data[:] = 1.0  # the conversion has summed repeated words
    return X
