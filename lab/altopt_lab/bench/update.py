"""An update by one label and one explanation beside a full solve: time, nodes touched, memory."""

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt.fitted.push import TOLERANCE_ON_LARGE_GRAPHS as TOLERANCE
from altopt.operator.kernels.push import observed_pushes
from altopt_lab.bench import graphs
from altopt_lab.bench.dense import update_by_a_label
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.report import Report, ResultTable
from altopt_lab.bench.timing import Log

REPEATS = 300  # updates by one label, one after another
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
    for name, graph_case in cases.items():
        rows += [{"times": name, **row} for row in on_case(graph_case, report.repeats, log)]
    title = (
        f"a label that is new, residual at most {TOLERANCE:g} sqrt(degree) everywhere; ratio: median / a full solve; "
        "touched, changed: nodes looked at, rows of F that moved, 99th percentile; memory: of a call, at most; "
        "error: what an explanation's shares lack of its row of F"
    )
    report.tables.append(ResultTable(title, COLUMNS, rows))
    by_name = {(row["times"], row["who"]): row for row in rows}
    own = by_name[case.size.name, "update, one label"]
    report.measure(
        p99_ms=1e3 * own["p99"],
        ratio=own["ratio"],
        explain_p99_ms=1e3 * by_name[case.size.name, "explain, one node"]["p99"],
        ledger=by_name[case.size.name, "explain, one node"]["error"],
    )
    if case.size.name == "cora":
        update_by_a_label(report, log)
    if "200k" in cases:
        large, grown = (by_name[name, "update, one label"] for name in ("200k", "4x"))
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
    y = case.known()
    model = AltOpt(random_state=SEED, n_rounds=1, n_warmup=10, n_epochs=10, cross_fit=False)
    model.fit(case.X, y, graph=Graph(case.adjacency()))
    unlabelled = np.random.default_rng(SEED).permutation(np.flatnonzero(y < 0)).tolist()
    log("full solves")
    solves = full_solves(model)
    base = float(np.median(solves))
    log("explanations")
    explanations = explain_nodes(model, unlabelled[-EXPLAINED - 1 :])
    log(f"{repeats} labels, one after another")
    updates = update_labels(model, case.y, unlabelled, repeats)
    sizes = {"nodes": case.size.n_nodes, "edges": case.size.n_edges}
    return [
        sizes | {"who": "full solve", **times(solves, base)},
        sizes | {"who": "update, one label", **times(updates.pop("walls"), base), **updates},
        sizes | {"who": "explain, one node", **times(explanations.pop("walls"), base), **explanations},
    ]


def explain_nodes(model: AltOpt, nodes: list[int]) -> dict[str, Any]:
    """Time, reach, memory and error of explanations; the last node's sets up what later calls share."""
    *nodes, first = nodes
    model.explain(first)
    walls, reached, errors = [], [], [0.0]
    for node in nodes:
        began = time.perf_counter()
        explanation = model.explain(node)
        walls.append(time.perf_counter() - began)
        reached.append(explanation.parts.n_reached)
        errors.append(float(np.abs(explanation.remainder).max() / explanation.total))
    memory = max(memory_of(model, partial(model.explain, node)) for node in [*nodes[-9:], first])
    return {"walls": walls, "touched": quantile_99(reached), "memory_mb": memory / 1e6, "error": max(errors)}


def update_labels(model: AltOpt, y: Array, unlabelled: list[int], repeats: int) -> dict[str, Any]:
    """Time, reach and memory of updates by one label; the first one measures the residual of the fit."""

    def update(node: int) -> Any:
        return model.update({node: int(y[node])}, tolerance=TOLERANCE)

    update(unlabelled[-1])
    walls, touched, changed = [], [], []
    for node in unlabelled[:repeats]:
        began = time.perf_counter()
        change = update(node)
        walls.append(time.perf_counter() - began)
        touched.append(change.n_touched)
        changed.append(change.n_changed)
    memory = max(memory_of(model, partial(update, node)) for node in unlabelled[repeats : repeats + 20])
    return {
        "walls": walls,
        "touched": quantile_99(touched),
        "changed": quantile_99(changed),
        "memory_mb": memory / 1e6,
    }


def full_solves(model: AltOpt) -> list[float]:
    """Seconds of F solved from scratch to the fit's own tolerance, the layout of the graph given."""
    objective = model.fitted_.objective()
    start, walls = np.zeros_like(model.scores_), []
    for _ in range(SOLVES + 1):
        began = time.perf_counter()
        model.fitted_.solver.solve(objective, start)
        walls.append(time.perf_counter() - began)
    return walls[1:]


def memory_of(model: AltOpt, job: Callable[[], object]) -> float:
    """Peak bytes of a call beside the model: Python's and the kernel's own."""
    model.fitted_.system()  # made once, before the call
    tracemalloc.start()
    try:
        with observed_pushes() as pushes:
            job()
            return float(tracemalloc.get_traced_memory()[1] + sum(push.nbytes for push in pushes))
    finally:
        tracemalloc.stop()


def times(walls: list[float], base: float) -> dict[str, Any]:
    median, p99 = float(np.median(walls)), float(np.quantile(walls, 0.99))
    return {"best": min(walls), "median": median, "p99": p99, "ratio": median / base}


def quantile_99(counts: list[int]) -> int:
    return int(np.quantile(np.array(counts), 0.99))
