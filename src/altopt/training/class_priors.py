"""How many nodes each class has, by F itself, and factors under which as many are given to it.

A class whose features are wide or whose region is badly labelled gets too many nodes or too few. Read as probabilities
F says how many there should be: expectation and maximisation over the shares of classes, held back towards the sizes
that F's largest entries give. Labels do not tell: they are often balanced by design.

This is asked once, of the first F, whose encoder has learned from the given labels alone. A later F knows the sizes
that its pseudo labels kept to; asked again it would take what it was told for evidence, and large classes would
swallow small ones.
"""

import numpy as np

from altopt.arrays import Array, shares, softmax

ENOUGH = 5000  # nodes that tell the sizes
MANY = 10  # labels a class from which the sizes are trusted entirely
STRENGTH = 0.3  # what the sizes by largest entries count, against all nodes' probabilities
SURE = 0.85  # mean largest probability from which rows are read as they come
N_UPDATES, N_MATCHES, N_HALVINGS = 20, 40, 12
MOST = 1.6  # the largest factor; the smallest is one over it
PRIOR = 0.5  # nodes added to each pair of classes where validation nodes tell the sizes
FEW_STEPS = 3  # towards these sizes: more follow the chance by which these nodes were drawn


def trust_for(n_labels: int, n_classes: int) -> float:
    """How much the sizes by the first F count against those of the largest entries now: with few labels little."""
    return float(min(1.0, n_labels / (MANY * n_classes)) ** 2)


def likely_sizes(F: Array, temperature: float, of_labels: Array) -> Array:
    """The share of the nodes that each class has, by an F made from labels that have the classes in these shares."""
    told = those_that_tell(F)
    if not len(told):
        return np.full(F.shape[1], 1.0 / F.shape[1])
    return likeliest_sizes(told, sharp_enough(told, temperature), STRENGTH, of_labels)


def size_factors(F: Array, sizes: Array, trust: float) -> Array:
    """For each class what to multiply its column of F by, so that it has its size, as far as that is trusted."""
    told = those_that_tell(F)
    if not len(told):
        return np.ones(F.shape[1], dtype=F.dtype)
    wanted = trust * sizes + (1.0 - trust) * sizes_of(told)
    return matched(told, wanted).astype(F.dtype)


def those_that_tell(F: Array) -> Array:
    """Shares of some rows, without those that know nothing."""
    some = F if len(F) <= ENOUGH else F[np.linspace(0, len(F) - 1, ENOUGH).astype(np.int64)]
    told = shares(some)
    return np.asarray(told[told.max(axis=1) > 1.001 / F.shape[1]])


def likeliest_sizes(told: Array, temperature: float, strength: float, of_labels: Array) -> Array:
    """Shares of the classes under which rows read as softmax(told / temperature) are likeliest.

    Those probabilities count as made where classes have the shares that they have among the labels.
    """
    S = softmax(told, temperature) / np.maximum(of_labels, 1e-6)
    sizes = first = sizes_of(told)
    for _ in range(N_UPDATES):
        given = S * np.maximum(sizes, 1e-6)
        sizes = np.mean(given / given.sum(axis=1, keepdims=True), axis=0)
        sizes = (sizes + strength * first) / (1 + strength)
    return np.asarray(sizes)


def sharp_enough(told: Array, temperature: float) -> float:
    """The temperature, or a lower one under which rows are SURE on average.

    Of rows that tell little the likeliest sizes are extreme, one class with nearly all. Sharper rows keep to the sizes
    of their largest entries.
    """

    def sure(T: float) -> bool:
        return bool(softmax(told, T).max(axis=1).mean() >= SURE)

    if sure(temperature):
        return temperature
    low, high = temperature / 100, temperature
    for _ in range(N_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if sure(middle) else (low, middle)
    return low


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


def sizes_behind(codes: Array, said: Array, told: Array) -> Array:
    """Class sizes from nodes drawn by class: of classes `codes`, `said` to be so, while all nodes are `told` so often.

    Not how often classes are told: who calls everything by one class would be right in all that counts. A few steps
    of expectation and maximisation over who is told what, from even sizes, so that what cannot be known stays even.
    """
    C = np.full((len(told), len(told)), PRIOR)
    np.add.at(C, (codes, said), 1.0)
    C /= C.sum(axis=1, keepdims=True)
    sizes = np.full(len(told), 1.0 / len(told))
    for _ in range(FEW_STEPS):
        sizes *= C @ (told / told.sum() / (sizes @ C))
    return np.asarray(sizes)


def sizes_of(rows: Array) -> Array:
    """The share of rows whose largest entry is in each column."""
    return np.bincount(rows.argmax(axis=1), minlength=rows.shape[1]) / len(rows)
