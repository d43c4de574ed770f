"""Single rows of H^-1, and what a few changed labels change, by a push that reads only the rows it comes to.

H p = e is worked off from node to node: p_k += r_k / H_kk, and what r_k had goes to the neighbours' rows, until
|r_k| <= tolerance sqrt(d_k) everywhere. All nodes above that are taken together, sweep after sweep; of the graph on
disk the rows of these nodes are read and nothing else.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.scale.csr_file import CsrFile
from altopt.scale.panel import Labels, ViewWeights

MAX_SWEEPS = 1000
GATHER = 1 << 22  # entries that are read together


class Pushed(NamedTuple):
    """The nodes a push came to, rising; what it moved there, and what is left."""

    nodes: Array
    moves: Array
    residual: Array


@dataclass(frozen=True)
class LocalSystem:
    """H = diag(1 + lambda1 + lambda2 M) - A_tilde of a graph on disk.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = sparse.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csr = CsrFile.of(path, Path(folder))
    ...     system = LocalSystem(csr, ViewWeights(2.0, 2.0), Labels(np.array([0]), np.array([1])))
    ...     pushed = system.push(np.array([1]), np.ones((1, 1)), 1e-9)
    >>> pushed.nodes.tolist(), pushed.moves.ravel().round(4).tolist()
    ([0, 1, 2], [0.0517, 0.3659, 0.0862])
    """

    csr: CsrFile
    weights: ViewWeights
    labels: Labels

    def codes(self, nodes: Array) -> Array:
        """The given class of nodes, -1 where they have none."""
        at = np.searchsorted(self.labels.nodes, nodes)
        at = np.minimum(at, max(len(self.labels.nodes) - 1, 0))
        if not len(self.labels.nodes):
            return np.full(len(nodes), -1)
        return np.where(self.labels.nodes[at] == nodes, self.labels.codes[at], -1)

    def diagonal(self, nodes: Array) -> Array:
        """H_kk."""
        return 1.0 + self.weights.feature + self.weights.label * (self.codes(nodes) >= 0)

    def rows(self, nodes: Array) -> tuple[Array, Array, Array]:
        """Of rows of A: entries of each, and all columns and weights one after another."""
        indptr = self.csr.indptr
        begin = np.asarray(indptr[nodes])
        counts = np.asarray(indptr[nodes + 1]) - begin
        if len(nodes) and (
            begin.min() < 0 or counts.min() < 0 or (begin + counts).max() > self.csr.n_entries
        ):
            raise InputError(f"{self.csr.folder / 'indptr.i64'} is damaged. Copy it again.")
        ends = np.cumsum(counts)
        places = np.repeat(begin - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)
        columns = np.asarray(self.csr.indices[places]).astype(np.int64)
        if len(columns) and not 0 <= columns.min() <= columns.max() < self.csr.n_nodes:
            raise InputError(
                f"{self.csr.folder / 'indices.i32'} does not hold nodes of the graph. Copy it again."
            )
        weights = np.ones(len(places))
        if self.csr.weighted:
            weights = np.asarray(self.csr.edge_weights[places]).astype(np.float64)
        return counts, columns, weights

    def degrees(self, nodes: Array) -> Array:
        """Degrees of nodes; 1 where there are no edges."""
        if not self.csr.weighted:
            counts = np.asarray(self.csr.indptr[nodes + 1] - self.csr.indptr[nodes])
            return np.asarray(np.maximum(counts, 1), np.float64)
        found = np.empty(len(nodes))
        for part in self.parts(nodes):
            counts, _, weights = self.rows(nodes[part])
            ends = np.cumsum(counts)
            sums = np.concatenate([[0.0], np.cumsum(weights)])
            found[part] = np.where(counts > 0, sums[ends] - sums[ends - counts], 1.0)
        return found

    def parts(self, nodes: Array) -> list[slice]:
        """Nodes in pieces of at most GATHER entries, or of a single node."""
        ends = np.cumsum(self.csr.indptr[nodes + 1] - self.csr.indptr[nodes])
        cuts, first = [], 0
        while first < len(nodes):
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + GATHER, side="right")), first + 1)
            cuts.append(slice(first, last))
            first = last
        return cuts

    def push(self, nodes: Array, residual: Array, tolerance: float) -> Pushed:
        """H^-1 r from a few rows of r, node after node until what is left is small everywhere."""
        state = Reached(self, nodes, residual.astype(np.float64))
        for _ in range(MAX_SWEEPS):
            active = np.flatnonzero(
                np.linalg.norm(state.residual, axis=1) > tolerance * np.sqrt(state.degrees)
            )
            if not len(active):
                return Pushed(state.nodes, state.moves, state.residual)
            state.sweep(active)
        raise InputError(
            "the change could not be followed to its end: give a larger tolerance, or fit again."
        )

    def normalized(self, i: int) -> tuple[Array, Array]:
        """Columns of row i of A_tilde, and its entries."""
        _, columns, weights = self.rows(np.array([i]))
        return columns, weights / np.sqrt(self.degrees(np.array([i]))[0] * self.degrees(columns))


class Reached:
    """The nodes a push has come to so far, rising, with r, p, degree and diagonal of each."""

    def __init__(self, system: LocalSystem, nodes: Array, residual: Array) -> None:
        order = np.argsort(nodes)
        self.system, self.nodes = system, np.asarray(nodes)[order].astype(np.int64)
        self.residual, self.moves = residual[order], np.zeros_like(residual)
        self.degrees, self.diagonal = system.degrees(self.nodes), system.diagonal(self.nodes)

    def sweep(self, active: Array) -> None:
        """Work off the residual of some of them."""
        moved = self.residual[active] / self.diagonal[active][:, None]
        self.moves[active] += moved
        self.residual[active] = 0.0
        sources, scaled = self.nodes[active], moved / np.sqrt(self.degrees[active])[:, None]
        for part in self.system.parts(sources):
            counts, columns, weights = self.system.rows(sources[part])
            reached, place = np.unique(columns, return_inverse=True)
            self.meet(reached)
            at = np.searchsorted(self.nodes, reached)
            shape = (len(reached), len(counts))
            ties = sparse.csr_array(
                (weights, (place, np.repeat(np.arange(len(counts)), counts))), shape=shape
            )
            self.residual[at] += (ties @ scaled[part]) / np.sqrt(self.degrees[at])[:, None]

    def meet(self, others: Array) -> None:
        """Take in nodes that were not there yet."""
        new = others[~np.isin(others, self.nodes, assume_unique=True)]
        if not len(new):
            return
        where = np.searchsorted(self.nodes, new)
        zeros = np.zeros((len(new), self.residual.shape[1]))
        self.nodes = np.insert(self.nodes, where, new)
        self.residual = np.insert(self.residual, where, zeros, axis=0)
        self.moves = np.insert(self.moves, where, zeros, axis=0)
        self.degrees = np.insert(self.degrees, where, self.system.degrees(new))
        self.diagonal = np.insert(self.diagonal, where, self.system.diagonal(new))
