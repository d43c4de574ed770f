"""Node degrees, on a logarithmic scale."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_sums
from altopt.errors import InputError
from altopt.inputs.hops import all_hops, hops_of_changed, hops_of_new
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import ENTRY, InputMemory, SourceShape
from altopt.io.array_io import finite, required
from altopt.operator.scaling import row_stochastic
from altopt.settings import check_count

MAX_BINS = 1100  # log2 of the largest double


@dataclass(frozen=True)
class PreparedDegrees(PreparedMatrix):
    Z: Array  # log2(1 + degree), its mean over neighbours, ...; two columns each where the graph keeps direction
    n_hops: int
    top: int  # the largest whole number that Z reached at the fit

    def rows(self, Z: Array) -> Array:
        """Each number shared between the two whole numbers next to it, at unit length for each column of Z."""
        Z = np.minimum(Z, self.top)
        whole = np.minimum(np.floor(Z), self.top - 1).astype(np.int64)
        part = (Z - whole).astype(np.float32)
        size = np.sqrt(part**2 + (1 - part) ** 2) * np.float32(np.sqrt(Z.shape[1]))
        out = np.zeros((len(Z), Z.shape[1] * (self.top + 1)), dtype=np.float32)
        places = whole + np.arange(Z.shape[1]) * (self.top + 1)
        np.put_along_axis(out, places, (1 - part) / size, axis=1)
        np.put_along_axis(out, places + 1, part / size, axis=1)
        return out

    def extend(self, new: NewNodes) -> Array:
        return hops_of_new(row_stochastic(new.out).astype(np.float32), self.Z, self._degrees(new))

    def renewed(self, changed: ChangedNodes) -> Array:
        S = row_stochastic(changed.out).astype(np.float32)
        return hops_of_changed(S, self.Z, changed.nodes, self._degrees(changed))

    def _degrees(self, nodes: NewNodes | ChangedNodes) -> Array:
        sides = (nodes.out, nodes.into)[: self.Z.shape[1] // (1 + self.n_hops)]
        return np.stack([log_degree(sp.csr_array(A)) for A in sides], axis=1)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z, "top": np.array([self.top])}


@dataclass(frozen=True)
class DegreeInputs(Inputs):
    """log2(1 + degree) as a soft histogram: about a dozen columns, rows of unit length.

    A number between k and k + 1 is shared between bins k and k + 1. An encoder that is linear in the inputs can then
    tell which degrees are alike, where the number itself could only rise or fall with the score. Out- and in-degrees
    have a histogram each in a directed graph. The degree in a weighted graph is the sum of weights.

    Parameters
    ----------
    n_hops : int, default 0
        Add histograms of the mean over a node's neighbours, of the mean of that, and so on, so many times. Neighbours
        are those that edges lead to.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import DegreeInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2), (1, 3)], n_nodes=4)
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), np.eye(4), restart=0.2, n_steps=10, seed=0)
    >>> prepared = DegreeInputs().prepare(source)
    >>> prepared.rows(prepared.Z)  # degrees 1, 3, 1, 1: bins log2(2) = 1 and log2(4) = 2
    array([[0., 1., 0.],
           [0., 0., 1.],
           [0., 1., 0.],
           [0., 1., 0.]], dtype=float32)
    """

    n_hops: int = 0

    def __post_init__(self) -> None:
        check_count(self, "n_hops", 0)

    def prepare(self, source: InputSource) -> PreparedDegrees:
        graph = source.graph
        directed = graph.directed_adjacency is not None
        A = graph.directed_adjacency if directed else graph.adjacency
        degrees = np.stack([log_degree(side) for side in ((A, A.T.tocsr()) if directed else (A,))], axis=1)
        S = row_stochastic(A).astype(np.float32) if self.n_hops else A
        Z = np.concatenate(all_hops(degrees, lambda block: np.asarray(S @ block), self.n_hops), axis=1)
        return PreparedDegrees(Z, self.n_hops, max(int(np.ceil(Z.max())), 1))

    def restore(self, state: dict[str, Array]) -> PreparedDegrees:
        Z, top = finite(state, "Z", (None, None)), required(state, "top")
        n_ways, rest = divmod(Z.shape[1], 1 + self.n_hops)
        whole = top.dtype.kind in "iu" and top.shape == (1,) and 1 <= top[0] <= MAX_BINS
        if rest or n_ways not in (1, 2) or not whole:
            raise InputError("The stored degrees are not those of one or two directions.")
        return PreparedDegrees(Z, self.n_hops, int(top[0]))

    def memory(self, shape: SourceShape) -> InputMemory:
        n_ways = 1 if shape.n_directed is None else 2
        n_entries = 2 * shape.n_edges if shape.n_directed is None else shape.n_directed
        rows = shape.block(n_ways * (1 + self.n_hops))
        return InputMemory(rows, preparing=rows + 3.0 * ENTRY * n_entries)


def log_degree(A: Any) -> Array:
    return np.log2(1.0 + row_sums(A)).astype(np.float32)
