"""Cross-fitting: the loop run without a fold of the labels, for each fold, and what follows from these fits."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.encoders import Learner
from altopt.graph import Graph
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.selection.candidates import Candidate
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import series_diagonal, solved_inverse_diagonal
from altopt.training.alternate import Problem, Schedule, Solvers, alternate, warm_up
from altopt.training.journal import Arrays, Journal
from altopt.training.pseudo_labels import PseudoLabels
from altopt.views import Objective


@dataclass(frozen=True)
class Fold:
    """A fit without some of the labels: F of the nodes whose labels these are, P of all nodes."""

    held_out: Array  # bool, one for each evaluated node: those of the fold
    training: Array  # bool, one for each node: the labels the fit had
    F: Array  # one row for each node of the fold
    P: Array  # without rows, where P is too large to be kept
    with_all_labels: Array | None = None  # there: `scores_with_all_labels` of it
    cut: float | None = None  # share of edges whose ends differ in predicted class, in a graph built from X
    agreement: float | None = None  # `edge_agreement` of predictions that make no use of a given graph
    seconds: float = 0.0

    @property
    def n_held_out(self) -> int:
        return int(self.held_out.sum())


@dataclass(frozen=True)
class CrossFitter:
    """Fits of a candidate, each without a fold of the labels.

    Parameters
    ----------
    data : FitData
        The data of the fit.
    nodes : array (n_evaluated,) of int
        Labelled nodes that are evaluated.
    fold : array (n_nodes,) of int
        The fold of each node, -1 where unlabelled.
    solvers, rule, schedule : Solvers, PseudoLabels, Schedule
        As in the fit; fits without a fold make fewer rounds, with fewer pseudo labels, by the rounds' solver.
    rest : array of int
        Unlabelled nodes, or a sample of them, whose predictions are compared with those of held-out labels.
    journal : Journal
        Finished steps; `name` in the methods below is what tells a candidate's steps from another's.
    """

    data: FitData
    nodes: Array
    fold: Array
    solvers: Solvers
    rule: PseudoLabels
    schedule: Schedule
    rest: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    journal: Journal = field(default_factory=Journal)
    keeps_P: bool = True  # whether P of all nodes is small enough to be kept for every fold
    _ready: dict[Candidate, Candidate] = field(default_factory=dict)
    _folds: dict[tuple[Candidate, int], Fold] = field(default_factory=dict)
    # of candidates without smoothing: the encoders, what they say of a fold's nodes, and the seconds that took
    _learners: dict[tuple[Candidate, int], Learner] = field(default_factory=dict)
    _held_out: dict[tuple[Candidate, int], tuple[Array, float]] = field(default_factory=dict)

    @property
    def numbers(self) -> list[int]:
        """The folds that hold a label of an evaluated node."""
        return [k for k in np.unique(self.fold[self.nodes]).tolist() if k >= 0]

    def of_edges(self, candidate: Candidate, k: int, name: str) -> tuple[float | None, float | None]:
        """The share of edges that the predicted classes cut, and their agreement along edges, where these are known."""
        if candidate.unsmoothed:
            return None, None
        fold = self.of_fold(candidate, k, name)
        return fold.cut, fold.agreement

    def held_out(self, candidate: Candidate, k: int, name: str) -> tuple[Array, float]:
        """F of fold k's nodes from a fit without their labels, and the seconds that took."""

        if not candidate.unsmoothed:
            fold = self.of_fold(candidate, k, name)
            return fold.F, fold.seconds
        if (candidate, k) not in self._held_out:
            kept = self.timed(f"{name}, judged by fold {k}", lambda: {"F": self._predicted(candidate, k)})
            self._held_out[candidate, k] = kept["F"], float(kept["seconds"][0])
        return self._held_out[candidate, k]

    def timed(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        """The result of a step and the seconds it took, which are kept with it."""

        def fit() -> Arrays:
            began = time.perf_counter()
            result = compute()
            return result | {"seconds": np.array([time.perf_counter() - began])}

        return self.journal.once(step, fit)

    def _predicted(self, candidate: Candidate, k: int) -> Array:
        """P of fold k's nodes: F, where nothing is smoothed."""
        held_out, training = self.masks(k)
        problem = self.data.problem(self.ready(candidate), training)
        return self._learner(candidate, k, problem).predict(problem.rows[self.nodes[held_out]])

    def with_every_P(self, candidate: Candidate, k: int) -> Fold:
        """The fit of a candidate without smoothing without fold k, with P of all nodes."""
        held_out, training = self.masks(k)
        problem = self.data.problem(self.ready(candidate), training)
        P = np.ascontiguousarray(self._learner(candidate, k, problem).predict(problem.rows))
        return Fold(held_out, training, P[self.nodes[held_out]], P)

    def _learner(self, candidate: Candidate, k: int, problem: Problem) -> Learner:
        """The encoder trained without fold k, once."""
        if (candidate, k) not in self._learners:
            data, rows, Y = self.data, problem.rows, problem.Y
            learner = self.ready(candidate).encoder.begin(rows.shape[1], data.n_classes, data.seed)
            weights = np.ones(len(Y)) if problem.label_weights is None else problem.label_weights
            learner.train(rows[np.flatnonzero(problem.labelled)], Y, weights, self.schedule.n_warmup)
            self._learners[candidate, k] = learner
        return self._learners[candidate, k]

    def ready(self, candidate: Candidate) -> Candidate:
        """The candidate with what its inputs decide."""
        if candidate not in self._ready:
            self._ready[candidate] = self.data.with_data_dependent_settings(candidate)
        return self._ready[candidate]

    def of_fold(self, candidate: Candidate, k: int, name: str = "") -> Fold:
        """A short fit without fold k, made once; with other weights of a candidate whose fit is known, from its P."""
        if (candidate, k) not in self._folds:
            known = None if candidate.reweights is None else self._folds.get((candidate.reweights, k))
            if known is not None and self.keeps_P:
                solve = partial(self.scores_with_weights, candidate, known)
                kept = self.timed(f"{name}, weights of fold {k}", lambda: {"F": solve()})
                self._folds[candidate, k] = replace(known, F=kept["F"], seconds=float(kept["seconds"][0]))
            else:
                self._folds[candidate, k] = self._fitted(candidate, k, name)
            release_free_memory(
                len(self.data.codes) * self.data.n_classes * np.dtype(self.data.dtype).itemsize
            )
        return self._folds[candidate, k]

    def _fitted(self, candidate: Candidate, k: int, name: str) -> Fold:
        def fit() -> Arrays:
            fold = self.without_fold(candidate, k)
            told = {"cut": fold.cut, "agreement": fold.agreement}
            arrays = {"F": fold.F} | {what: np.array([x]) for what, x in told.items() if x is not None}
            if self.keeps_P:
                arrays["P"] = fold.P
            if fold.with_all_labels is not None:
                arrays["with_all_labels"] = fold.with_all_labels
            elif not self.keeps_P:
                arrays["with_all_labels"] = self.scores_with_all_labels(candidate, fold)
            return arrays

        kept = self.timed(f"{name}, without fold {k}", fit)
        F, known = kept["F"], kept.get("with_all_labels")
        cut, agreement = (float(kept[what][0]) if what in kept else None for what in ("cut", "agreement"))
        seconds = float(kept["seconds"][0])
        return Fold(*self.masks(k), F, kept.get("P", F[:0]), known, cut, agreement, seconds)

    def folds(self, candidate: Candidate, name: str = "") -> list[Fold]:
        """A short fit without each fold of the labels, one after the other."""
        return [self.of_fold(candidate, k, name) for k in self.numbers]

    def forget(self) -> None:
        """Let go of what was fitted."""
        for made in (self._ready, self._folds, self._learners, self._held_out):
            made.clear()

    def masks(self, k: int) -> tuple[Array, Array]:
        """Which of the evaluated nodes are in fold k, and which nodes keep their labels without it."""
        return self.fold[self.nodes] == k, (self.fold >= 0) & (self.fold != k)

    def without_fold(self, candidate: Candidate, k: int) -> Fold:
        """The fit on the labels of all folds but k: fewer rounds and pseudo labels, by the rounds' solver."""
        data, defaults = self.data, self.data.defaults
        ready = self.ready(candidate)
        n_rounds = min(candidate.rounds(self.schedule.n_rounds), defaults.fold_rounds)
        held_out, training = self.masks(k)
        problem = data.problem(ready, training)
        if candidate.unsmoothed:  # no other node's label counts, and the own one is not in F
            rows = np.concatenate([self.nodes[held_out], self.rest])
            P = self._learner(candidate, k, problem).predict(problem.rows[rows])
            return Fold(held_out, training, P[: held_out.sum()], P[:0], P)
        schedule = replace(self.schedule, n_rounds=n_rounds)
        rule = self.rule.with_limit(defaults.pseudo_limit // 4)
        rough = candidate.solvers(self.solvers).rounds
        solvers = Solvers(rough, rough)
        learner = ready.encoder.begin(problem.rows.shape[1], data.n_classes, data.seed)
        outcome = alternate(problem, warm_up(problem, learner, schedule), solvers, rule, schedule)
        F, known = outcome.F, None
        cut = cut_share(data.graph, F.argmax(axis=1)) if data.built else None
        apart = not (
            data.built or candidate.uses_graph
        )  # the features alone: what they say does not follow edges
        agreement = edge_agreement(data.graph, F.argmax(axis=1), defaults) if apart else None
        if candidate.class_masses:  # the class that loses a label loses mass: these scores serve as they are
            F = F * class_mass_factors(F, data.codes[training])
            known = F[np.concatenate([self.nodes[held_out], self.rest])]
        return Fold(held_out, training, F[self.nodes[held_out]], outcome.P, known, cut, agreement)

    def scores_with_weights(self, candidate: Candidate, fold: Fold) -> Array:
        """F of the fold's nodes under the candidate's weights: P stays, so one solve is enough."""
        objective = self.data.problem(candidate, fold.training).objective(fold.P, np.ones(len(fold.P)))
        return np.asarray(self.solvers.rounds.solve(objective, fold.P).F[self.nodes[fold.held_out]])

    def scores_with_all_labels(self, candidate: Candidate, fold: Fold) -> Array:
        """F of the fold's nodes, then of `rest`, from all labels, with P from an encoder that never saw the fold's."""
        rows = np.concatenate([self.nodes[fold.held_out], self.rest])
        objective = self.data.problem(candidate).objective(fold.P, np.ones(len(fold.P)))
        return np.asarray(self.solvers.last.solve(objective, fold.P).F[rows])

    def inverse_diagonal(self, candidate: Candidate, exact: Array, name: str = "") -> Array:
        """g_ii of G = H^-1 for the candidate's H at the evaluated nodes; where not `exact`, its first terms."""
        data, nodes = self.data, self.nodes
        labelled, n = data.labelled, len(data.codes)

        def objective(E: Array) -> Objective:
            no_labels = np.zeros((int(labelled.sum()), E.shape[1]), dtype=E.dtype)
            build = candidate.objective(data.graph, data.A_tilde, no_labels, labelled)
            return build(E / E.dtype.type(candidate.feature_weight), np.ones(len(E)))

        def block(first: int, solve: Callable[[], Array]) -> Array:
            return self.journal.array(f"{name}, inverse diagonal from {first}", solve)

        g, error = series_diagonal(objective(np.zeros((n, 1))), nodes, n)
        rtol = data.defaults.exact_rtol
        uncertain = exact & (error > rtol)
        g[uncertain] = solved_inverse_diagonal(objective, nodes[uncertain], n, data.dtype, rtol, block)
        unknown = np.isnan(g)
        g[unknown] = g[~unknown].mean() if unknown.any() else 0.0
        return g


def class_mass_factors(F: Array, codes: Array) -> Array:
    """Column factors of F under which the classes have masses as they have labels."""
    counts = np.bincount(codes, minlength=F.shape[1])
    mass = np.maximum(F.sum(axis=0, dtype=np.float64), 1e-12 * max(float(F.sum()), 1e-12))
    factors = counts / mass
    return np.asarray(factors / factors.max())


def cut_share(graph: Graph, labels: Array) -> float:
    """The share of edge weight between nodes of different labels."""
    A = graph.adjacency.tocoo()
    total = float(A.data.sum())
    return float(A.data[labels[A.coords[0]] != labels[A.coords[1]]].sum()) / total if total else 0.0


def edge_agreement(graph: Graph, labels: Array, defaults: Defaults = DEFAULTS) -> float | None:
    """How much oftener edges join nodes of one label than edges tied at random, degrees kept, in standard errors.

    None where edges are too few for that to tell weak ties from none.

    >>> labels, ring = np.repeat([0, 1], 200), np.arange(400)
    >>> edge_agreement(Graph(np.stack([ring, (ring + 1) % 400])), labels) > 10
    True
    >>> edge_agreement(Graph([(0, 1), (1, 2)]), labels[198:201]) is None
    True
    """
    excess, error = assortativity(graph, labels)
    if defaults.edge_chance * error > defaults.weak_ties:
        return None
    return excess / error


def assortativity(graph: Graph, labels: Array) -> tuple[float, float]:
    """Share of edges that join nodes of one label, above that of edges tied at random with the same degrees; its error.

    >>> assortativity(Graph([(0, 1), (2, 3)]), np.array([0, 0, 1, 1]))[0]
    1.0
    """
    A = graph.adjacency.tocoo()
    if not A.nnz:
        return 0.0, 1e-12
    same = float(np.mean(labels[A.coords[0]] == labels[A.coords[1]]))
    expected = float(np.sum((np.bincount(labels[A.coords[0]]) / A.nnz) ** 2))
    rest = max(1.0 - expected, 1e-12)
    return (same - expected) / rest, float(np.sqrt(max(expected * rest, 1e-12) / (A.nnz / 2))) / rest


def own_rows(folds: list[Fold], rows: list[Array]) -> list[Array]:
    """Each fold's own rows, without those of the sample below them."""
    return [part[: fold.n_held_out] for fold, part in zip(folds, rows)]


def assemble_folds(folds: Sequence[Fold], rows: Sequence[Array]) -> Array:
    """One array for all evaluated nodes out of each fold's rows."""
    whole = np.zeros((len(folds[0].held_out), rows[0].shape[1]), dtype=rows[0].dtype)
    for fold, part in zip(folds, rows):
        whole[fold.held_out] = part
    return whole
