"""The known labels around a node; its own never."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.graph.validation import UNKNOWN
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.kind import of_each_kind
from altopt.inputs.memory import NUMBER, InputMemory, SourceShape
from altopt.inputs.neighbours import edges_along
from altopt.io.array_io import finite, required


@dataclass(frozen=True)
class PreparedLabelShares(PreparedMatrix):
    Z: Array  # labels of each class one hop away, two hops away, and where edges have a direction along and against it
    codes: Array  # of the nodes of the fit
    prior: Array  # shares of the classes among these labels
    spread: Array  # what an edge of weight 1 to each of these nodes counts for, in labels
    totals: bool

    def rows(self, Z: Array) -> Array:
        n_classes = len(self.prior)
        counts = Z.reshape(len(Z), -1, n_classes)
        total = counts.sum(axis=2, keepdims=True)
        strength = np.float32(DEFAULTS.label_share_prior)
        prior = self.prior.astype(np.float32)
        shares = (counts + strength * prior) / (total + strength) - prior
        parts = [shares.reshape(len(Z), -1)]
        if self.totals:
            parts.append(np.log1p(total[:, :, 0]))
        return np.concatenate(parts, axis=1)

    def extend(self, new: NewNodes) -> Array:
        return self._counts(new, np.full(new.out.shape[0], UNKNOWN))

    def renewed(self, changed: ChangedNodes) -> Array:
        known = changed.nodes < len(self.codes)
        own = np.full(len(changed.nodes), UNKNOWN)
        own[known] = self.codes[changed.nodes[known]]
        return self._counts(changed, own)

    def _counts(self, nodes: NewNodes | ChangedNodes, own: Array) -> Array:
        """Counts of nodes whose edges are given, from those of known nodes one hop away."""
        c, n, A = len(self.prior), len(self.Z), edges_along(nodes, "both")
        later = A.shape[1] - len(self.codes)  # nodes that were not there, as if of mean degree
        spread = np.concatenate([self.spread, np.ones(later)])[:, None]
        Y = one_hot_rows(np.concatenate([self.codes, np.full(later, UNKNOWN)]), c) * spread
        near = A @ Y
        known = np.concatenate([self.Z[:, :c], near[: A.shape[1] - n]])
        of_own = spread[nodes.nodes] if isinstance(nodes, ChangedNodes) else 1.0
        back = (A.power(2) @ spread) * of_own * one_hot_rows(own, c)
        counts = [near, np.maximum(A @ (spread * known) - back, 0.0)]
        for k in range(2, self.Z.shape[1] // c):
            counts.append(edges_along(nodes, ("out", "in")[k - 2]) @ Y)
        return np.concatenate(counts, axis=1).astype(np.float32)

    @property
    def nbytes(self) -> float:
        return float(self.Z.nbytes + self.codes.nbytes + self.prior.nbytes + self.spread.nbytes)

    def state(self) -> dict[str, Array]:
        return {"Z": self.Z, "codes": self.codes, "prior": self.prior, "spread": self.spread}


@dataclass(frozen=True)
class LabelShareInputs(Inputs):
    """The share of each class among the labelled nodes one and two hops away, above its share among all labels.

    Shares of few labels are drawn towards those of all labels. A node's own label is never counted, nor on the way
    there and back. In a directed graph the shares along and against the edges follow. Later labels do not change the
    counts: they are those of the fit.

    Parameters
    ----------
    totals : bool, default False
        Add the logarithm of the number of labels that each share comes from.
    divided : bool, default False
        A node divides its label among its edges, so that the label of one tied to few says more.

    Examples
    --------
    >>> from altopt import Graph
    >>> from altopt.inputs import InputSource, LabelShareInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2)], n_nodes=3)
    >>> codes = np.array([0, -1, 1])
    >>> A_tilde = NormalizedAdjacency(graph.adjacency)
    >>> source = InputSource(graph, A_tilde, np.eye(3), 0.2, 10, seed=0, codes=codes, n_classes=2)
    >>> LabelShareInputs().prepare(source).Z.tolist()  # node 1 has both as neighbours, 0 and 2 are two hops apart
    [[0.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    """

    totals: bool = False
    divided: bool = False

    @property
    def reads_labels(self) -> bool:
        return True

    @property
    def reads_features(self) -> bool:
        return False

    def prepare(self, source: InputSource) -> PreparedLabelShares:
        if source.codes is None:
            raise InputError("LabelShareInputs are made from labels: give InputSource codes and n_classes.")
        codes, c = source.codes.astype(np.int32), source.n_classes
        A, directed = source.graph.adjacency, source.graph.directed_adjacency
        spread = self._spread(A, np.asarray(source.graph.degrees, dtype=np.float64))
        Y = one_hot_rows(codes, c) * spread
        near = A @ Y
        squares = sp.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape)
        far = A @ (spread * near) - (squares @ spread) * Y
        counts = [near, np.maximum(far, 0.0)]  # a difference of equal sums may round to below 0
        if directed is not None:
            counts += [way @ Y for way in (directed, directed.T)]
        prior = np.bincount(codes[codes != UNKNOWN], minlength=c) / max(int((codes != UNKNOWN).sum()), 1)
        Z = np.concatenate(counts, axis=1).astype(np.float32)
        return PreparedLabelShares(Z, codes, prior, spread[:, 0], self.totals)

    def apart(self, kinds: tuple[str, ...]) -> Inputs:
        return of_each_kind(self, kinds)

    def _spread(self, A: Any, degrees: Array) -> Array:
        """What an edge of weight 1 to each node counts for: 1 for the mean edge."""
        if not self.divided:
            return np.full((len(degrees), 1), 1.0 / float(A.data.mean()) if A.nnz else 1.0)
        tied = degrees > 0
        mean_degree = A.nnz / max(int(tied.sum()), 1)
        return np.where(tied, mean_degree / np.where(tied, degrees, 1.0), 1.0)[:, None]

    def restore(self, state: dict[str, Array]) -> PreparedLabelShares:
        prior, Z = finite(state, "prior", (None,)), finite(state, "Z", (None, None))
        codes, spread = required(state, "codes"), finite(state, "spread", (None,))
        c = len(prior)
        whole = codes.dtype == np.int32 and codes.ndim == 1 and len(codes) <= len(Z)
        if not c or Z.shape[1] not in (2 * c, 4 * c) or Z.dtype != np.float32 or (Z.size and Z.min() < 0):
            raise InputError("The stored counts of labels are not those of the classes.")
        if not whole or (len(codes) and not UNKNOWN <= codes.min() <= codes.max() < c):
            raise InputError("The stored labels around nodes are not numbers of classes.")
        if prior.min() < 0 or len(spread) != len(codes) or (len(spread) and not spread.min() > 0):
            raise InputError("The stored shares of classes or weights of labels are not above 0.")
        return PreparedLabelShares(Z, codes, prior, spread, self.totals)

    def memory(self, shape: SourceShape) -> InputMemory:
        n_ways = 2 if shape.n_directed is None else 4
        rows = shape.block(n_ways * shape.n_classes)
        kept_beside = float((NUMBER + 8) * shape.n_nodes + 8 * shape.n_classes)
        return InputMemory(rows, kept_beside, rows + 8.0 * shape.n_edges)


def one_hot_rows(codes: Array, n_classes: int) -> Array:
    """A row for each node, zero where its class is unknown."""
    known = np.flatnonzero(codes != UNKNOWN)
    Y = np.zeros((len(codes), n_classes))
    Y[known, codes[known]] = 1.0
    return Y
