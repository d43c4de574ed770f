"""How many edges a node has, on a logarithmic scale."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_sums
from altopt.errors import InputError
from altopt.inputs.hops import all_hops, hops_of_changed, hops_of_new
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.operator.scaling import row_stochastic


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
        both = (nodes.out, nodes.into)[: self.Z.shape[1] // (1 + self.n_hops)]
        return np.stack([log_degree(sp.csr_array(A)) for A in both], axis=1)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z, "top": np.array([self.top])}


@dataclass(frozen=True)
class DegreeInputs(Inputs):
    """log2(1 + degree) as a soft histogram: about a dozen columns, rows of unit length.

    With `n_hops` its mean over a node's neighbours is there too, and the mean of that over neighbours, and so on,
    each with a histogram of its own: whether the nodes around are hubs. Neighbours are those that edges lead to.

    A linear map or a cosine of the number itself could only rise or fall with it; of the histogram it can say
    which degrees are alike. Out- and in-degrees get a histogram each where the graph keeps its direction. The
    degree of a weighted graph is the sum of weights.
    """

    n_hops: int = 0

    def prepare(self, source: InputSource) -> PreparedDegrees:
        if self.n_hops < 0:
            raise InputError(f"n_hops must be 0 or more, but is {self.n_hops!r}.")
        graph = source.graph
        directed = graph.directed_adjacency is not None
        A = graph.directed_adjacency if directed else graph.adjacency
        degrees = np.stack([log_degree(side) for side in ((A, A.T.tocsr()) if directed else (A,))], axis=1)
        S = row_stochastic(A).astype(np.float32) if self.n_hops else A
        Z = np.concatenate(all_hops(degrees, lambda block: np.asarray(S @ block), self.n_hops), axis=1)
        return PreparedDegrees(Z, self.n_hops, max(int(np.ceil(Z.max())), 1))

    def restore(self, state: dict[str, Array]) -> PreparedDegrees:
        return PreparedDegrees(state["Z"], self.n_hops, int(state["top"][0]))

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return 2.0 * (1 + self.n_hops)


def log_degree(A: Any) -> Array:
    return np.log2(1.0 + row_sums(A)).astype(np.float32)
