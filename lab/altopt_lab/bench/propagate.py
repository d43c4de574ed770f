"""Time of one propagation step  F' = scale A_tilde F + diagonal F + rest;  other libraries do the product alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt_lab.bench import machine, optional
from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.report import TIMES, Report, times_table
from altopt_lab.bench.timing import Contestant, Log, best_of, race, ratio

OURS = {
    "altopt float32": ("float32", None),
    "altopt float16": ("float16", None),
    "altopt float32, nodes as they came": ("float32", False),
    "altopt float16, nodes as they came": ("float16", False),
}
PRODUCTS = ("torch CSR, int32", "torch CSR, int64", "scipy CSR", "MKL")
REPEATS, CAP = 15, 60.0


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("propagate", case.size.name, case.size.facts(), repeats or REPEATS)
    width = case.size.n_classes
    F = np.random.default_rng(SEED).random((case.size.n_nodes, width), dtype=np.float32)
    report.not_installed = optional.missing(optional.MKL, optional.GEOMETRIC)
    with machine.same_threads(case.numbers) as n_threads:
        contestants = [machine.triad(), *our_steps(case, F), *products(case, F), *geometric(case, F)]
        timings = race(contestants, report.repeats, CAP, log)
    for timing in timings:
        if timing.who in OURS and timing.best:
            moved = logical_bytes(case, 2 if "float16" in timing.who else 4)
            timing.facts["gb_s"] = moved / timing.best / 1e9
    title = f"one step, {width} columns, best of {report.repeats}, {n_threads} threads"
    report.tables.append(times_table(title, timings, "altopt float32", (*TIMES[:5], "gb_s", *TIMES[5:])))
    single, half, single_as_came, half_as_came = (best_of(timings, who) for who in OURS)
    peer = best_of(timings, *PRODUCTS)
    edge_index = best_of(timings, *(t.who for t in timings if "edge_index" in t.who))
    stream = machine.bandwidth(timings)
    report.measure(
        step_float32=ratio(peer, single),
        step_float16=ratio(peer, half),
        step_float32_as_came=ratio(peer, single_as_came),
        step_float16_as_came=ratio(peer, half_as_came),
        step_edge_index=ratio(edge_index, single),
        stream_gb_s=stream,
        step_gb_s=timings[1].facts.get("gb_s"),
        step_float16_gb_s=timings[2].facts.get("gb_s"),
    )
    share = (timings[1].facts.get("gb_s") or float("nan")) / stream
    report.notes.append(
        f"STREAM triad in this run: {stream:.1f} GB/s. The float32 step moves its logical bytes (a row of F and an "
        f"index for each nonzero; F, rest and the result once) at {share:.2f} of that; rows of F that stay in "
        "cache can bring it above 1."
    )
    report.notes.append(
        "altopt orders the nodes by communities where a block is too large for the caches (once for a graph, "
        "before the clock runs), as a fit does; the peers, and the rows that say so, take them as they came."
    )
    return report


def logical_bytes(case: Case, item: int) -> float:
    """What a step reads and writes if nothing is read twice for free: `item` bytes a number, 4 an index."""
    n, width = case.size.n_nodes, case.size.n_classes
    return case.nnz * (width * item + 4.0) + n * (3.0 * width * item + 8 + 2 * 4)


def our_steps(case: Case, F: Array) -> list[Contestant]:
    def preparer(dtype: str, ordered: bool | None) -> Callable[[], Callable[[], object]]:
        def prepare() -> Callable[[], object]:
            on = case.operator.backend(F.shape[1], dtype, cache_order=ordered)
            G, out, rest = on.to_layout(F), on.empty(), on.to_layout(F)
            scale, diagonal = on.vector(0.5), on.vector(0.1)
            return lambda: on.step(G, out, scale, diagonal, rest)

        return prepare

    return [Contestant(who, preparer(*form), "ours") for who, form in OURS.items()]


def torch_csr(case: Case, index: Any = np.int32) -> Any:
    import torch

    rows, columns = (torch.from_numpy(part.astype(index, copy=False)) for part in (case.indptr, case.indices))
    n = case.size.n_nodes
    return torch.sparse_csr_tensor(
        rows, columns, torch.from_numpy(case.values), size=(n, n), check_invariants=False
    )


def edge_index(case: Case) -> tuple[Any, Any]:
    """PyTorch Geometric's other form: (source, target) of every entry, and their weights."""
    import torch

    rows = np.repeat(np.arange(case.size.n_nodes), np.diff(case.indptr))
    return torch.from_numpy(np.stack([case.indices.astype(np.int64), rows])), torch.from_numpy(case.values)


def products(case: Case, F: Array) -> list[Contestant]:
    import torch

    def in_torch(index: Any) -> Callable[[], object]:
        A, block = torch_csr(case, index), torch.from_numpy(F)
        return lambda: A @ block

    def in_scipy() -> Callable[[], object]:
        n = case.size.n_nodes
        A = sp.csr_array((case.values, case.indices, case.indptr), shape=(n, n))
        return lambda: A @ F

    def in_mkl() -> Callable[[], object]:
        n = case.size.n_nodes
        A = sp.csr_matrix((case.values, case.indices, case.indptr), shape=(n, n))
        out = np.zeros_like(F)
        multiply = optional.find(optional.MKL).dot_product_mkl
        return lambda: multiply(A, F, out=out, out_scalar=0.0)  # 1 by default: it would add to out

    contestants = [
        Contestant(PRODUCTS[0], lambda: in_torch(np.int32)),
        Contestant(PRODUCTS[1], lambda: in_torch(np.int64)),
        Contestant(PRODUCTS[2], in_scipy, note="one thread"),
    ]
    return [*contestants, Contestant(PRODUCTS[3], in_mkl)] if optional.find(optional.MKL) else contestants


def geometric(case: Case, F: Array) -> list[Contestant]:
    """PyTorch Geometric's layers on a graph that is normalised beforehand."""
    if optional.find(optional.GEOMETRIC) is None:
        return []
    import torch
    from torch_geometric.nn import APPNP, GCNConv, LabelPropagation, SGConv

    block = torch.from_numpy(F)
    messages = case.nnz * F.shape[1] * 4 / 1e9

    def inferring(call: Callable[[], object]) -> Callable[[], object]:
        return torch.inference_mode()(call)

    def appnp(form: str) -> Callable[[], object]:
        layer = APPNP(K=1, alpha=0.1, normalize=False).eval()
        A, weights = (torch_csr(case), None) if form == "CSR" else edge_index(case)
        return inferring(lambda: layer(block, A, weights))

    def label_propagation() -> Callable[[], object]:
        layer = LabelPropagation(num_layers=1, alpha=0.9)
        A, weights = edge_index(case)
        return inferring(lambda: layer(block, A, edge_weight=weights))

    def convolution(kind: Any, form: str) -> Callable[[], object]:
        layer = kind(1, 1)  # its linear map is left out: the propagation alone
        A, weights = (torch_csr(case), None) if form == "CSR" else edge_index(case)
        return inferring(lambda: layer.propagate(A, x=block, edge_weight=weights))

    def of(who: str, form: str, prepare: Callable[[], Callable[[], object]]) -> Contestant:
        return Contestant(f"PyG {who}, {form}", prepare, needs_gb=messages if form == "edge_index" else 0.0)

    forms = ("CSR", "edge_index")
    return [
        *(of("APPNP K=1", form, partial(appnp, form)) for form in forms),
        of("LabelPropagation, 1 layer", "edge_index", label_propagation),
        *(of("GCNConv.propagate", form, partial(convolution, GCNConv, form)) for form in forms),
        *(of("SGConv.propagate", form, partial(convolution, SGConv, form)) for form in forms),
    ]
