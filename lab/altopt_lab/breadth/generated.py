"""Generated graphs with known oddities: skewed classes, labels in the surroundings, random edges, noise, two sides."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.graph import Graph

Seed = np.random.Generator


def skewed(shares: tuple[float, ...], same: float, signal: float, n_nodes: int, seed: int) -> Dataset:
    """Classes of these shares, an edge within the class with probability `same`, centroids `signal` apart."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(shares), n_nodes, p=shares)
    X = rng.normal(size=(n_nodes, 8)) + signal * rng.normal(size=(len(shares), 8))[y]
    return dataset("skewed", X, y, block_graph(y, 8, same, rng))


def counts(seed: int) -> Dataset:
    """Four even classes, 20 columns of counts, 60 % of the edges within a class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 1500)
    X = rng.poisson(0.3 + 0.9 * (np.arange(20) % 4 == y[:, None])).astype(float)
    return dataset("counts", X, y, block_graph(y, 6, 0.6, rng))


def surroundings(seed: int) -> Dataset:
    """The class is whether the neighbours are large on average; a node's own features tell nothing of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(3000, 5))
    A = block_graph(np.zeros(3000, dtype=int), 8, 0.0, rng)
    return dataset("surroundings", X, (A @ X[:, 0] > 0).astype(int), A)


def random_edges(seed: int) -> Dataset:
    """Three classes that the features tell apart, and edges that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 2000)
    X = rng.normal(size=(2000, 12)) + 0.8 * rng.normal(size=(3, 12))[y]
    return dataset("random edges", X, y, block_graph(y, 8, 0.0, rng))


def noise(seed: int) -> Dataset:
    """Four classes, 60 % of the edges within a class, and features that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, 1500)
    return dataset("noise for features", rng.normal(size=(1500, 5)), y, block_graph(y, 10, 0.6, rng))


def bands(seed: int) -> Dataset:
    """Three classes that are bands of one column of seven, another of them heavy-tailed; 35 % of the edges within."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([6 * rng.random(2000), rng.normal(size=(2000, 5)), rng.lognormal(3.0, 2.0, 2000)])
    y = X[:, 0].astype(int) % 3
    return dataset("bands", X, y, block_graph(y, 5, 0.35, rng))


def two_sides(seed: int) -> Dataset:
    """Items of four classes and users who mostly keep to one of them: edges join sides, and users have no class."""
    rng = np.random.default_rng(seed)
    n_users, n_items = 1500, 500
    kind, taste = rng.integers(0, 4, n_items), rng.integers(0, 4, n_users)
    user = np.repeat(np.arange(n_users), 5)
    of_taste = np.array([rng.choice(np.flatnonzero(kind == taste[u])) for u in user])
    item = n_users + np.where(rng.random(len(user)) < 0.5, of_taste, rng.integers(0, n_items, len(user)))
    n = n_users + n_items
    A = sp.coo_array((np.ones(len(user)), (user, item)), shape=(n, n)).tocsr()
    X = rng.normal(size=(n, 4))
    return dataset(
        "users and items", X, np.concatenate([np.full(n_users, -1), kind]), (A + A.T > 0).astype(float)
    )


def dataset(name: str, X: Any, y: Array, A: Any) -> Dataset:
    return Dataset(name, X, y, Graph(A), None, "Generated.")


def block_graph(y: Array, degree: int, same: float, rng: Seed) -> sp.csr_array:
    """About `degree` edges a node, each within the class with probability `same`, anywhere otherwise."""
    n = len(y)
    source = rng.integers(0, n, n * degree // 2)
    order = np.argsort(y, kind="stable")
    first, size = np.searchsorted(y[order], y[source]), np.bincount(y)[y[source]]
    inside = order[first + (rng.random(len(source)) * size).astype(int)]
    target = np.where(rng.random(len(source)) < same, inside, rng.integers(0, n, len(source)))
    A = sp.coo_array((np.ones(len(source)), (source, target)), shape=(n, n)).tocsr()
    A.setdiag(0)
    return sp.csr_array((A + A.T > 0).astype(float))
