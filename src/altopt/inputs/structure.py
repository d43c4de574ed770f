"""The place of a node in the graph, in a dozen numbers: degrees around it, walks, triangles, centrality."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.kind import of_each_kind
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.inputs.neighbours import edges_along, least_and_largest
from altopt.io.array_io import finite
from altopt.operator.scaling import row_stochastic

MAX_WEDGES = 20_000_000  # pairs of neighbours up to which triangles are counted
N_ITERATIONS = 30  # of PageRank and of the leading eigenvector, which trees only order nodes by
DAMPING = 0.85  # of PageRank
# columns of Z
DEGREE, MEAN, MEAN_2, SPREAD, LEAST, LARGEST, WALKS_2, WALKS_3, TRIANGLES, CLUSTERING, RANK, CENTRALITY = (
    range(12)
)
N_COLUMNS = 12
SLOW = (TRIANGLES, CLUSTERING, RANK, CENTRALITY)  # hardly move when an edge changes nearby


@dataclass(frozen=True)
class PreparedStructure(PreparedMatrix):
    Z: Array
    eigenvalue: float

    def rows(self, Z: Array) -> Array:
        return Z

    def extend(self, new: NewNodes) -> Array:
        A = pattern(edges_along(new, "both"))
        Z = self._local(A, len(self.Z))
        known = A[:, : len(self.Z)]
        shares = row_stochastic(known)
        Z[:, CLUSTERING] = shares @ self.Z[:, CLUSTERING]
        degree = np.diff(A.indptr)
        Z[:, TRIANGLES] = np.log1p(Z[:, CLUSTERING] * degree * np.maximum(degree - 1, 0) / 2)
        flow = np.exp(self.Z[:, RANK]) / np.maximum(np.exp2(self.Z[:, DEGREE]) - 1, 1)
        Z[:, RANK] = np.log(1 - DAMPING + DAMPING * (known @ flow))
        Z[:, CENTRALITY] = known @ self.Z[:, CENTRALITY] / self.eigenvalue
        return self._with_direction(Z, new)

    def renewed(self, changed: ChangedNodes) -> Array:
        Z = self._local(pattern(edges_along(changed, "both")), len(self.Z))
        Z[:, SLOW] = self.Z[changed.nodes][:, SLOW]
        return self._with_direction(Z, changed)

    def _local(self, A: Any, n: int) -> Array:
        """The columns that follow from a node's neighbours, whose own are known."""
        degree = np.diff(A.indptr).astype(np.float64)
        A = A[:, :n]
        Z = np.zeros((A.shape[0], N_COLUMNS))
        of_known = self.Z[:, DEGREE].astype(np.float64)
        Z[:, DEGREE] = np.log2(1 + degree)
        fill_surroundings(Z, A, of_known, self.Z[:, MEAN])
        Z[:, WALKS_2] = np.log1p(A @ (np.exp2(of_known) - 1))
        Z[:, WALKS_3] = np.log1p(A @ np.expm1(self.Z[:, WALKS_2].astype(np.float64)))
        return Z

    def _with_direction(self, Z: Array, nodes: NewNodes | ChangedNodes) -> Array:
        if self.Z.shape[1] > N_COLUMNS:
            Z = np.concatenate([Z, log_degrees(nodes.out)[:, None], log_degrees(nodes.into)[:, None]], axis=1)
        return Z.astype(np.float32)

    @property
    def nbytes(self) -> float:
        return float(self.Z.nbytes + 8)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z, "eigenvalue": np.array([self.eigenvalue])}


@dataclass(frozen=True)
class StructureInputs(Inputs):
    """A dozen numbers of a node's place in the graph, as trees like them.

    log2(1 + degree); its mean over neighbours, the mean of that, its spread, least and largest value there; the
    logarithms of the number of walks of two and three steps, of triangles (0 where counting them would take too long),
    and of PageRank; the clustering coefficient, and the leading eigenvector of the adjacency. In a directed graph the
    logarithms of out- and in-degree follow. Edge weights play no part.

    Examples
    --------
    >>> from altopt import Graph
    >>> from altopt.inputs import InputSource, StructureInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2), (0, 2), (2, 3)])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), np.eye(4), restart=0.2, n_steps=10, seed=0)
    >>> Z = StructureInputs().prepare(source).Z
    >>> Z[:, 0].tolist(), Z[:, 9].round(2).tolist()  # degrees 2, 2, 3, 1; one triangle
    ([1.5849624872207642, 1.5849624872207642, 2.0, 1.0], [1.0, 1.0, 0.33000001311302185, 0.0])
    """

    def prepare(self, source: InputSource) -> PreparedStructure:
        A = pattern(source.graph.adjacency)
        degree = np.diff(A.indptr).astype(np.float64)
        Z = np.zeros((A.shape[0], N_COLUMNS))
        Z[:, DEGREE] = np.log2(1 + degree)
        Z[:, MEAN] = row_stochastic(A) @ Z[:, DEGREE]
        fill_surroundings(Z, A, Z[:, DEGREE], Z[:, MEAN])
        walks = A @ degree
        Z[:, WALKS_2], Z[:, WALKS_3] = np.log1p(walks), np.log1p(A @ walks)
        if float(np.sum(degree**2)) <= MAX_WEDGES:
            triangles = np.asarray((A @ A).multiply(A).sum(axis=1)).ravel() / 2
            Z[:, TRIANGLES] = np.log1p(triangles)
            Z[:, CLUSTERING] = triangles / np.maximum(degree * (degree - 1) / 2, 1)
        Z[:, RANK] = np.log(page_rank(A, degree))
        Z[:, CENTRALITY], eigenvalue = leading_eigenvector(A)
        directed = source.graph.directed_adjacency
        if directed is not None:
            both = (directed, directed.T.tocsr())
            Z = np.concatenate([Z, *(log_degrees(D)[:, None] for D in both)], axis=1)
        return PreparedStructure(Z.astype(np.float32), eigenvalue)

    def apart(self, kinds: tuple[str, ...]) -> Inputs:
        return of_each_kind(self, kinds)

    def restore(self, state: dict[str, Array]) -> PreparedStructure:
        Z, eigenvalue = finite(state, "Z", (None, None)), finite(state, "eigenvalue", (1,))
        if Z.shape[1] not in (N_COLUMNS, N_COLUMNS + 2) or Z.dtype != np.float32 or not eigenvalue[0] > 0:
            raise InputError("The stored numbers of the nodes' places in the graph are not those of a graph.")
        return PreparedStructure(Z, float(eigenvalue[0]))

    def memory(self, shape: SourceShape) -> InputMemory:
        n_columns = N_COLUMNS + (0 if shape.n_directed is None else 2)
        return InputMemory(shape.block(n_columns), 8.0, shape.block(2 * n_columns) + 24.0 * shape.n_edges)


def pattern(A: Any) -> Any:
    """The matrix with ones for weights."""
    return sp.csr_array((np.ones(len(A.data)), A.indices, A.indptr), shape=A.shape)


def log_degrees(A: Any) -> Array:
    return np.asarray(np.log2(1.0 + np.diff(sp.csr_array(A).indptr)))


def fill_surroundings(Z: Array, A: Any, degrees: Array, means: Array) -> None:
    """Mean, mean of means, spread, least and largest of the neighbours' log degrees."""
    S = row_stochastic(A)
    Z[:, MEAN], Z[:, MEAN_2] = S @ degrees, S @ means
    Z[:, SPREAD] = np.sqrt(np.maximum(S @ degrees**2 - Z[:, MEAN] ** 2, 0.0))
    least, largest = least_and_largest(A, degrees[:, None])
    Z[:, LEAST], Z[:, LARGEST] = least[:, 0], largest[:, 0]


def page_rank(A: Any, degree: Array) -> Array:
    """PageRank times the number of nodes."""
    rank = np.ones(len(degree))
    for _ in range(N_ITERATIONS):
        rank = 1 - DAMPING + DAMPING * (A @ (rank / np.maximum(degree, 1)))
    return rank


def leading_eigenvector(A: Any) -> tuple[Array, float]:
    """The eigenvector of the largest eigenvalue, with mean square 1, and that eigenvalue; about, in bounded time."""
    v, size = np.ones(A.shape[0]), 1.0
    for _ in range(N_ITERATIONS):
        v = A @ v + v  # the shift keeps bipartite graphs from swinging
        size = float(np.sqrt(np.mean(v**2)))
        v /= size
    return v, max(size - 1.0, 1.0)
