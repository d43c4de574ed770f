"""The weights of several kinds of edges, chosen by held-out labels: a search on the simplex, useless kinds dropped.

F is smoothed along A = sum_k w_k A_k, each kind scaled to the same total edge weight, and normalised as ever. What is
smoothed is P of a linear model of the features, which knows no graph and is fitted once a fold: each w costs one solve.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.operator import NormalizedAdjacency
from altopt.operator.scaling import row_stochastic
from altopt.selection.candidates import Candidate, features_alone
from altopt.selection.cross_fit import CrossFitter, Fold, assortativity
from altopt.selection.fit_data import FitData
from altopt.selection.graph_help import KindHelp
from altopt.selection.probabilities import Probabilities, at_best_temperature
from altopt.training.journal import Arrays, Journal

LEAST_WEIGHT = 1e-3  # that the prior of a kind is taken for
FIRST_STEP, LAST_STEP = 0.5, 0.12  # of the way to or from a kind; each step is half of the one before


@dataclass(frozen=True)
class EdgeWeights:
    """The weights chosen for the kinds of edges, and what held-out labels say of each kind.

    Parameters
    ----------
    weights : dict of str to float
        They sum to 1.
    help : dict of str to KindHelp
        What each kind is worth.
    telling : tuple of str
        Kinds along which the neighbours of a node tell its class, alike or opposed: each is worth reading by itself.
    """

    weights: dict[str, float]
    help: dict[str, KindHelp]
    telling: tuple[str, ...]


@dataclass
class Search:
    """Held-out labels judge weights; each is judged once.

    Parameters
    ----------
    data : FitData
        With a graph of several kinds.
    fitter : CrossFitter
        Its folds hold the labels that judge.
    folds : list of Fold
        Fits of the features alone.
    smooth : Candidate
        How F is smoothed.
    prior : array
        Weights that the edges themselves speak for.
    """

    data: FitData
    fitter: CrossFitter
    folds: list[Fold]
    smooth: Candidate
    prior: Array

    def __post_init__(self) -> None:
        self.codes = np.concatenate([self.fitter.data.codes[self.nodes_of(fold)] for fold in self.folds])
        self._judged: dict[tuple[float, ...], Probabilities] = {}

    def nodes_of(self, fold: Fold) -> Array:
        return np.asarray(self.fitter.nodes[fold.held_out])

    def judged(self, w: Array) -> Probabilities:
        """The held-out labels' probabilities under these weights."""
        key = tuple(np.round(w, 6).tolist())
        if key not in self._judged:
            fitter = replace(self.fitter, data=with_weights(self.data, w))
            F = np.concatenate([fitter.scores_with_weights(self.smooth, fold) for fold in self.folds])
            self._judged[key] = at_best_temperature(F, self.codes)
        return self._judged[key]

    def loss(self, w: Array) -> float:
        return float(self.judged(w).losses.sum())

    def cost(self, w: Array) -> float:
        """The loss, and a prior that holds the weights to what the edges speak for: a few labels cannot tell."""
        used, prior = w[w > 0], np.maximum(self.prior[w > 0], LEAST_WEIGHT)
        return self.loss(w) + self.data.defaults.usual_lead * float(np.sum(used * np.log(used / prior)))

    def accuracy(self, w: Array) -> float:
        return self.hits(self.judged(w).P)

    def hits(self, P: Array) -> float:
        return float(np.mean(P.argmax(axis=1) == self.codes))

    def adds_nothing(self, w: Array, k: int) -> bool:
        """Whether the labels are as likely without kind k, to within as many standard errors as a plan must lead by."""
        gain = self.judged(without(w, k)).losses - self.judged(w).losses
        return float(gain.sum()) <= self.data.defaults.min_z * float(np.std(gain) * np.sqrt(len(gain)))


def choose_edge_weights(data: FitData, chooser: CrossFitter, n_folds: int, usual: Candidate) -> EdgeWeights:
    """The weights under which held-out labels are likeliest, without kinds that add nothing.

    F is smoothed as the usual candidate does, or as far as features are diffused: whichever the labels prefer.
    """
    kinds = list(data.graph.kinds)
    alone = features_alone(usual, data.source, data.defaults)
    fitter = replace(chooser, keeps_P=True, journal=Journal())
    folds = [fitter.with_every_P(alone, k) for k in fitter.numbers[: 1 if data.large else n_folds]]
    mild = replace(usual, inputs=alone.inputs, encoder=alone.encoder)
    far = replace(mild, feature_weight=data.restart / max(1.0 - data.restart, data.restart))
    prior = edge_prior(data, folds[0])
    searches = [Search(data, fitter, folds, smooth, prior) for smooth in (mild, far)]
    totals = np.array([kind.adjacency.data.sum(dtype=np.float64) for kind in data.graph.kinds.values()])
    begin = [prior, *starts(totals)]
    search = min(searches, key=lambda one: min(map(one.cost, begin)))
    w = pruned(search, descend(search.cost, min(begin, key=search.cost)))
    P = np.concatenate([fold.F for fold in folds])
    features, single = search.hits(P), np.eye(len(kinds))
    worth = {
        kind: KindHelp(
            alone=search.accuracy(single[k]),
            without=features if w[k] == 1 else search.accuracy(without(w, k)),
            all_kinds=search.accuracy(w),
            features_alone=features,
        )
        for k, kind in enumerate(kinds)
    }
    tells = telling_kinds(fitter, folds, alone)
    telling = tuple(kind for k, kind in enumerate(kinds) if w[k] > 0 or tells[k])
    return EdgeWeights(dict(zip(kinds, w.tolist())), worth, telling)


def edge_prior(data: FitData, fold: Fold) -> Array:
    """Weights as the edges of each kind join what the features' predictions, and the labels they had, call alike.

    Of a kind that joins them no oftener than chance, nothing; where all are such, equal weights.
    """
    called = fold.P.argmax(axis=1)
    called[fold.training] = data.codes[fold.training]
    found = [assortativity(kind, called) for kind in data.graph.kinds.values()]
    clear = np.array(
        [excess if excess > data.defaults.edge_chance * error else 0.0 for excess, error in found]
    )
    return clear / clear.sum() if clear.any() else np.full(len(found), 1.0 / len(found))


def telling_kinds(fitter: CrossFitter, folds: list[Fold], alone: Candidate) -> list[bool]:
    """Of which kinds a linear model profits that reads, beside the features, the mean P of a node's neighbours."""
    data = fitter.data
    codes = np.concatenate([data.codes[fitter.nodes[fold.held_out]] for fold in folds])
    before = at_best_temperature(np.concatenate([fold.F for fold in folds]), codes).losses
    tells = []
    for kind in data.graph.kinds.values():
        S = row_stochastic(sp.csr_array(kind.adjacency))
        rows = [read_with_neighbours(fitter, fold, alone, S) for fold in folds]
        gain = before - at_best_temperature(np.concatenate(rows), codes).losses
        needed = max(data.defaults.usual_lead, float(np.std(gain) * np.sqrt(len(gain))))
        tells.append(bool(gain.sum() > needed))
    return tells


def read_with_neighbours(fitter: CrossFitter, fold: Fold, alone: Candidate, S: Any) -> Array:
    """P of the fold's nodes from the features and S Q, Q being P with the labels that the fit had."""
    problem = fitter.data.problem(fitter.ready(alone), fold.training)
    Q = fold.P.astype(np.float64)
    Q[fold.training] = problem.Y
    around = np.asarray(S @ Q)
    if sp.issparse(problem.rows):
        rows: Any = sp.csr_array(sp.hstack([problem.rows, around], format="csr"))
    else:
        rows = np.concatenate([problem.rows[:], around], axis=1)
    encoder, data = fitter.ready(alone).encoder, fitter.data
    learner = encoder.begin(rows.shape[1], data.n_classes, data.seed)
    weights = np.ones(len(problem.Y)) if problem.label_weights is None else problem.label_weights
    learner.train(rows[np.flatnonzero(fold.training)], problem.Y, weights, fitter.schedule.n_warmup)
    return np.asarray(learner.predict(rows[fitter.nodes[fold.held_out]]))


def chosen_once(journal: Journal, kinds: list[str], choose: Callable[[], EdgeWeights]) -> EdgeWeights:
    """The choice as the journal keeps it, or made now."""

    def compute() -> Arrays:
        chosen = choose()
        rows = [
            [chosen.weights[kind], float(kind in chosen.telling), *astuple(chosen.help[kind])]
            for kind in kinds
        ]
        return {"array": np.array(rows)}

    rows = dict(zip(kinds, journal.once("edge weights", compute)["array"].tolist()))
    return EdgeWeights(
        {kind: row[0] for kind, row in rows.items()},
        {kind: KindHelp(*row[2:]) for kind, row in rows.items()},
        tuple(kind for kind, row in rows.items() if row[1]),
    )


def with_weights(data: FitData, w: Array) -> FitData:
    """The data with other weights of the kinds."""
    graph = data.graph.with_edge_weights(dict(zip(data.graph.kinds, w.tolist())))
    return replace(data, graph=graph, A_tilde=NormalizedAdjacency(graph.adjacency, data.A_tilde.self_loops))


def starts(graph_totals: Array) -> list[Array]:
    """Equal weights, all edges alike, and each kind alone."""
    n = len(graph_totals)
    return [np.full(n, 1.0 / n), graph_totals / graph_totals.sum(), *np.eye(n)]


def descend(cost: Callable[[Array], float], w: Array) -> Array:
    """Steps towards a kind and away from it, half as long when none helps."""
    best, step = cost(w), FIRST_STEP
    while step > LAST_STEP:
        moves = [(1 - step) * w + step * e for e in np.eye(len(w))]
        moves += [without(w, k, step) for k in range(len(w)) if w[k] > 0 and w[k] < 1]
        costs = [cost(move) for move in moves]
        k = int(np.argmin(costs))
        if costs[k] < best:
            best, w = costs[k], moves[k]
        else:
            step /= 2
    return w


def without(w: Array, k: int, share: float = 1.0) -> Array:
    """The weights with a share of that of kind k taken away, the others in their ratios."""
    w = w.copy()
    w[k] *= 1 - share
    return np.asarray(w / w.sum())


def pruned(search: Search, w: Array) -> Array:
    """The weights without those below half an equal share for which neither edges nor labels speak, smallest first."""
    for k in np.argsort(w, kind="stable").tolist():
        speaks = search.prior[k] > 0
        if 0 < w[k] < 1 / (2 * len(w)) and not speaks and search.adds_nothing(w, k):
            w = without(w, k)
    return w
