"""Cross-fitting: the loop run without a fold of the labels, for each fold, and what follows from these fits."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.selection.candidates import Candidate
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import series_diagonal, solved_inverse_diagonal
from altopt.training.alternate import Schedule, Solvers, alternate, warm_up
from altopt.training.journal import Arrays, Journal
from altopt.training.pseudo_labels import PseudoLabels
from altopt.views import Objective

SEED_SALT = 5  # so that folds are drawn by other random numbers than the rest of a fit


@dataclass(frozen=True)
class Fold:
    """A fit without some of the labels: F of the nodes whose labels these are, P of all nodes."""

    held_out: Array  # bool, one for each evaluated node: those of the fold
    training: Array  # bool, one for each node: the labels the fit had
    F: Array  # one row for each node of the fold
    P: Array  # without rows, where P is too large to be kept
    with_all_labels: Array | None = None  # there: `scores_with_all_labels` of it

    @property
    def n_held_out(self) -> int:
        return int(self.held_out.sum())


def stratified_folds(codes: Array, seed: int, n_folds: int) -> Array:
    """A fold for each labelled node, -1 for the others; each class is dealt out evenly.

    >>> folds = stratified_folds(np.array([0, 0, 1, 1, -1]), seed=0, n_folds=2)
    >>> sorted(folds[:2].tolist()), sorted(folds[2:4].tolist()), int(folds[4])
    ([0, 1], [0, 1], -1)
    """
    fold = np.full(len(codes), -1)
    rng = np.random.default_rng([seed, SEED_SALT])
    n_dealt = 0
    for k in range(int(codes.max()) + 1):
        nodes = rng.permutation(np.flatnonzero(codes == k))
        fold[nodes] = (n_dealt + np.arange(len(nodes))) % n_folds
        n_dealt += len(nodes)
    return fold


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

    def folds(self, candidate: Candidate, name: str = "", keep_P: bool = True) -> Iterator[Fold]:
        """A short fit without each fold of the labels, one after the other."""
        ready = cache(lambda: self.data.with_data_dependent_settings(candidate))  # not before a step needs it

        def fit(k: int) -> Arrays:
            fold = self.without_fold(ready(), k)
            if keep_P:
                return {"F": fold.F, "P": fold.P}
            return {"F": fold.F, "with_all_labels": self.scores_with_all_labels(candidate, fold)}

        for k in np.unique(self.fold[self.nodes]).tolist():
            kept = self.journal.once(f"{name}, without fold {k}", partial(fit, k))
            F = kept["F"]
            yield Fold(*self.masks(k), F, kept.get("P", F[:0]), kept.get("with_all_labels"))
            release_free_memory(
                len(self.data.codes) * self.data.n_classes * np.dtype(self.data.dtype).itemsize
            )

    def masks(self, k: int) -> tuple[Array, Array]:
        """Which of the evaluated nodes are in fold k, and which nodes keep their labels without it."""
        return self.fold[self.nodes] == k, self.data.labelled & (self.fold != k)

    def without_fold(self, candidate: Candidate, k: int) -> Fold:
        """The fit on the labels of all folds but k: fewer rounds and pseudo labels, by the rounds' solver."""
        data, defaults = self.data, self.data.defaults
        n_rounds = min(candidate.rounds(self.schedule.n_rounds), defaults.fold_rounds)
        schedule = replace(self.schedule, n_rounds=n_rounds)
        rule = self.rule.with_limit(defaults.fold_pseudo_limit)
        solvers = Solvers(self.solvers.rounds, self.solvers.rounds)
        held_out, training = self.masks(k)
        problem = data.problem(candidate, training)
        learner = candidate.encoder.begin(problem.rows.shape[1], data.n_classes, data.seed)
        outcome = alternate(problem, warm_up(problem, learner, schedule), solvers, rule, schedule)
        return Fold(held_out, training, outcome.F[self.nodes[held_out]], outcome.P)

    def scores_with_weights(self, candidate: Candidate, fold: Fold) -> Array:
        """F of the fold's nodes under the candidate's weights: P stays, so one solve is enough."""
        objective = self.data.problem(candidate, fold.training).objective(fold.P, np.ones(len(fold.P)))
        return np.asarray(self.solvers.rounds.solve(objective, fold.P).F[self.nodes[fold.held_out]])

    def scores_with_all_labels(self, candidate: Candidate, fold: Fold) -> Array:
        """F of the fold's nodes, then of `rest`, from all labels, with P from an encoder that never saw the fold's."""
        objective = self.data.problem(candidate).objective(fold.P, np.ones(len(fold.P)))
        rows = np.concatenate([self.nodes[fold.held_out], self.rest])
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


def assemble_folds(folds: Sequence[Fold], rows: Sequence[Array]) -> Array:
    """One array for all evaluated nodes out of each fold's rows."""
    whole = np.zeros((len(folds[0].held_out), rows[0].shape[1]), dtype=rows[0].dtype)
    for fold, part in zip(folds, rows):
        whole[fold.held_out] = part
    return whole
