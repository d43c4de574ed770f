"""The loop run without a fold of the labels, for each fold: what a plan says of nodes whose label it never saw."""

from dataclasses import dataclass, replace

import numpy as np

from altopt.alternate import Schedule, Solvers, alternate, warm_up
from altopt.arrays import Array
from altopt.kernels.choose import give_back
from altopt.leave_one_out import first_terms, own_influence, without_own_label
from altopt.material import Material
from altopt.plans import Plan
from altopt.selection import EveryoneWeighted, PseudoLabels
from altopt.views.view import Objective

N_FOLDS = 5
LOOSE_ROUNDS = 2  # rounds of a fit that only judges
LOOSE_LIMIT = 1500  # and its pseudo labels


@dataclass(frozen=True)
class HeldOut:
    """F of judged nodes without their label: by leaving out the fold, and by taking out the label alone."""

    by_fold: Array  # from fits without the fold's labels
    by_one: Array  # from all labels but the own, with P from an encoder that never saw the fold


def folds_of(codes: Array, seed: int, n_folds: int = N_FOLDS) -> Array:
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
    material: Material,
    plan: Plan,
    judged: Array,
    solvers: Solvers,
    rule: PseudoLabels,
    schedule: Schedule,
    g: Array,
    n_folds: int = N_FOLDS,
) -> HeldOut:
    """F of each judged node without its label, after a loose fit without its fold; `g` is their own influence."""
    plan = material.settled(plan)
    fold = folds_of(material.codes, material.seed, n_folds)
    loose = replace(schedule, n_rounds=min(plan.rounds(schedule.n_rounds), LOOSE_ROUNDS))
    if isinstance(rule, EveryoneWeighted):
        rule = replace(rule, limit=LOOSE_LIMIT)
    by_fold = np.zeros((len(judged), material.n_classes), dtype=material.dtype)
    with_own = np.zeros_like(by_fold)
    for k in np.unique(fold[judged]):
        here = fold[judged] == k
        by_fold[here], with_own[here] = without_fold(
            material, plan, material.labelled & (fold != k), judged[here], solvers, rule, loose
        )
        give_back()
    return HeldOut(by_fold, without_own_label(with_own, material.Y(judged), g, plan.label_weight))


def without_fold(
    material: Material,
    plan: Plan,
    shown: Array,
    judged: Array,
    solvers: Solvers,
    rule: PseudoLabels,
    loose: Schedule,
) -> tuple[Array, Array]:
    """F of the judged nodes after a fit on the labels shown, and solved for with all labels but the same P."""
    problem = material.problem(plan, shown)
    learner = plan.encoder.begin(problem.rows.shape[1], material.n_classes, material.seed)
    state = warm_up(problem, learner, loose)
    found = alternate(problem, state, Solvers(solvers.rounds, solvers.rounds), rule, loose)
    F, P = found.F, found.P
    del problem, learner, state, found  # on large graphs each holds as much as F
    by_fold = F[judged]
    all_labels = material.problem(plan).objective(P, np.ones(len(P)))
    return by_fold, solvers.last.solve(all_labels, F).F[judged]


def influence(material: Material, plan: Plan, nodes: Array, exact: Array) -> Array:
    """g_ii of the plan's system at these nodes; where not `exact`, its first terms."""
    labelled, n = material.labelled, len(material.codes)

    def objective(E: Array) -> Objective:
        nothing = np.zeros((int(labelled.sum()), E.shape[1]), dtype=E.dtype)
        build = plan.objective(material.graph, material.A_tilde, nothing, labelled)
        return build(E / E.dtype.type(plan.feature_weight), np.ones(len(E)))

    solved = own_influence(objective, nodes[exact], n, material.dtype)
    if exact.all():
        return solved
    g = first_terms(objective(np.zeros((n, 1))), nodes, n)
    g = np.full(len(nodes), solved.mean()) if g is None else g
    g[exact] = solved
    return g
