"""How many nodes each class has, by F itself, and factors under which as many are given to it.

A class whose features are wide or whose region is badly labelled gets too many nodes or too few. Read as probabilities
F says how many there should be: expectation and maximisation over the shares of classes, held back towards the sizes
that F's largest entries give. Labels do not tell: they are often balanced by design.
"""

import numpy as np

from altopt.arrays import Array, shares, softmax

ENOUGH = 5000  # nodes that tell the sizes
MANY = 10  # labels a class from which F's probabilities are trusted as far as ever
STRENGTH = 0.3  # what the sizes by largest entries count then, against all nodes' probabilities
N_UPDATES, N_MATCHES = 20, 40
MOST = 4.0  # the largest factor; the smallest is one over it


def strength_for(n_labels: int, n_classes: int) -> float:
    """How much the sizes by largest entries count: with few labels nearly alone."""
    return STRENGTH * max(1.0, MANY * n_classes / n_labels) ** 2


def size_factors(F: Array, temperature: float, strength: float) -> Array:
    """For each class what to multiply its column of F by, so that its size is the likeliest one."""
    n_classes = F.shape[1]
    some = F if len(F) <= ENOUGH else F[np.linspace(0, len(F) - 1, ENOUGH).astype(np.int64)]
    told = shares(some)
    told = told[told.max(axis=1) > 1.001 / n_classes]  # the others know nothing
    if not len(told):
        return np.ones(n_classes, dtype=F.dtype)
    return matched(told, likeliest_sizes(told, temperature, strength)).astype(F.dtype)


def likeliest_sizes(told: Array, temperature: float, strength: float) -> Array:
    """Shares of the classes under which rows read as softmax(told / temperature) are likeliest.

    Those probabilities count as made under classes of equal size, as pseudo labels are weighted.
    """
    S = softmax(told, temperature)
    sizes = first = sizes_of(told)
    for _ in range(N_UPDATES):
        given = S * np.maximum(sizes, 1e-6)
        sizes = np.mean(given / given.sum(axis=1, keepdims=True), axis=0)
        sizes = (sizes + strength * first) / (1 + strength)
    return np.asarray(sizes)


def matched(told: Array, sizes: Array) -> Array:
    """Factors of the columns under which largest entries fall on the classes in these shares, as nearly as may be.

    Each class's step grows while it goes one way and halves when it turns.
    """
    log_w, way, step = np.zeros(len(sizes)), np.zeros(len(sizes)), np.full(len(sizes), 0.1)
    for _ in range(N_MATCHES):
        gap = sizes - sizes_of(told * np.exp(log_w))
        step *= np.where(gap * way < 0, 0.5, 1.2)
        way = np.where(np.abs(gap) * len(told) < 1, 0.0, np.sign(gap))
        log_w += step * way
        log_w = np.clip(log_w - log_w.mean(), -np.log(MOST), np.log(MOST))
    return np.exp(log_w)


def sizes_of(rows: Array) -> Array:
    """The share of rows whose largest entry is in each column."""
    return np.bincount(rows.argmax(axis=1), minlength=rows.shape[1]) / len(rows)
