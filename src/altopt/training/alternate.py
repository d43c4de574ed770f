"""The loop: update F, train the encoder on it, again, until a stated reason to stop."""

import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from altopt.arrays import Array, allocate, certainty
from altopt.encoders.encoder import Learner
from altopt.operator.kernels.dispatch import release_free_memory
from altopt.selection.leave_one_out import class_weights
from altopt.solvers.solver import Solution, Solver
from altopt.training.class_priors import sizes_behind
from altopt.training.pseudo_labels import PseudoLabels, Reading
from altopt.views import Objective


@dataclass(frozen=True)
class Problem:
    """What the loop works on, checked and laid out row by row."""

    rows: Any  # the encoder's inputs, one row per node
    Y: Array  # one-hot rows, one for each labelled node
    labelled: Array  # bool, one per node
    dtype: Any  # of F and P
    objective: Callable[[Array, Array], Objective]  # from P and confidence weights w to the views' sum
    weighs: bool = False  # whether the objective looks at w
    validation: tuple[Array, Array] | None = None  # nodes and class numbers; only to pick the best round


@dataclass(frozen=True)
class Solvers:
    """Who updates F: in the rounds, where a rough F will do, and at the end."""

    rounds: Solver
    last: Solver
    fixed_steps: bool = False  # whether F depends on where its update started


@dataclass(frozen=True)
class Schedule:
    """How long the encoder trains, and how often F is updated in between."""

    n_warmup: int
    n_rounds: int
    n_epochs: int
    seed: int
    settled: float | None = None  # stop when at most this share of nodes changed label; None: never early


@dataclass(frozen=True)
class Round:
    """What one update of F, and the training after it, left on record."""

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
    n_selected: int
    loss: float  # of the encoder, after this round's training; NaN where none followed
    validation: float | None  # accuracy on the validation labels, where there are any
    seconds: float


@dataclass(frozen=True)
class Best:
    """The round that did best on the validation labels so far."""

    round: int
    accuracy: float
    F: Array
    P: Array
    learner: Learner  # as it was when it gave P
    began: Array | None = None  # where its update of F started, where F depends on that


@dataclass
class State:
    """All that a round hands to the next: stored, it lets a broken-off fit go on."""

    n_done: int
    F: Array
    P: Array
    w: Array
    start: Array  # where the next update of F starts
    label: Array  # the class of each row of F
    learner: Learner
    trace: list[Round] = field(default_factory=list)
    best: Best | None = None
    began: Array | None = None
    sizes: Array | None = None  # of the classes, where pseudo labels keep to them


@dataclass(frozen=True)
class Outcome:
    """The fitted F, P and encoder, the way there, and why it ended."""

    F: Array
    P: Array
    learner: Learner
    trace: list[Round]
    reason: str
    began: Array | None = None  # where the last update of F started, where F depends on that


def alternate(
    problem: Problem,
    state: State,
    solvers: Solvers,
    pseudo_labels: PseudoLabels,
    schedule: Schedule,
    on_round: Callable[[State], None] = lambda state: None,
) -> Outcome:
    """n_rounds times (update F, train the encoder), and one last update of F.

    `state` is a fresh `warm_up`, or what a former run's `on_round` was last given: then it goes on from there
    and ends with the same bits.
    """
    reason = f"Reached n_rounds={schedule.n_rounds}"
    while True:
        began = time.perf_counter()
        last = state.n_done == schedule.n_rounds
        objective = problem.objective(state.P, state.w)
        state.F = state.start  # what is not needed any more makes room: here the former F, P before training
        release_free_memory()
        state.began = state.start if solvers.fixed_steps else None
        solution = (solvers.last if last else solvers.rounds).solve(objective, state.start)
        reading = pseudo_labels.read(solution.F, state.sizes)
        state.sizes = reading.sizes
        changed = float(np.mean(reading.label != state.label))
        settled = schedule.settled is not None and state.n_done > 0 and changed <= schedule.settled
        if settled and not last and solvers.last is not solvers.rounds:
            state.F = state.start = solution.F
            solution = solvers.last.solve(objective, state.start)
        finished = settled or last
        state.F, state.w, state.label = solution.F, reading.w, reading.label
        state.start = state.F
        accuracy = validate(problem, state)
        loss, n_selected = float("nan"), 0
        parts = objective.parts(state.F, solution.roughness)
        del objective
        if not finished:
            state.began = None  # the next update starts elsewhere; the best so far keeps its own
            loss, n_selected = train(problem, state, pseudo_labels, schedule, reading)
            state.start = pseudo_labels.carry(state.F)
        seconds = time.perf_counter() - began
        state.trace.append(record(state, solution, parts, changed, n_selected, loss, accuracy, seconds))
        if finished:
            if settled:
                reason = (
                    f"Stopped after {state.n_done} rounds: {changed:.2%} of the nodes changed their label"
                )
            break
        del solution, reading  # and with it an F that the next round replaces
        state.n_done += 1
        on_round(state)
    return conclude(state, reason, settled)


def warm_up(problem: Problem, learner: Learner, schedule: Schedule) -> State:
    """The encoder trained on the given labels alone, and F = Y."""
    L = np.flatnonzero(problem.labelled)
    learner.train(problem.rows[L], problem.Y, np.ones(len(L)), schedule.n_warmup)
    P = learner.predict(problem.rows).astype(problem.dtype, copy=False)
    F = allocate(P.shape, problem.dtype)
    F[:] = 0.0
    F[L] = problem.Y
    w = certainty(P) if problem.weighs else np.ones(len(P))
    return State(0, F, P, w, F, F.argmax(axis=1).astype(np.int32), learner)


def train(
    problem: Problem, state: State, pseudo_labels: PseudoLabels, schedule: Schedule, reading: Reading
) -> tuple[float, int]:
    """n_epochs on labelled nodes (weight 1) and the chosen unlabelled ones; the loss and how many were chosen."""
    L = np.flatnonzero(problem.labelled)
    nodes, weights = pseudo_labels.choose(reading, problem.labelled, schedule.seed + state.n_done)
    known, guessed = (
        pseudo_labels.soften(F if reading.factors is None else F * reading.factors)
        for F in (state.F[L], state.F[nodes])
    )
    targets = allocate((len(L) + len(nodes), known.shape[1]), known.dtype)
    np.concatenate([pseudo_labels.labelled_targets(known, problem.Y), guessed], out=targets)
    weights = np.concatenate([np.ones(len(L)), weights])
    del known, guessed
    # not an empty slice, which would hold on to all of P
    state.P = np.empty((0, targets.shape[1]), dtype=state.P.dtype)
    release_free_memory()
    loss = state.learner.train(problem.rows[np.concatenate([L, nodes])], targets, weights, schedule.n_epochs)
    state.P = state.learner.predict(problem.rows).astype(problem.dtype, copy=False)
    return loss, len(nodes)


def validate(problem: Problem, state: State) -> float | None:
    """With validation labels, remember the best F so far. Nothing else ever sees them."""
    if problem.validation is None:
        return None
    nodes, classes = problem.validation
    said = state.F.argmax(axis=1)
    counts = counts_of(classes, said[nodes], np.bincount(said, minlength=state.F.shape[1]))
    accuracy = float(np.average(said[nodes] == classes, weights=counts))
    if state.best is None or accuracy > state.best.accuracy:
        state.best = Best(state.n_done, accuracy, state.F, state.P, deepcopy(state.learner), state.began)
    return accuracy


def counts_of(classes: Array, said: Array, told: Array) -> Array | None:
    """How much each validation node counts: where there are as many of every class they were drawn by class, and
    classes count by their size, which is estimated from what is said of them and told of all nodes."""
    there = np.bincount(classes, minlength=len(told))
    return class_weights(classes, sizes_behind(classes, said, told)) if there.min() == there.max() else None


def record(
    state: State,
    solution: Solution,
    parts: dict[str, float],
    changed: float,
    n_selected: int,
    loss: float,
    validation: float | None,
    seconds: float,
) -> Round:
    """What goes into the trace."""
    return Round(
        round=state.n_done,
        objective=sum(parts.values()),
        features=parts.get("features", 0.0),
        graph=parts.get("graph", 0.0),
        labels=parts.get("labels", 0.0),
        residual=solution.residual,
        error_bound=solution.error_bound,
        n_products=solution.n_products,
        kernel=solution.kernel,
        changed=changed,
        n_selected=n_selected,
        loss=loss,
        validation=validation,
        seconds=seconds,
    )


def conclude(state: State, reason: str, settled: bool) -> Outcome:
    """Pick the round to keep and word the end."""
    if not settled:
        last = state.trace[-1].changed
        moving = f" while {last:.2%} of the nodes still changed their label. Raise n_rounds to go on"
        reason += moving if last > 0.01 else f"; {last:.2%} of the nodes changed their label in the last one"
    best = state.best
    if best is None:
        return Outcome(state.F, state.P, state.learner, state.trace, reason + ".", state.began)
    reason += f". Kept round {best.round}, the best on the validation labels ({best.accuracy:.2%})."
    return Outcome(best.F, best.P, best.learner, state.trace, reason, best.began)


def as_dicts(trace: list[Round]) -> list[dict[str, Any]]:
    """The trace as plain records, for JSON and tables."""
    return [asdict(entry) for entry in trace]
