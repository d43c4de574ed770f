"""The loop: update F, train the encoder on it, again, until a stated reason to stop."""

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from altopt.arrays import Array, allocate, certainty, working_dtype
from altopt.defaults import DEFAULTS, Defaults
from altopt.encoders.encoder import Learner
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.operator.kernels.native import padded
from altopt.settings import check_count, check_number
from altopt.solvers.solver import Solution, Solver, Steps
from altopt.training.class_priors import validation_weights
from altopt.training.pseudo_labels import PseudoLabels, Readout
from altopt.views import Objective


@dataclass(frozen=True)
class Problem:
    """What the loop works on, checked and laid out row by row.

    Parameters
    ----------
    rows : array, sparse matrix or LazyRows (n_nodes, n_inputs)
        The encoder's inputs.
    Y : array (n_labelled, n_classes)
        One-hot rows of the labelled nodes.
    labelled : array (n_nodes,) of bool
        Where a label is known.
    dtype : numpy dtype
        Of F and P.
    objective : callable
        From P and the confidence weights w to the sum of the views.
    needs_confidence : bool
        Whether the objective depends on w.
    validation : (nodes, classes), optional
        Used only to keep the best round.
    label_weights : array (n_labelled,), optional
        Of the labelled nodes in the encoder's training; None: 1 each.
    defaults : Defaults
        The numbers of the recipe.
    order : array (n_nodes,) of int, optional
        All nodes, by what they are like: samples are drawn from it.
    """

    rows: Any
    Y: Array
    labelled: Array
    dtype: Any
    objective: Callable[[Array, Array], Objective]
    needs_confidence: bool = False
    validation: tuple[Array, Array] | None = None
    label_weights: Array | None = None
    defaults: Defaults = DEFAULTS
    order: Array | None = None

    def weights_of_labels(self) -> Array:
        """The weight of each labelled node in the encoder's training."""
        return np.ones(len(self.Y)) if self.label_weights is None else self.label_weights


@dataclass(frozen=True)
class Solvers:
    """The solver of the rounds, where a rough F is enough, and the solver of the last update."""

    rounds: Solver
    last: Solver


@dataclass(frozen=True)
class Schedule:
    """How long the encoder trains, and how often F is updated in between.

    Parameters
    ----------
    n_warmup : int
        Encoder epochs on the given labels, before the first round.
    n_rounds : int
        Rounds of (update F, train the encoder); a last update of F follows.
    n_epochs : int
        Encoder epochs in each round.
    seed : int
        Of the sample of pseudo labels.
    stop_when_changed_below : float, optional
        Stop when at most this share of the nodes changed label; None: never early.

    Examples
    --------
    >>> schedule = Schedule(40, 5, 40, seed=0, stop_when_changed_below=0.001)
    >>> schedule.converged(0, 0.0), schedule.converged(1, 0.0005), schedule.converged(1, 0.01)
    (False, True, False)
    """

    n_warmup: int
    n_rounds: int
    n_epochs: int
    seed: int
    stop_when_changed_below: float | None = None

    def __post_init__(self) -> None:
        for name in ("n_warmup", "n_rounds", "n_epochs"):
            check_count(self, name, 0)
        check_number(self, "stop_when_changed_below", least=0.0, optional=True)

    def converged(self, n_done: int, changed: float) -> bool:
        """Whether to stop before n_rounds; the first update has nothing to be compared with."""
        return (
            self.stop_when_changed_below is not None
            and n_done > 0
            and changed <= self.stop_when_changed_below
        )


@dataclass(frozen=True)
class Round:
    """The record of one update of F and the training after it."""

    round: int
    objective: float
    features: float  # the objective's three parts
    graph: float
    labels: float
    residual: float
    error_bound: float | None
    n_products: int
    kernel: str  # which kernel made the steps
    changed: float  # share of nodes whose label this update changed
    n_selected: int  # pseudo labels trained on
    loss: float  # of the encoder after this round's training; NaN where there was none
    validation: float | None  # accuracy on the validation labels, where there are any
    seconds: float


@dataclass(frozen=True)
class Best:
    """The round with the highest validation accuracy so far."""

    round: int
    accuracy: float
    F: Array
    P: Array
    learner: Learner  # as it was when it gave P
    start: Array | None = None  # where its update of F started; None for a solver that converges
    steps: Steps | None = None  # the steps it made from there


@dataclass
class State:
    """All that a round hands to the next: stored, it lets an interrupted fit continue."""

    n_done: int
    F: Array
    P: Array
    w: Array
    start: Array  # where the next update of F starts
    label: Array  # the class of each row of F
    learner: Learner
    trace: list[Round] = field(default_factory=list)
    best: Best | None = None
    last_start: Array | None = None  # where the update that gave F started; None for a solver that converges
    last_steps: Steps | None = None  # the steps it made from there
    priors: Array | None = None  # class priors, where pseudo labels keep to them
    shortfall: str = ""  # what the solver says of a tolerance that the last update of F did not reach


@dataclass(frozen=True)
class Outcome:
    """The fitted F, P and encoder, the trace, and why the loop ended."""

    F: Array
    P: Array
    learner: Learner
    trace: list[Round]
    reason: str
    start: Array | None = None  # where the last update of F started; None for a solver that converges
    steps: Steps | None = None  # the steps it made from there


class Update(NamedTuple):
    """What an update of F leaves besides F itself."""

    reading: Readout
    changed: float  # share of nodes whose label it changed
    converged: bool  # few enough changed for the loop to stop
    parts: dict[str, float]  # of the objective, by view
    residual: float
    error_bound: float | None
    n_products: int
    kernel: str
    validation: float | None


class Training(NamedTuple):
    """What a training of the encoder leaves besides P."""

    loss: float = float("nan")
    n_selected: int = 0


def alternate(
    problem: Problem,
    state: State,
    solvers: Solvers,
    pseudo_labels: PseudoLabels,
    schedule: Schedule,
    on_round: Callable[[State], None] = lambda state: None,
) -> Outcome:
    """n_rounds times (update F, train the encoder), and a last update of F.

    `state` is a fresh `warm_up`, or the one that `on_round` of an earlier run was last given: the loop then continues
    from there and ends with the same bits.
    """
    for n_done in range(state.n_done, schedule.n_rounds + 1):
        began = time.perf_counter()
        update = update_F(problem, state, solvers, pseudo_labels, schedule)
        final = update.converged or n_done == schedule.n_rounds
        training = (
            Training() if final else train_encoder(problem, state, pseudo_labels, schedule, update.reading)
        )
        state.trace.append(record(n_done, update, training, time.perf_counter() - began))
        if final:
            break
        state.n_done = n_done + 1
        on_round(state)
    return conclude(state, schedule)


def warm_up(problem: Problem, learner: Learner, schedule: Schedule) -> State:
    """The encoder trained on the given labels alone, and F = Y."""
    L = np.flatnonzero(problem.labelled)
    learner.train(problem.rows[L], problem.Y, problem.weights_of_labels(), schedule.n_warmup)
    P = np.ascontiguousarray(learner.predict(problem.rows), dtype=problem.dtype)
    F = allocate(P.shape, problem.dtype)
    F[:] = 0.0
    F[L] = problem.Y
    w = certainty(P) if problem.needs_confidence else np.ones(len(P))
    return State(0, F, P, w, F, F.argmax(axis=1).astype(np.int32), learner)


def update_F(
    problem: Problem, state: State, solvers: Solvers, pseudo_labels: PseudoLabels, schedule: Schedule
) -> Update:
    """F for the present P: roughly in the rounds, to the last solver's tolerance when the loop ends."""
    last = state.n_done == schedule.n_rounds
    objective = problem.objective(state.P, state.w)
    solution = solve_from_start(objective, state, solvers.last if last else solvers.rounds)
    reading = pseudo_labels.read(solution.F, state.priors, problem.order)
    changed = float(np.mean(reading.label != state.label))
    converged = schedule.converged(state.n_done, changed)
    if converged and not last and solvers.last is not solvers.rounds:
        state.start = solution.F
        solution = solve_from_start(objective, state, solvers.last)
    state.F = state.start = solution.F
    state.w, state.label, state.priors = reading.w, reading.label, reading.priors
    return Update(
        reading=reading,
        changed=changed,
        converged=converged,
        parts=objective.parts(state.F, solution.roughness),
        residual=solution.residual,
        error_bound=solution.error_bound,
        n_products=solution.n_products,
        kernel=solution.kernel,
        validation=validate(problem, state),
    )


def solve_from_start(objective: Objective, state: State, solver: Solver) -> Solution:
    """The solver's F from state.start; the former F is released first, since the new one takes as much memory."""
    state.F = state.start
    release_free_memory(state.F.nbytes)
    state.last_start = None if solver.converges else state.start
    solution = solver.solve(objective, state.start)
    state.last_steps = solution.steps
    state.shortfall = "" if solution.converged else f" F: {solution.reason}"
    return solution


def train_encoder(
    problem: Problem, state: State, pseudo_labels: PseudoLabels, schedule: Schedule, reading: Readout
) -> Training:
    """n_epochs on the labelled nodes and on pseudo labels; P, and where the next update of F starts."""
    L = np.flatnonzero(problem.labelled)
    seed = schedule.seed + state.n_done
    nodes, weights = pseudo_labels.choose(reading, problem.labelled, seed, problem.order)
    targets = training_targets(problem, state, pseudo_labels, reading, nodes)
    weights = np.concatenate([problem.weights_of_labels(), weights])
    # P and the last start are released during training; not an empty slice, which would keep all of P
    state.last_start = state.last_steps = None
    state.P = np.empty((0, targets.shape[1]), dtype=state.P.dtype)
    release_free_memory(state.F.nbytes)
    loss = state.learner.train(problem.rows[np.concatenate([L, nodes])], targets, weights, schedule.n_epochs)
    state.P = np.ascontiguousarray(state.learner.predict(problem.rows), dtype=problem.dtype)
    state.start = pseudo_labels.next_start(state.F)
    return Training(loss, len(nodes))


def training_targets(
    problem: Problem, state: State, pseudo_labels: PseudoLabels, reading: Readout, nodes: Array
) -> Array:
    """Target distributions of the labelled nodes, then of the pseudo-labelled `nodes`."""
    L = np.flatnonzero(problem.labelled)
    of_labelled, of_pseudo = (
        pseudo_labels.soften(F if reading.factors is None else F * reading.factors)
        for F in (state.F[L], state.F[nodes])
    )
    targets = allocate((len(L) + len(nodes), of_labelled.shape[1]), of_labelled.dtype)
    return np.concatenate([pseudo_labels.labelled_targets(of_labelled, problem.Y), of_pseudo], out=targets)


def validate(problem: Problem, state: State) -> float | None:
    """Accuracy on the validation labels, and the best F by it; nothing else depends on these labels."""
    if problem.validation is None:
        return None
    nodes, classes = problem.validation
    predicted = state.F.argmax(axis=1)
    counts = np.bincount(predicted, minlength=state.F.shape[1])
    weights = validation_weights(classes, predicted[nodes], counts, problem.defaults)
    accuracy = float(np.average(predicted[nodes] == classes, weights=weights))
    if state.best is None or accuracy > state.best.accuracy:
        learner = deepcopy(state.learner)
        state.best = Best(
            state.n_done, accuracy, state.F, state.P, learner, state.last_start, state.last_steps
        )
    return accuracy


def record(n_done: int, update: Update, training: Training, seconds: float) -> Round:
    """The entry of the trace."""
    return Round(
        round=n_done,
        objective=sum(update.parts.values()),
        features=update.parts.get("features", 0.0),
        graph=update.parts.get("graph", 0.0),
        labels=update.parts.get("labels", 0.0),
        residual=update.residual,
        error_bound=update.error_bound,
        n_products=update.n_products,
        kernel=update.kernel,
        changed=update.changed,
        n_selected=training.n_selected,
        loss=training.loss,
        validation=update.validation,
        seconds=seconds,
    )


def conclude(state: State, schedule: Schedule) -> Outcome:
    """The round to keep, and the reason of the end in words."""
    reason = why_it_ended(state.n_done, state.trace[-1].changed, schedule)
    best = state.best
    if best is None:
        reason += f".{state.shortfall}"
        return Outcome(
            state.F, state.P, state.learner, state.trace, reason, state.last_start, state.last_steps
        )
    reason += f". Kept round {best.round}, the best on the validation labels ({best.accuracy:.2%}).{state.shortfall}"
    return Outcome(best.F, best.P, best.learner, state.trace, reason, best.start, best.steps)


def why_it_ended(n_done: int, changed: float, schedule: Schedule) -> str:
    """The reason of the end in words, without a full stop."""
    if not schedule.n_rounds:
        return "The encoder learned from the given labels alone: n_rounds=0"
    if schedule.converged(n_done, changed):
        return f"Stopped after {n_done} rounds: {changed:.2%} of the nodes changed their label"
    if changed > 0.01:
        return (
            f"Reached n_rounds={schedule.n_rounds} while {changed:.2%} of the nodes still changed their label. "
            "Raise n_rounds to go on"
        )
    return f"Reached n_rounds={schedule.n_rounds}; {changed:.2%} of the nodes changed their label in the last one"


def as_dicts(trace: list[Round]) -> list[dict[str, Any]]:
    """The trace as plain records, for JSON and tables."""
    return [asdict(entry) for entry in trace]


def loop_bytes(n_nodes: int, n_classes: int) -> float:
    """Bytes of the loop on n_nodes x n_classes: F, P, and three padded blocks of the solver."""
    itemsize = working_dtype(n_nodes, n_classes).itemsize
    return float(n_nodes * itemsize * (3 * padded(n_classes) + 2 * n_classes))
