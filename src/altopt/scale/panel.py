"""F's linear system on a panel of columns, in blocks of rows: what one pass over the edges does."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.operator.kernels.dispatch import required
from altopt.operator.kernels.native import aligned, bits, padded
from altopt.scale.edge_stream import EdgeBlock, EdgeStream
from altopt.threads import kernel_threads
from altopt.views import Curvature


@dataclass(frozen=True)
class Labels:
    """Labelled nodes, rising, and their class numbers."""

    nodes: Array
    codes: Array

    def within(self, first: int, last: int) -> tuple[Array, Array]:
        """Of nodes first..last: their rows from `first` on, and their classes."""
        begin, end = np.searchsorted(self.nodes, (first, last))
        return self.nodes[begin:end] - first, self.codes[begin:end]


@dataclass(frozen=True)
class ViewWeights:
    """lambda1 and lambda2; the graph's weight is 1.

    The diagonal of H is one number, and another on labelled nodes; so are its bounds.

    >>> ViewWeights(2.0, 3.0).bounds.step_scale
    array([3., 6.])
    """

    feature: float
    label: float

    @property
    def bounds(self) -> Curvature:
        """Bounds on H of unlabelled and of labelled nodes."""
        own = np.array([self.feature, self.feature + self.label])
        return Curvature(lower=own, upper=own + 2.0, step_scale=own + 1.0)


class PanelSystem:
    """H F = lambda1 P + lambda2 Y on columns first..last of F, with H = diag(scale) - A_tilde.

    Blocks hold G = D^-1/2 F, one row a node, padded to whole vectors; `rest` is rhs / scale in these coordinates.
    Nothing but blocks has a number for each node: degrees come with the edges, scale from the labels.

    Parameters
    ----------
    edges : EdgeStream
    weights : ViewWeights
    labels : Labels
    columns : (int, int)
        First and last class of the panel.
    dtype : float16, float32 or float64
        In which blocks are stored; float16 is computed with in float32.
    """

    def __init__(
        self, edges: EdgeStream, weights: ViewWeights, labels: Labels, columns: tuple[int, int], dtype: Any
    ) -> None:
        self.edges, self.weights, self.labels, self.columns = edges, weights, labels, columns
        self.dtype, self.width = np.dtype(dtype), columns[1] - columns[0]
        self.compute_dtype = np.dtype(np.float64 if self.dtype == np.float64 else np.float32)
        self.n_nodes = edges.csr.n_nodes

    def empty(self) -> Array:
        return aligned((self.n_nodes, padded(self.width)), self.dtype)

    def scale(self, first: int, last: int) -> Array:
        """The diagonal of H at nodes first..last."""
        unlabelled, labelled = np.asarray(self.weights.bounds.step_scale)
        scale = np.full(last - first, unlabelled)
        scale[self.labels.within(first, last)[0]] = labelled
        return scale

    def put(self, out: Array, first: int, degrees: Array, values: Array, factor: Array | float = 1.0) -> None:
        """Rows of all classes from node `first` on, times a factor, as rows of a block."""
        by = (factor / np.sqrt(degrees)).astype(self.compute_dtype)
        move_in(values, self.columns[0], self.width, out, by)

    def put_rest(self, out: Array, first: int, degrees: Array, P: Array) -> None:
        """rhs / scale of the nodes from `first` on, from their rows of P and their labels."""
        self.put(out, first, degrees, P, self.weights.feature / self.scale(first, first + len(P)))
        nodes, codes = self.labels_within(first, first + len(P))
        scale = float(np.asarray(self.weights.bounds.step_scale)[1])
        out[nodes, codes] += (self.weights.label / scale / np.sqrt(degrees[nodes])).astype(self.dtype)

    def labels_within(self, first: int, last: int) -> tuple[Array, Array]:
        """Labels of nodes first..last that are of the panel: their rows from `first` on, and their columns."""
        nodes, codes = self.labels.within(first, last)
        here = (codes >= self.columns[0]) & (codes < self.columns[1])
        return nodes[here], codes[here] - self.columns[0]

    def step(
        self,
        X: Array,
        out: Array,
        rest: Array,
        *,
        gain: float,
        keep: float,
        beta: float = 0.0,
        with_norms: bool = True,
    ) -> tuple[float, float]:
        """out <- gain r(X) / scale + keep X + beta out; the squares of ||r(X)|| and ||X||, of F not of G.

        They take a pass over X of their own; without norms they are NaN.
        """
        r_square = x_square = 0.0
        for block in self.edges:
            rows = slice(block.first, block.last)
            square, own = self.block_step(
                block, X, out[rows], rest[rows], gain=gain, keep=keep, beta=beta, with_norms=with_norms
            )
            r_square, x_square = r_square + square, x_square + own
        return r_square, x_square

    def block_step(
        self,
        block: EdgeBlock,
        X: Array,
        out: Array,
        rest: Array,
        *,
        gain: float = 1.0,
        keep: float = 0.0,
        beta: float = 0.0,
        with_norms: bool = True,
    ) -> tuple[float, float]:
        """The rows of a step that belong to a block of edges."""
        compiled, real, scale = kernels(), self.compute_dtype, self.scale(block.first, block.last)
        coupling = (1.0 / scale).astype(real) * (1.0 / block.degrees).astype(real)
        degrees = block.degrees.astype(real)
        weights = None if block.weights is None else block.weights.astype(real, copy=False)
        square = compiled.step(
            block.indptr,
            block.indices,
            weights,
            bits(X),
            bits(out),
            coupling,
            np.full(len(scale), -1.0, real),
            bits(rest),
            gain,
            keep,
            beta,
            (scale**2).astype(real) * degrees if with_norms else None,
            kernel_threads(),
            block.first,
        )
        if not with_norms:
            return float("nan"), float("nan")
        own, by_column = X[block.first : block.last], np.empty(X.shape[1])
        compiled.dots(bits(own), bits(own), degrees, by_column, kernel_threads())
        return float(square), float(by_column.sum())


def kernels() -> Any:
    """The compiled kernels, which blocks of edges need."""
    return required("a fit with memory=", "fit without memory=")


def move_in(values: Array, first: int, width: int, out: Array, factor: Array) -> None:
    """Columns from `first` on of some rows, times a factor each, into rows of a block."""
    values = np.ascontiguousarray(values, values.dtype if values.dtype == np.float64 else np.float32)
    kernels().to_layout(values, first, width, bits(out), None, factor, kernel_threads())


def move_out(block: Array, out: Array, first: int, width: int, factor: Array) -> None:
    """Rows of a block, times a factor each, into columns from `first` on."""
    kernels().from_layout(bits(block), out, first, width, None, factor, kernel_threads())
