"""The loop run without a fold of the labels, for each fold: what a plan says of nodes whose label it never saw."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.selection.candidates import Candidate
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import neumann_diagonal, solved_inverse_diagonal
from altopt.training.alternate import Schedule, Solvers, alternate, warm_up
from altopt.training.pseudo_labels import ClassBalanced, PseudoLabels
from altopt.views import Objective

N_FOLDS = 5
LOOSE_ROUNDS = 2  # rounds of a fit that only judges
LOOSE_LIMIT = 1500  # and its pseudo labels


@dataclass(frozen=True)
class Fold:
    """What a fit without some of the labels says: F of the nodes whose labels these are, P of all."""

    here: Array  # bool, of the judged nodes: those of the fold
    shown: Array  # bool, of all nodes: the labels it had
    F: Array
    P: Array


def stratified_folds(codes: Array, seed: int, n_folds: int = N_FOLDS) -> Array:
    """A fold for each labelled node, -1 for the others; each class is dealt out evenly."""
    fold = np.full(len(codes), -1)
    rng = np.random.default_rng([seed, 5])
    turn = 0
    for k in range(int(codes.max()) + 1):
        nodes = rng.permutation(np.flatnonzero(codes == k))
        fold[nodes] = (turn + np.arange(len(nodes))) % n_folds
        turn += len(nodes)
    return fold


def cross_fit(
    material: FitData,
    plan: Candidate,
    judged: Array,
    solvers: Solvers,
    rule: PseudoLabels,
    schedule: Schedule,
    n_folds: int = N_FOLDS,
) -> Iterator[Fold]:
    """A loose fit without each fold of the labels, one after the other."""
    plan = material.with_data_dependent_settings(plan)
    number = stratified_folds(material.codes, material.seed, n_folds)
    loose = replace(schedule, n_rounds=min(plan.rounds(schedule.n_rounds), LOOSE_ROUNDS))
    if isinstance(rule, ClassBalanced):
        rule = replace(rule, limit=LOOSE_LIMIT)
    for k in np.unique(number[judged]):
        here, shown = number[judged] == k, material.labelled & (number != k)
        yield Fold(here, shown, *fit_without_fold(material, plan, shown, judged[here], solvers, rule, loose))
        release_free_memory()


def fit_without_fold(
    material: FitData,
    plan: Candidate,
    shown: Array,
    judged: Array,
    solvers: Solvers,
    rule: PseudoLabels,
    loose: Schedule,
) -> tuple[Array, Array]:
    """F of the judged nodes after a fit on the labels shown, and P of all nodes."""
    problem = material.problem(plan, shown)
    learner = plan.encoder.begin(problem.rows.shape[1], material.n_classes, material.seed)
    state = warm_up(problem, learner, loose)
    found = alternate(problem, state, Solvers(solvers.rounds, solvers.rounds), rule, loose)
    return found.F[judged], found.P


def assemble_folds(folds: list[Fold], rows: Callable[[Fold], Array]) -> Array:
    """One array for all judged nodes out of each fold's rows."""
    parts = [rows(fold) for fold in folds]
    whole = np.zeros((len(folds[0].here), parts[0].shape[1]), dtype=parts[0].dtype)
    for fold, part in zip(folds, parts):
        whole[fold.here] = part
    return whole


def resolve_with_weights(
    material: FitData, plan: Candidate, fold: Fold, judged: Array, solvers: Solvers
) -> Fold:
    """The fold under the plan's weights: P stays what it was, so that one solve is all it takes."""
    objective = material.problem(plan, fold.shown).objective(fold.P, np.ones(len(fold.P)))
    return replace(fold, F=solvers.rounds.solve(objective, fold.P).F[judged[fold.here]])


def scores_with_all_labels(
    material: FitData, plan: Candidate, fold: Fold, judged: Array, solvers: Solvers
) -> Array:
    """F of the fold's nodes from all labels, with P from an encoder that never saw theirs."""
    objective = material.problem(plan).objective(fold.P, np.ones(len(fold.P)))
    return np.asarray(solvers.last.solve(objective, fold.P).F[judged[fold.here]])


def inverse_diagonal(material: FitData, plan: Candidate, nodes: Array, exact: Array) -> Array:
    """g_ii of the plan's system at these nodes; where not `exact`, its first terms."""
    labelled, n = material.labelled, len(material.codes)

    def objective(E: Array) -> Objective:
        nothing = np.zeros((int(labelled.sum()), E.shape[1]), dtype=E.dtype)
        build = plan.objective(material.graph, material.A_tilde, nothing, labelled)
        return build(E / E.dtype.type(plan.feature_weight), np.ones(len(E)))

    solved = solved_inverse_diagonal(objective, nodes[exact], n, material.dtype)
    if exact.all():
        return solved
    g = neumann_diagonal(objective(np.zeros((n, 1))), nodes, n)
    g = np.full(len(nodes), solved.mean()) if g is None else g
    g[exact] = solved
    return g
