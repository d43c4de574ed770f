"""Floors under accuracy: hard generated graphs, one regime each, with what AltOpt() reaches on them today.

Every floor was measured: `python tests/test_accuracy_floors.py` prints the table. A change that makes AltOpt() better
may raise floors; one that makes it worse has to say so here.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score
from sklearn.semi_supervised import LabelSpreading

from altopt import AltOpt, Graph, diffuse
from problems import BlockGraph, block_graph

SEEDS = (0, 1, 2)


def inside(share, classes=4, shares=None):
    """Affinity of classes: `share` of the edges stay inside, the others go anywhere by size."""
    return share * np.eye(classes) + (1 - share) * (
        np.full(classes, 1 / classes) if shares is None else shares
    )


def around(share, classes=4):
    """Heterophily: `share` of the edges lead to the class before or after, the others anywhere."""
    next_class = np.roll(np.eye(classes), 1, axis=1)
    return share * (next_class + next_class.T) / 2 + (1 - share) / classes


def bands(seed, n=1200):
    """Classes that are bands of one column; the graph tells a little."""
    rng = np.random.default_rng([seed, 3])
    X = np.column_stack([6 * rng.random(n), rng.normal(size=(n, 6))])
    truth = X[:, 0].astype(int) % 3
    return BlockGraph(X, truth, None)


def blobs(seed, n=500, classes=4, n_features=20, spread=0.55):
    """Overlapping Gaussian classes, no graph."""
    rng = np.random.default_rng([seed, 2])
    truth = rng.integers(classes, size=n)
    centres = spread * rng.normal(size=(classes, n_features))
    return BlockGraph(centres[truth] + rng.normal(size=(n, n_features)), truth, None)


def moons(seed, n=500):
    """Two curved classes, no graph."""
    X, truth = make_moons(n, noise=0.15, random_state=seed)
    return BlockGraph(X, truth, None)


def circles(seed, n=500):
    """A class around another, no graph."""
    X, truth = make_circles(n, noise=0.05, factor=0.5, random_state=seed)
    return BlockGraph(X, truth, None)


# simple peers


def features_alone(problem, y):
    given = y >= 0
    return LogisticRegression(max_iter=2000).fit(problem.X[given], y[given]).predict(problem.X)


def label_propagation(problem, y):
    """Labels diffused over the graph: Z <- 0.9 A~ Z + 0.1 Y."""
    Y = np.zeros((len(y), y.max() + 1))
    Y[y >= 0, y[y >= 0]] = 1.0
    return diffuse(Graph(problem.A), Y, restart=0.1, n_steps=50).argmax(axis=1)


def label_spreading(problem, y):
    return LabelSpreading("knn", n_neighbors=10).fit(problem.X, y).transduction_


@dataclass(frozen=True)
class Regime:
    """A kind of graph, who is labelled, and what AltOpt() must reach: accuracy of the unlabelled nodes."""

    problem: Callable[[int], BlockGraph]
    labels: int | tuple[int, ...]
    worst: float  # in every single run
    mean: float  # over SEEDS
    balanced: float = 0.0  # mean over SEEDS of the balanced accuracy, where classes are skewed
    lead: dict[Callable, float] = field(default_factory=dict)  # peer: by how much AltOpt() is ahead, at least


SKEWED = np.array([0.85, 0.10, 0.05])

# `python tests/test_accuracy_floors.py 5`; floors lie 0.02 to 0.03 below, so that another BLAS passes too.
#                                                five seeds                 the three of SEEDS
#                                                worst   mean   balanced    worst   mean   balanced
#   homophily, weak features                     0.798   0.843  0.840       0.839   0.848  0.850
#   homophily, two labels per class              0.831   0.891  0.888       0.894   0.904  0.902
#   heterophily                                  0.785   0.801  0.801       0.785   0.792  0.794
#   heterophily, features say nothing            0.926   0.948  0.947       0.926   0.946  0.946
#   skewed classes, labels drawn from all nodes  0.837   0.918  0.652       0.920   0.943  0.743
#   skewed classes, as many labels of each       0.898   0.949  0.910       0.934   0.959  0.920
#   strong features, useless graph               0.900   0.935  0.936       0.900   0.919  0.920
#   words                                        0.891   0.904  0.903       0.891   0.902  0.900
#   weighted edges                               0.875   0.896  0.895       0.893   0.910  0.909
#   homophily, features say nothing              0.926   0.941  0.941       0.926   0.939  0.939
#   no graph, bands of a column                  0.978   0.985  0.985       0.978   0.983  0.983
#   no graph                                     0.671   0.794  0.794       0.779   0.800  0.801
#   no graph, one class around another           1.000   1.000  1.000       1.000   1.000  1.000
#   no graph, curved classes                     0.864   0.904  0.904       0.902   0.919  0.919
REGIMES = {
    "homophily, weak features": Regime(
        lambda seed: block_graph(seed, signal=0.2, affinity=inside(0.6)),
        labels=10,
        worst=0.77,
        mean=0.83,
        lead={features_alone: 0.37, label_propagation: 0.10},
    ),
    "homophily, two labels per class": Regime(
        lambda seed: block_graph(seed, signal=0.25, affinity=inside(0.7)),
        labels=2,
        worst=0.8,
        mean=0.88,
        lead={features_alone: 0.46, label_propagation: 0.26},
    ),
    # pseudo labels cost here: 0.80 without them
    "heterophily": Regime(
        lambda seed: block_graph(seed, signal=0.3, mean_degree=10, affinity=around(0.9)),
        labels=20,
        worst=0.76,
        mean=0.77,
        lead={features_alone: 0.15, label_propagation: 0.55},
    ),
    "heterophily, features say nothing": Regime(
        lambda seed: block_graph(
            seed, n=800, shares=(1, 1, 1), signal=0.0, mean_degree=16, affinity=around(1.0, 3)
        ),
        labels=60,
        worst=0.9,
        mean=0.93,
        lead={features_alone: 0.53, label_propagation: 0.75},
    ),
    # poor today: few nodes of the small classes are found, balanced accuracy 0.65 over five seeds
    "skewed classes, labels drawn from all nodes": Regime(
        lambda seed: block_graph(seed, shares=SKEWED, signal=0.35, affinity=inside(0.6, 3, SKEWED)),
        labels=(51, 6, 3),
        worst=0.81,
        mean=0.925,
        balanced=0.69,
        lead={features_alone: 0.03, label_propagation: 0.08},
    ),
    "skewed classes, as many labels of each": Regime(
        lambda seed: block_graph(seed, shares=SKEWED, signal=0.35, affinity=inside(0.6, 3, SKEWED)),
        labels=8,
        worst=0.88,
        mean=0.94,
        balanced=0.89,
        lead={features_alone: 0.22, label_propagation: 0.25},
    ),
    "strong features, useless graph": Regime(
        lambda seed: block_graph(seed, signal=0.6, mean_degree=8, affinity=inside(0.0)),
        labels=15,
        worst=0.87,
        mean=0.9,
        lead={features_alone: -0.04, label_propagation: 0.60},
    ),
    "words": Regime(
        lambda seed: block_graph(
            seed, signal=0.25, words=True, n_features=300, mean_degree=3, affinity=inside(0.6)
        ),
        labels=10,
        worst=0.87,
        mean=0.885,
        lead={features_alone: 0.13, label_propagation: 0.40},
    ),
    "weighted edges": Regime(
        lambda seed: block_graph(seed, signal=0.2, mean_degree=10, affinity=inside(0.35), weights=(3.0, 0.5)),
        labels=10,
        worst=0.84,
        mean=0.89,
        lead={features_alone: 0.42, label_propagation: 0.01},
    ),
    "homophily, features say nothing": Regime(
        lambda seed: block_graph(seed, n=1200, signal=0.0, mean_degree=10, affinity=inside(0.7)),
        labels=5,
        worst=0.9,
        mean=0.92,
        lead={features_alone: 0.5, label_propagation: 0.05},
    ),
    "no graph, bands of a column": Regime(
        bands,
        labels=60,
        worst=0.95,
        mean=0.96,
        lead={features_alone: 0.4, label_spreading: 0.4},
    ),
    "no graph": Regime(
        blobs,
        labels=4,
        worst=0.72,
        mean=0.79,
        lead={features_alone: 0.10, label_spreading: 0.22},
    ),
    "no graph, one class around another": Regime(
        circles,
        labels=5,
        worst=0.97,
        mean=0.98,
        lead={features_alone: 0.35, label_spreading: 0.0},
    ),
    "no graph, curved classes": Regime(
        moons,
        labels=4,
        worst=0.83,
        mean=0.9,
        lead={features_alone: 0.0, label_spreading: -0.03},
    ),
}


@dataclass(frozen=True)
class Run:
    accuracy: float
    balanced: float
    peers: dict[Callable, float]


@cache
def run(name, seed):
    regime = REGIMES[name]
    problem = regime.problem(seed)
    y = problem.given(regime.labels, seed)
    asked = y < 0

    def accuracy(labels):
        return float(np.mean(labels[asked] == problem.truth[asked]))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the graph may be put aside
        model = AltOpt(random_state=seed).fit(problem.X, y, graph=problem.A)
    return Run(
        accuracy(model.transduction_),
        float(balanced_accuracy_score(problem.truth[asked], model.transduction_[asked])),
        {peer: accuracy(peer(problem, y)) for peer in regime.lead},
    )


@pytest.mark.parametrize("name", REGIMES)
def test_accuracy_stays_above_its_floor(name):
    runs = [run(name, seed) for seed in SEEDS]
    accuracies = [each.accuracy for each in runs]
    assert min(accuracies) >= REGIMES[name].worst
    assert np.mean(accuracies) >= REGIMES[name].mean
    assert np.mean([each.balanced for each in runs]) >= REGIMES[name].balanced


@pytest.mark.parametrize("name", REGIMES)
def test_the_lead_on_simple_peers_is_kept(name):
    for peer, lead in REGIMES[name].lead.items():
        ahead = np.mean([run(name, seed).accuracy - run(name, seed).peers[peer] for seed in SEEDS])
        assert ahead >= lead, f"{peer.__name__}: AltOpt() is ahead by {ahead:.3f}"


def measured(seeds):
    """The table the floors come from."""
    for name, regime in REGIMES.items():
        runs = [run(name, seed) for seed in seeds]
        accuracy, balanced = (
            np.array([getattr(each, what) for each in runs]) for what in ("accuracy", "balanced")
        )
        peers = {peer.__name__: np.array([each.peers[peer] for each in runs]) for peer in regime.lead}
        first = slice(len(SEEDS))
        print(
            f"{name}: worst {accuracy.min():.3f}, mean {accuracy.mean():.3f}, balanced {balanced.mean():.3f}; "
            f"on SEEDS: worst {accuracy[first].min():.3f}, mean {accuracy[first].mean():.3f}, "
            f"balanced {balanced[first].mean():.3f}, "
            + ", ".join(
                f"ahead of {peer} {np.mean((accuracy - theirs)[first]):+.3f} ({(accuracy - theirs).mean():+.3f})"
                for peer, theirs in peers.items()
            )
        )


if __name__ == "__main__":
    measured(range(int(sys.argv[1]) if sys.argv[1:] else 5))
