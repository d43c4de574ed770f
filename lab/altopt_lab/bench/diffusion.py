"""Time of diffuse(graph, F) as a user calls it, on a Graph that was diffused on before, beside products in a loop."""

from collections.abc import Callable
from functools import partial

import numpy as np

from altopt import Graph, diffuse
from altopt.arrays import Array
from altopt_lab.bench import machine, optional
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.propagate import PRODUCTS, products
from altopt_lab.bench.report import Report, times_table
from altopt_lab.bench.timing import Contestant, Log, best_of, race, ratio

AGAIN, ANEW = "diffuse(graph, F), a Graph known from before", "diffuse(Graph(A), F), a new one"
RESTART, N_STEPS = 0.1, 10
REPEATS, CAP = 10, 60.0


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("diffuse", case.size.name, case.size.facts(), repeats or REPEATS)
    report.not_installed = optional.missing(optional.MKL)
    width = case.size.n_classes
    F = np.random.default_rng(SEED).random((case.size.n_nodes, width), dtype=np.float32)
    with machine.same_threads(case.numbers) as n_threads:
        timings = race([*ours(case, F), *peers(case, F)], report.repeats, CAP, log)
    title = f"{N_STEPS} steps of diffusion, {width} columns, best of {report.repeats}, {n_threads} threads"
    report.tables.append(times_table(title, timings, AGAIN))
    peer = best_of(timings, *PRODUCTS)
    report.measure(
        diffuse_again=ratio(peer, best_of(timings, AGAIN)), diffuse_anew=ratio(peer, best_of(timings, ANEW))
    )
    report.notes.append(
        "The peers' matrix is normalised before the clock runs; each step of theirs is the product, a scaling in place "
        "and the sum with the features. Ours includes the check of F and, on a new Graph, its layout and order."
    )
    return report


def ours(case: Case, F: Array) -> list[Contestant]:
    A = case.adjacency()
    kept = Graph(A)

    def again() -> Array:
        return diffuse(kept, F, RESTART, N_STEPS)

    def anew() -> Array:
        return diffuse(Graph(A), F, RESTART, N_STEPS)

    return [Contestant(AGAIN, lambda: again, "ours"), Contestant(ANEW, lambda: anew, "ours")]


def peers(case: Case, F: Array) -> list[Contestant]:
    """The products of other libraries, in the loop that a user writes around them."""
    own = RESTART * F

    def prepared(k: int) -> Callable[[], object]:
        Z = F.copy()
        product = products(case, Z)[k].prepare()

        def loop() -> Array:
            Z[...] = F
            for _ in range(N_STEPS):
                np.multiply(np.asarray(product()), np.float32(1.0 - RESTART), out=Z)
                np.add(Z, own, out=Z)
            return Z

        return loop

    return [
        Contestant(one.who, partial(prepared, k), note=one.note) for k, one in enumerate(products(case, F))
    ]
