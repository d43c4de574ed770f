"""One new label taken in and one prediction explained, beside a full solve: time, nodes touched, memory."""

import time
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt.fitted.push import TOLERANCE_ON_LARGE_GRAPHS as TOLERANCE
from altopt_lab.bench import graphs
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.report import Report, ResultTable
from altopt_lab.bench.timing import Log

REPEATS = 300  # labels taken in, one after another
EXPLAINED = 100
SOLVES = 5
# the graph that "a new label in at most 2 % of a full solve" is asked of
OTHER: dict[str, Any] = {
    "name": "update",
    "n_nodes": 200_000,
    "n_edges": 800_000,
    "n_classes": 10,
    "n_features": 32,
    "per_class": None,
}
COLUMNS = (
    "times",
    "nodes",
    "edges",
    "who",
    "best",
    "median",
    "p99",
    "ratio",
    "touched",
    "changed",
    "memory_mb",
    "error",
)


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("update", case.size.name, case.size.facts(), repeats or REPEATS)
    cases = {case.size.name: case}
    if case.size.name == "arxiv":
        other = replace(case.size, **OTHER)
        cases["200k"] = graphs.load(other, log)
        cases["4x"] = graphs.load(graphs.grown(case.size, 4), log)
    rows: list[dict[str, Any]] = []
    for name, one in cases.items():
        found = on_case(one, report.repeats, log)
        rows += [{"times": name, **row} for row in found]
    title = (
        f"a label that is new, residual at most {TOLERANCE:g} sqrt(degree) everywhere; ratio: median / a full solve; "
        "touched, changed: nodes looked at, rows of F that moved, at most in 99 of 100; memory: of a call, at most; "
        "error: what a ledger's shares lack of its row of F"
    )
    report.tables.append(ResultTable(title, COLUMNS, rows))
    of = {(row["times"], row["who"]): row for row in rows}
    own = of[case.size.name, "update, one label"]
    report.measure(
        p99_ms=1e3 * own["p99"],
        ratio=own["ratio"],
        explain_p99_ms=1e3 * of[case.size.name, "explain, one node"]["p99"],
        ledger=of[case.size.name, "explain, one node"]["error"],
    )
    if "200k" in cases:
        large, grown = of["200k", "update, one label"], of["4x", "update, one label"]
        report.measure(
            ratio_200k=large["ratio"],
            touched_200k=large["touched"] / 200_000,
            changed_200k=large["changed"] / 200_000,
            memory_4x=grown["memory_mb"] / own["memory_mb"],
        )
    return report


def on_case(case: Case, repeats: int, log: Log) -> list[dict[str, Any]]:
    """Rows for a full solve, updates and explanations on one graph."""
    log(f"fitting {case.size.n_nodes:,} nodes")
    y, graph = case.known(), Graph(case.adjacency())
    model = AltOpt(random_state=SEED, n_rounds=1, n_warmup=10, n_epochs=10, cross_fit=False).fit(
        case.X, y, graph=graph
    )
    basics = {"nodes": case.size.n_nodes, "edges": case.size.n_edges}
    log("full solves")
    solved = full_solves(model)
    log("explanations")
    free = np.random.default_rng(SEED).permutation(np.flatnonzero(y < 0))
    model.explain(int(free[-1]))  # sets up what later calls share
    asked, reached, taken, off = [], [], [], [0.0]
    for node in free[-EXPLAINED - 1 : -1].tolist():
        began = time.perf_counter()
        explanation = model.explain(node)
        asked.append(time.perf_counter() - began)
        reached.append(explanation.parts.n_reached)
        off.append(float(np.abs(explanation.remainder).max() / explanation.total))
    for node in free[-10:].tolist():
        taken.append(memory_of(model, lambda node=node: model.explain(node)))
    log(f"{repeats} labels, one after another")
    model.update({int(free[-1]): int(case.y[free[-1]])}, tolerance=TOLERANCE)  # measures what the fit left
    walls, touched, changed, memory = [], [], [], []
    for node in free[:repeats].tolist():
        began = time.perf_counter()
        change = model.update({node: int(case.y[node])}, tolerance=TOLERANCE)
        walls.append(time.perf_counter() - began)
        touched.append(change.n_touched)
        changed.append(change.n_changed)
    for node in free[repeats : repeats + 20].tolist():
        memory.append(
            memory_of(model, lambda node=node: model.update({node: int(case.y[node])}, tolerance=TOLERANCE))
        )
    base = float(np.median(solved))
    return [
        basics | {"who": "full solve", **times(solved, base)},
        basics
        | {
            "who": "update, one label",
            **times(walls, base),
            "touched": most(touched),
            "changed": most(changed),
        }
        | {"memory_mb": max(memory) / 1e6},
        basics
        | {"who": "explain, one node", **times(asked, base), "touched": most(reached)}
        | {"memory_mb": max(taken) / 1e6, "error": max(off)},
    ]


def full_solves(model: AltOpt) -> list[float]:
    """Seconds of F solved from scratch to the fit's own tolerance, the layout of the graph given."""
    objective = model.fitted_.objective()
    start, walls = np.zeros_like(model.scores_), []
    for _ in range(SOLVES + 1):
        began = time.perf_counter()
        model.fitted_.solver.solve(objective, start)
        walls.append(time.perf_counter() - began)
    return walls[1:]


def memory_of(model: AltOpt, job: Any) -> float:
    """The most bytes that a call holds beside the model: Python's and the kernel's own."""
    from altopt.operator.kernels import push

    made: list[Any] = []
    original = push.NativePush.__init__

    def noted(self: Any, width: int) -> None:
        original(self, width)
        made.append(self)

    model.fitted_.system()
    push.NativePush.__init__ = noted  # type: ignore[method-assign]
    tracemalloc.start()
    try:
        job()
        return float(tracemalloc.get_traced_memory()[1] + sum(one.nbytes for one in made))
    finally:
        tracemalloc.stop()
        push.NativePush.__init__ = original  # type: ignore[method-assign]


def times(walls: list[float], base: float) -> dict[str, Any]:
    middle = float(np.median(walls))
    return {
        "best": min(walls),
        "median": middle,
        "p99": float(np.quantile(walls, 0.99)),
        "ratio": middle / base,
    }


def most(counts: list[int]) -> int:
    return int(np.quantile(np.array(counts), 0.99))
