"""The part of a graph on disk that a report draws: some nodes, a few neighbours of each, and the edges between them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.cli.report.nodes import Source
from altopt.fitted.picture import MAX_EDGES, MAX_NODES, described, laid_out
from altopt.operator.kernels.reorder import community_order
from altopt.scale.local_push import LocalSystem

N_NEIGHBOURS = 10  # of each node that the picture starts from


def part_of_graph(source: Source, system: LocalSystem, starts: Array, seed: int) -> dict[str, Any]:
    """What the front end draws of these nodes and their neighbours; of a small graph, all of it."""
    csr = system.csr
    whole = csr.n_nodes <= MAX_NODES and csr.n_entries // 2 <= MAX_EDGES
    chosen = np.arange(csr.n_nodes) if whole else with_neighbours(system, np.unique(starts))
    adjacency = between(system, chosen, seed)
    order = community_order(adjacency)
    nodes = chosen[order]
    found = source.at(nodes)
    names = source.ids(nodes)
    drawn = described(names, found.codes, found.given, found.probabilities, adjacency[order][:, order])
    return drawn | laid_out(adjacency, order, seed)


def with_neighbours(system: LocalSystem, starts: Array) -> Array:
    """These nodes and at most N_NEIGHBOURS of each, evenly from its row: of a hub little is read."""
    csr, found = system.csr, [starts]
    for node in starts.tolist():
        begin, end = int(csr.indptr[node]), int(csr.indptr[node + 1])
        places = np.unique(np.linspace(begin, end - 1, min(N_NEIGHBOURS, end - begin)).astype(np.int64))
        found.append(np.asarray(csr.indices[places], np.int64))
    return np.unique(np.concatenate(found))


def between(system: LocalSystem, nodes: Array, seed: int) -> Any:
    """The edges among these rising nodes as a symmetric matrix; of more than MAX_EDGES a sample."""
    rows, columns = [], []
    for part in system.parts(nodes):
        counts, ends, _ = system.rows(nodes[part])
        begins = np.repeat(np.arange(part.start, part.stop), counts)
        at = np.minimum(np.searchsorted(nodes, ends), len(nodes) - 1)
        inside = (nodes[at] == ends) & (begins < at)
        rows.append(begins[inside])
        columns.append(at[inside])
    a, b = np.concatenate(rows), np.concatenate(columns)
    if len(a) > MAX_EDGES:
        kept = np.sort(np.random.default_rng(seed).choice(len(a), MAX_EDGES, replace=False))
        a, b = a[kept], b[kept]
    upper = sp.csr_array((np.ones(len(a), np.float32), (a, b)), shape=(len(nodes),) * 2)
    return sp.csr_array(upper + upper.T)
