"""Time to solve for F to a relative error of 1e-3: our solvers, the paper's step, and other libraries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, one_hot, row_blocks, softmax
from altopt.solvers import ChebyshevSteps, ConjugateGradient, GradientSteps, JacobiSteps, Solver
from altopt.views import FeatureView, GraphView, LabelView, Objective
from altopt_lab.bench import machine, optional
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.propagate import edge_index, torch_csr
from altopt_lab.bench.report import TIMES, Report, times_table
from altopt_lab.bench.timing import Contestant, Log, Timing, Unavailable, best_of, race, ratio

WEIGHTS = ((0.5, 5.0), (0.1, 1.0))  # lambda1, lambda2: the paper's, and weaker ones
TARGET, TRUTH = 1e-3, 1e-8
REPEATS, CAP = 5, 60.0
TORCH = "paper's step, torch CSR"
PAPER, JACOBI, CHEBYSHEV = "GradientSteps (the paper's)", "JacobiSteps", "ChebyshevSteps"
CG, CERTIFIED = "ConjugateGradient, stopped there", "ConjugateGradient(rtol=1e-3), certified"
MAX_STEPS, STRETCH = 5000, 12
HALF_STEPS = 15  # of Jacobi's, in float16 storage and in float64


@dataclass(frozen=True)
class Task:
    """A system H F = rhs and its solution."""

    case: Case
    lambda1: float
    lambda2: float
    P: Array
    Y: Array
    labelled: Array
    truth: Array

    @property
    def objective(self) -> Objective:
        graph = GraphView(self.case.operator)
        return Objective(
            (
                FeatureView(self.P, self.lambda1),
                graph,
                LabelView(self.Y[self.labelled], self.labelled, self.lambda2),
            )
        )


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("solve", case.size.name, case.size.facts(), repeats or REPEATS)
    report.not_installed = optional.missing(optional.GEOMETRIC, optional.NETWORK)
    speedups, streams = [], []
    # products takes minutes a solve: the paper's own weights only
    for lambda1, lambda2 in WEIGHTS[:1] if case.size.name == "products" else WEIGHTS:
        task = make(case, lambda1, lambda2, log)
        with machine.same_threads(case.numbers):
            solvers = our_solvers(task, log)
            steps = next(solver.facts["steps"] for solver in solvers if solver.who == PAPER)
            contestants = [machine.triad(), *solvers, *plain_steps(task, steps)]
            timings = race(contestants, report.repeats, CAP, log)
        title = (
            f"F to relative error {TARGET:g}, lambda1 {lambda1}, lambda2 {lambda2}, best of {report.repeats}"
        )
        columns = (*TIMES[:5], "steps", "error", *TIMES[5:])
        report.tables.append(times_table(title, timings, ours_best(timings), columns))
        speedups.append(ratio(best_of(timings, TORCH), best_of(timings, ours_best(timings))))
        streams.append(machine.bandwidth(timings))
        if lambda1 == WEIGHTS[0][0]:
            report.measure(same_argmax=same_argmax(task, log))
    if case.size.name != "products":  # where a task of the others takes many minutes
        with machine.same_threads(case.numbers):
            timings = race(whole_tasks(case), min(3, report.repeats), CAP, log)
        title = (
            "whole tasks of other libraries on the same graph and labels, each with its own system and stop"
        )
        report.tables.append(times_table(title, timings, "altopt ConjugateGradient(rtol=1e-3)"))
    measured = [speedup for speedup in speedups if speedup is not None]
    report.measure(F=min(measured, default=None), stream_gb_s=max(streams))
    report.notes += [
        f"STREAM triad in this run: {max(streams):.1f} GB/s.",
        f"The error is the true one, against ConjugateGradient(rtol={TRUTH:g}) in float64. Steps were counted before "
        "the clock ran; the paper's step takes the same number wherever it is computed. Start: F = Y.",
        "Ratios and the goal are against the fastest of our solvers in the same run.",
        "A peer whose whole solve would pass the time limit made fewer steps, scaled up; its row says so.",
    ]
    return report


def make(case: Case, lambda1: float, lambda2: float, log: Log) -> Task:
    """A system with an encoder's output that is right more often than not, and its solution."""
    log(f"solving to {TRUTH:g}: lambda1 {lambda1}, lambda2 {lambda2}")
    n, c = case.size.n_nodes, case.size.n_classes
    known = case.known()
    Y = one_hot(known, c, np.float32)
    logits = np.random.default_rng(SEED).standard_normal((n, c), dtype=np.float32)
    logits[np.arange(n), case.y] += 2.0
    P = softmax(logits).astype(Y.dtype)
    task = Task(case, lambda1, lambda2, P, Y, known >= 0, Y)
    solution = ConjugateGradient(rtol=TRUTH).solve(task.objective, Y.astype(np.float64))
    if not solution.converged:
        raise Unavailable(f"no solution to {TRUTH:g}: {solution.reason}")
    return Task(case, lambda1, lambda2, P, Y, known >= 0, solution.F)


def error(task: Task, F: Array) -> float:
    """||F - F*|| / ||F*||, a block of rows at a time."""
    blocks = row_blocks(len(F))
    off = sum(float(np.sum((F[b].astype(np.float64) - task.truth[b]) ** 2)) for b in blocks)
    return float(np.sqrt(off / sum(float(np.sum(task.truth[b].astype(np.float64) ** 2)) for b in blocks)))


def fewest(enough: Callable[[int], bool]) -> int:
    """The least number of steps that is enough, by doubling and halving."""
    high = 1
    while not enough(high):
        high *= 2
        if high > MAX_STEPS:
            raise Unavailable(f"not within {MAX_STEPS:,} steps")
    low = high // 2  # known to be too few
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def is_enough(task: Task, form: Callable[[int], Solver], k: int) -> bool:
    return error(task, form(k).solve(task.objective, task.Y).F) <= TARGET


def fewest_in_a_row(task: Task, form: Callable[[int], Solver]) -> int:
    """The same for a step that remembers nothing: a stretch after another, and the last one step by step."""
    F, taken, stretch = task.Y, 0, STRETCH
    while taken < MAX_STEPS:
        ahead = form(stretch).solve(task.objective, F).F
        if error(task, ahead) > TARGET:
            F, taken = ahead, taken + stretch
        elif stretch == 1:
            return taken + 1
        else:
            stretch = 1
    raise Unavailable(f"not within {MAX_STEPS:,} steps")


def our_solvers(task: Task, log: Log) -> list[Contestant]:
    """Each with the least number of steps that leads to the target."""
    forms: dict[str, Callable[[int], Solver]] = {
        CHEBYSHEV: lambda k: ChebyshevSteps(n_steps=k),
        CG: lambda k: ConjugateGradient(rtol=1e-300, max_steps=k),
    }
    counted: dict[str, tuple[Solver, int]] = {}
    for who, form in forms.items():
        log(f"counting steps of {who}")
        k = fewest(partial(is_enough, task, form))
        counted[who] = (form(k), k)
    steady: dict[str, Callable[[int], Solver]] = {
        JACOBI: lambda k: JacobiSteps(n_steps=k),
        PAPER: lambda k: GradientSteps(n_steps=k),
    }
    for who, form in steady.items():
        log(f"counting steps of {who}")
        k = fewest_in_a_row(task, form)
        counted[who] = (form(k), k)
    counted["ChebyshevSteps(rtol=1e-3), certified"] = (ChebyshevSteps(rtol=TARGET), 0)
    counted[CERTIFIED] = (ConjugateGradient(rtol=TARGET), 0)

    def contestant(who: str, solver: Solver, k: int) -> Contestant:
        facts: dict[str, Any] = {"steps": k or None}

        def prepare() -> Callable[[], object]:
            objective = task.objective

            def solve() -> None:
                solution = solver.solve(objective, task.Y)
                if "error" not in facts:  # the run that warms up
                    facts["error"] = error(task, solution.F)
                    facts["steps"] = facts["steps"] or solution.n_products

            return solve

        return Contestant(who, prepare, "ours", facts=facts)

    return [contestant(who, solver, k) for who, (solver, k) in counted.items()]


def ours_best(timings: list[Timing]) -> str:
    """The fastest of our solvers, which the others are set against."""
    ours = [timing for timing in timings if timing.kind == "ours" and timing.best is not None]
    return min(ours, key=lambda timing: timing.best or 0.0).who


def plain_steps(task: Task, steps: int) -> list[Contestant]:
    """F <- (A_tilde F + lambda1 P + lambda2 (Y where labelled, else F)) / (lambda1 + lambda2 + 1), as one writes it."""
    import torch

    case, n = task.case, task.case.size.n_nodes
    divisor = task.lambda1 + task.lambda2 + 1.0
    P, Y = (block.astype(np.float32) for block in (task.P, task.Y))
    M = task.labelled[:, None].astype(np.float32)

    def in_torch() -> Any:
        A, p, y, m = torch_csr(case), torch.from_numpy(P), torch.from_numpy(Y), torch.from_numpy(M)
        constant = (task.lambda1 * p + task.lambda2 * m * y) / divisor
        own = task.lambda2 * (1 - m) / divisor
        return lambda F: (A @ F) / divisor + own * F + constant, y

    def in_scipy() -> Any:
        A = sp.csr_array((case.values, case.indices, case.indptr), shape=(n, n))
        constant = (task.lambda1 * P + task.lambda2 * M * Y) / np.float32(divisor)
        own = np.float32(task.lambda2) * (1 - M) / np.float32(divisor)
        return lambda F: (A @ F) / np.float32(divisor) + own * F + constant, Y

    def contestant(who: str, make_step: Callable[[], Any], seconds: float) -> Contestant:
        # one step of a peer is a fixed cost: where all of them would take too long, some do
        taken = max(1, min(steps, int(CAP / 3 / max(seconds, 1e-9))))
        facts: dict[str, Any] = {"steps": steps}

        def prepare() -> Callable[[], object]:
            step, start = make_step()

            def solve() -> None:
                F = start
                for _ in range(taken):
                    F = step(F)
                if "error" not in facts and taken == steps:  # the run that warms up
                    facts["error"] = error(task, np.asarray(F))

            return solve

        note = "" if taken == steps else f"scaled up from {taken} of {steps} steps"
        return Contestant(who, prepare, share=taken / steps, note=note, facts=facts)

    guesses = {TORCH: (in_torch, 2.0e-9), "paper's step, scipy": (in_scipy, 4.0e-9)}
    numbers = case.nnz * case.size.n_classes
    return [contestant(who, step, guess * numbers) for who, (step, guess) in guesses.items()]


def same_argmax(task: Task, log: Log) -> float:
    """The share of nodes that get the same class from Jacobi's steps in float16 storage and in float64."""
    log("argmax of F in float16 storage")
    divisor = 1.0 + task.lambda1 + task.lambda2 * task.labelled
    constant = (task.lambda1 * task.P + task.lambda2 * task.Y * task.labelled[:, None]) / divisor[:, None]
    classes = []
    for dtype in ("float64", "float16"):
        on = task.case.operator.backend(task.Y.shape[1], dtype)
        G, out, rest = on.to_layout(task.Y), on.empty(), on.to_layout(constant)
        scale, diagonal = on.vector(1.0 / divisor), on.vector(0.0)
        for _ in range(HALF_STEPS):
            on.step(G, out, scale, diagonal, rest)
            G, out = out, G
        classes.append(on.from_layout(G, np.empty_like(task.Y)).argmax(axis=1))
    return float(np.mean(classes[0] == classes[1]))


def whole_tasks(case: Case) -> list[Contestant]:
    """Label propagation as other libraries do it, from the graph and the labels to a class for every node."""
    known = case.known()
    n, c = case.size.n_nodes, case.size.n_classes

    def altopt() -> Callable[[], object]:
        Y = one_hot(known, c, np.float32)
        objective = Objective(
            (
                FeatureView(np.full_like(Y, 1 / c), 0.1),
                GraphView(case.operator),
                LabelView(Y[known >= 0], known >= 0, 1.0),
            )
        )
        return lambda: ConjugateGradient(rtol=TARGET).solve(objective, Y).F.argmax(axis=1)

    def label_spreading() -> Callable[[], object]:
        from sklearn.semi_supervised import LabelSpreading

        A, X = case.adjacency(), np.zeros((n, 1))
        return lambda: LabelSpreading(kernel=lambda X, other: A, alpha=0.9).fit(X, known)

    def network(name: str) -> Callable[[], object]:
        from sknetwork import classification

        A = sp.csr_matrix(case.adjacency().astype(bool))
        return lambda: getattr(classification, name)().fit_predict(A, known)

    def label_propagation() -> Callable[[], object]:
        import torch
        from torch_geometric.nn import LabelPropagation

        A, weights = edge_index(case)
        y, mask = torch.from_numpy(np.maximum(known, 0).astype(np.int64)), torch.from_numpy(known >= 0)
        return lambda: LabelPropagation(num_layers=50, alpha=0.9)(y, A, mask, weights)

    contestants = [
        Contestant("altopt ConjugateGradient(rtol=1e-3)", altopt, "ours"),
        # it keeps a few n x c blocks and A in float64, and makes up to 30 steps on one thread
        Contestant("scikit-learn LabelSpreading", label_spreading, note="30 steps at most, one thread"),
    ]
    if optional.find(optional.NETWORK):
        contestants += [
            Contestant("scikit-network DiffusionClassifier", lambda: network("DiffusionClassifier")),
            Contestant("scikit-network PageRankClassifier", lambda: network("PageRankClassifier")),
        ]
    if optional.find(optional.GEOMETRIC):
        messages = case.nnz * c * 4 / 1e9
        contestants.append(
            Contestant("PyG LabelPropagation, edge_index, 50 layers", label_propagation, needs_gb=messages)
        )
    return contestants
