"""The jobs that tell how good a fit is: own influence of labels, and which nodes nothing is known of."""

import numpy as np
from safetensors.numpy import load_file

from altopt.arrays import Array
from altopt.operator.kernels.native import bits
from altopt.scale.csr_file import CsrFile
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.job import Work, job
from altopt.scale.jobs import edges_of, labels_of, write_arrays
from altopt.scale.panel import PanelSystem, ViewWeights, kernels
from altopt.scale.solve import chebyshev, rough_steps, row_degrees
from altopt.threads import kernel_threads


@job("short walks")
def short_walks(work: Work) -> None:
    """(S^2)_ii of every labelled node, by which its own label comes back to it: see `series_diagonal`."""
    edges, labels = work.inputs
    known, weights = labels_of(work, labels), ViewWeights(*work.settings["weights"])
    stream = EdgeStream(CsrFile.open(work.folder(edges)))
    system = PanelSystem(stream, weights, known, (0, 1), np.float32)
    per_node = np.empty(system.n_nodes, np.float32)  # 1 / (degree_j d_j)
    for first, degrees in row_degrees(system):
        last = first + len(degrees)
        per_node[first:last] = 1.0 / (degrees * system.scale(first, last))
    returning = np.zeros(len(known.nodes))
    for block in stream:
        begin, end = np.searchsorted(known.nodes, (block.first, block.last))
        here = known.nodes[begin:end] - block.first
        sums = neighbour_sums(block.indptr, block.indices, block.weights, per_node, here)
        returning[begin:end] = sums / block.degrees[here] / system.scale(block.first, block.last)[here]
    write_arrays(work.output("returning"), {"returning": returning})


def neighbour_sums(indptr: Array, indices: Array, weights: Array | None, values: Array, rows: Array) -> Array:
    """The sum of a_ij^2 values_j over the neighbours j of some rows."""
    counts = (indptr[1:] - indptr[:-1])[rows]
    which = np.repeat(np.arange(len(rows)), counts)
    places = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + indptr[rows][which]
    terms = values[indices[places]].astype(np.float64)
    if weights is not None:
        terms *= weights[places].astype(np.float64) ** 2
    return np.bincount(which, weights=terms, minlength=len(rows))


@job("unit panel")
def unit_panel(work: Work) -> None:
    """g_ii of G = H^-1 for some labelled nodes, from H x = e_i: g_ii = x_i + x'r up to the square of x's error."""
    edges, labels = work.inputs
    settings, known = work.settings, labels_of(work, labels)
    nodes, storage = np.array(settings["nodes"]), np.dtype(settings["storage"])
    stream = edges_of(work, edges, 3, len(nodes), storage.itemsize)
    weights = ViewWeights(*settings["weights"])
    system = PanelSystem(stream, weights, known, (0, len(nodes)), storage)
    rest, X = system.empty(), system.empty()
    rest[...], X[...] = 0, 0
    roots, scale = np.empty(len(nodes)), float(np.asarray(weights.bounds.step_scale)[1])
    for first, degrees in row_degrees(system):
        inside = np.flatnonzero((nodes >= first) & (nodes < first + len(degrees)))
        roots[inside] = np.sqrt(degrees[nodes[inside] - first])
    rest[nodes, np.arange(len(nodes))] = 1.0 / (scale * roots)
    X = chebyshev(system, X, rest, rough_steps(weights))
    g = X[nodes, np.arange(len(nodes))].astype(np.float64) * roots
    write_arrays(work.output("g"), {"g": g + products_with_residual(system, X, rest)[: len(nodes)]})


def products_with_residual(system: PanelSystem, X: Array, rest: Array) -> Array:
    """x'r of each column, r = rhs - H x."""
    total = np.zeros(X.shape[1])
    for block in system.edges:
        rows = slice(block.first, block.last)
        part, by_column = np.empty_like(X[rows]), np.empty(X.shape[1])
        system.block_step(block, X, part, rest[rows])
        weights = (system.scale(block.first, block.last) * block.degrees).astype(system.compute_dtype)
        kernels().dots(bits(X[rows]), bits(part), weights, by_column, kernel_threads())
        total += by_column
    return total


@job("find unreached")
def find_unreached(work: Work) -> None:
    """The nodes without features that no labelled node is connected to."""
    edges, labels, featureless = work.inputs
    known, wanted = labels_of(work, labels), load_file(work.input(featureless))["nodes"]
    stream = edges_of(work, edges, 0, 1, 1)
    reached = np.zeros(stream.csr.n_nodes, dtype=bool)
    reached[known.nodes] = True
    changed = len(wanted) > 0
    while changed and not reached[wanted].all():
        changed = False
        for block in stream:
            some = np.flatnonzero(np.diff(block.indptr) > 0)
            if len(some):
                beside = np.logical_or.reduceat(reached[block.indices], block.indptr[some])
                new = beside & ~reached[block.first + some]
                reached[block.first + some[new]] = True
                changed |= bool(new.any())
    write_arrays(work.output("unreached"), {"nodes": wanted[~reached[wanted]]})
