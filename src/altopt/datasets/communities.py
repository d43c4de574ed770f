"""A generated graph: communities nested in classes, uneven degrees, and features that tell only a part."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.datasets.dataset import Dataset
from altopt.errors import InputError
from altopt.graph import Graph

COMMUNITY_SIZE = 100  # nodes in a community, on average
IN_COMMUNITY, IN_CLASS = 0.40, 0.25  # share of edges drawn inside the community, the class; the rest anywhere


def communities(
    n_nodes: int = 3000,
    n_classes: int = 6,
    *,
    mean_degree: float = 8.0,
    n_features: int = 64,
    features: Literal["dense", "words"] = "dense",
    signal: float = 0.35,
    seed: int = 0,
) -> Dataset:
    """A hierarchical degree-corrected block model with class-informative features.

    Nodes have lognormal weights theta. An edge's first end is drawn in proportion to theta from all nodes,
    its second end likewise from the first one's community (40 %), class (25 %) or from all nodes (35 %).
    "dense" features are  X_i = signal * (class centroid + community centroid) + noise,  all standard normal;
    "words" are 0/1 columns, where a share `signal` of a node's words comes from its class's and its
    community's own vocabularies, the rest from everybody's. Node numbers are shuffled and tell nothing.
    """
    if n_classes < 2 or n_nodes < 10 * n_classes:
        raise InputError(
            f"communities needs at least 2 classes and 10 nodes for each, but n_nodes={n_nodes} and "
            f"n_classes={n_classes}. Raise n_nodes."
        )
    rng = np.random.default_rng(seed)
    blocks = draw_blocks(n_nodes, n_classes, rng)
    source, target = draw_edges(blocks, round(n_nodes * mean_degree / 2), rng)
    place = rng.permutation(n_nodes)  # the number each node of the block order gets
    order = np.argsort(place)
    y, community = blocks.class_of_node[order], blocks.community_of_node[order]
    X = (dense_features if features == "dense" else word_features)(y, community, n_features, signal, rng)
    A = sp.coo_array((np.ones(len(source)), (place[source], place[target])), shape=(n_nodes, n_nodes)).tocsr()
    note = f"Generated, seed {seed}: {blocks.n_communities} communities in {n_classes} classes."
    return Dataset("communities", X, y, Graph(A + A.T), None, note)


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


def draw_edges(blocks: Blocks, n_edges: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Distinct undirected edges (source < target) without self-loops; a little fewer than `n_edges`."""
    n = len(blocks.class_of_node)
    theta = rng.lognormal(0.0, 0.8, n)
    total = np.concatenate([[0.0], np.cumsum(theta)])

    def draw(low: Array, high: Array) -> Array:
        """Nodes of the ranges low..high-1, each in proportion to theta: a point of the cumulated theta."""
        point = total[low] + rng.random(n_edges) * (total[high] - total[low])
        return np.asarray(np.clip(np.searchsorted(total, point, side="right") - 1, low, high - 1))

    everywhere = np.zeros(n_edges, dtype=np.int64)
    source = draw(everywhere, everywhere + n)
    kind = rng.random(n_edges)
    community, klass = blocks.community_of_node[source], blocks.class_of_node[source]
    inside = [kind < IN_COMMUNITY, kind < IN_COMMUNITY + IN_CLASS]
    low = np.select(inside, [blocks.community_bounds[community], blocks.class_bounds[klass]], 0)
    high = np.select(inside, [blocks.community_bounds[community + 1], blocks.class_bounds[klass + 1]], n)
    target = draw(low, high)
    proper = source != target
    pair = np.minimum(source, target)[proper] * np.int64(n) + np.maximum(source, target)[proper]
    pair = np.unique(pair)
    return pair // n, pair % n


def dense_features(
    klass: Array, community: Array, n_features: int, signal: float, rng: np.random.Generator
) -> Array:
    """X_i = signal * (class centroid + community centroid) + noise, as float32."""
    X = rng.standard_normal((len(klass), n_features), dtype=np.float32)
    for block in (klass, community):
        centroids = rng.standard_normal((block.max() + 1, n_features), dtype=np.float32)
        X += np.float32(signal) * centroids[block]
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
