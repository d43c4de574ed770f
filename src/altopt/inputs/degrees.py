"""How many edges a node has, on a logarithmic scale."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_sums
from altopt.graph import Graph
from altopt.inputs.inputs import ChangedNodes, NewNodes, OneZ
from altopt.operator import NormalizedAdjacency


@dataclass(frozen=True)
class PreparedDegrees(OneZ):
    Z: Array  # log2(1 + degree); two columns, out and in, where the graph keeps its direction
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
        return self._degrees(new)

    def renewed(self, changed: ChangedNodes) -> Array:
        return self._degrees(changed)

    def _degrees(self, nodes: NewNodes | ChangedNodes) -> Array:
        both = (nodes.out, nodes.into) if self.Z.shape[1] == 2 else (nodes.out,)
        return np.stack([log_degree(sp.csr_array(A)) for A in both], axis=1)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z, "top": np.array([self.top])}


@dataclass(frozen=True)
class DegreeInputs:
    """log2(1 + degree) as a soft histogram: about a dozen columns, rows of unit length.

    A linear map or a cosine of the number itself could only rise or fall with it; of the histogram it can say
    which degrees are alike. Out- and in-degrees get a histogram each where the graph keeps its direction. The
    degree of a weighted graph is the sum of weights.
    """

    def prepare(
        self, graph: Graph, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> PreparedDegrees:
        A = graph.directed_adjacency
        both = (graph.adjacency,) if A is None else (A, A.T.tocsr())
        Z = np.stack([log_degree(A) for A in both], axis=1)
        return PreparedDegrees(Z, max(int(np.ceil(Z.max())), 1))

    def restore(self, state: dict[str, Array]) -> PreparedDegrees:
        return PreparedDegrees(state["Z"], int(state["top"][0]))

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        return 2.0


def log_degree(A: Any) -> Array:
    return np.log2(1.0 + row_sums(A)).astype(np.float32)
