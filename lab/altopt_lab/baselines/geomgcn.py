"""Geom-GCN (Pei et al., 2020): neighbours in the graph and in a plane it is laid out in, sorted by direction."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from scipy.sparse.csgraph import shortest_path
from sklearn.decomposition import KernelPCA
from sklearn.metrics import pairwise_distances
from torch.autograd.function import once_differentiable

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.operator.kernels.dropout import Masks
from altopt.operator.kernels.product import step
from altopt_lab.baselines.baseline import GraphData
from altopt_lab.baselines.geometric import FirstLinear
from altopt_lab.baselines.graph_input import Batch, WholeGraph
from altopt_lab.baselines.modules import relu_and_dropout
from altopt_lab.baselines.products import Features, as_array
from altopt_lab.baselines.training import Network

QUARTERS = 4
PARTS = 2 * QUARTERS
MAX_NODES = 20_000  # a table of distances between all of them is held


@dataclass(kw_only=True, eq=False)
class GeomGCN(Network):
    """Nodes lie in the plane by Isomap of their distances in the graph. A node's neighbours in the graph, and as many
    on average that are nearest in the plane, fall into four quarters each around it; every layer has weights for
    each of these eight parts, set side by side (their widths add up to `hidden`) and averaged in the last layer.

    Parameters
    ----------
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = GeomGCN(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.85)
    True
    """

    method: ClassVar[str] = "Geom-GCN"
    inductive: ClassVar[bool] = False
    why_transductive: ClassVar[str] = "left and right are those of its own graph laid out in the plane"
    # each part holds an eighth of the neighbours and a score is the mean of eight: decay would hold weights down
    learning_rate: float = 0.05
    weight_decay: float = 0.0

    def prepare(self, data: GraphData) -> WholeGraph:
        if data.graph.n_nodes > MAX_NODES:
            raise InputError(
                f"Geom-GCN works out the distances between all nodes; {data.graph.n_nodes:,} are too many for it, "
                f"{MAX_NODES:,} the most it takes. Take another method."
            )
        return WholeGraph(Features(data.X, self.scale_rows), neighbourhoods(data.graph.adjacency))

    def network(self, n_features: int, n_classes: int, masks: Masks) -> torch.nn.Module:
        if self.hidden % PARTS:
            raise InputError(f"hidden={self.hidden} must be a multiple of {PARTS}: each part gets its share.")
        return GeomGCNModule(n_features, n_classes, self, masks)


class GeomGCNModule(torch.nn.Module):
    def __init__(self, n_features: int, n_classes: int, settings: GeomGCN, masks: Masks) -> None:
        super().__init__()
        self.rate, self.masks = settings.dropout, masks
        widths = [n_features] + [settings.hidden] * (settings.n_layers - 1)
        linear = [torch.nn.Linear(a, b, bias=False) for a, b in pairwise(widths)]
        self.first, self.others = FirstLinear(linear[0], self.rate, masks), torch.nn.ModuleList(linear[1:])
        self.last = torch.nn.Linear(settings.hidden, PARTS * n_classes, bias=False)

    def forward(self, batch: Batch) -> torch.Tensor:
        H = self.first(batch.X)
        for layer in (*self.others, self.last):
            gathered = torch.cat(gather(batch.A, H), dim=1)
            H = layer(relu_and_dropout(gathered, self.rate, self.masks, self.training))
        return batch.select(torch.stack(gather(batch.A, H)).mean(dim=0))


def gather(matrices: list["Matrix"], H: torch.Tensor) -> list[torch.Tensor]:
    """Each part's sum over its neighbours, of its share of the columns."""
    return [matrix @ share for matrix, share in zip(matrices, H.chunk(PARTS, dim=1))]


class Matrix:
    """A sparse matrix that need not be symmetric, with its transpose for gradients."""

    def __init__(self, matrix: Any) -> None:
        self.forth = sp.csr_array(matrix, dtype=np.float32)
        self.back = sp.csr_array(self.forth.T)

    def __matmul__(self, H: torch.Tensor) -> torch.Tensor:
        return MatrixProduct.apply(H, self)  # type: ignore[no-untyped-call, no-any-return]


class MatrixProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, H: torch.Tensor, matrix: Matrix) -> torch.Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(step(matrix.forth, as_array(H)))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, G: torch.Tensor) -> tuple[torch.Tensor, None]:
        return torch.from_numpy(step(ctx.matrix.back, as_array(G))), None


def neighbourhoods(adjacency: Any) -> list[Matrix]:
    """Eight matrices with the neighbours in the graph and in the plane by quarter, scaled by degrees on both sides."""
    n = adjacency.shape[0]
    plane = embedding(adjacency)
    graph = sp.coo_array((np.ones(adjacency.nnz), adjacency.tocoo().coords), shape=(n, n))
    plane_neighbours = nearest(plane, adjacency.nnz)
    loops = sp.eye_array(n)
    degrees = np.asarray((graph + plane_neighbours + loops).sum(axis=1)).ravel()
    scale = sp.diags_array(degrees**-0.5)
    matrices: list[Matrix] = []
    for neighbours in (graph, plane_neighbours):
        ends = neighbours.tocoo().coords
        quarters = quarter(plane, *ends)
        for k in range(QUARTERS):
            chosen = tuple(end[quarters == k] for end in ends)
            A = sp.coo_array((np.ones(len(chosen[0])), chosen), shape=(n, n))
            A = A + loops if not matrices else A  # every node is its own neighbour, once
            matrices.append(Matrix(scale @ A @ scale))
    return matrices


def embedding(adjacency: Any) -> Array:
    """Places in the plane whose distances are those along the edges, as far as a plane can hold them."""
    distances = shortest_path(adjacency, directed=False, unweighted=True)
    reached = distances[np.isfinite(distances)]
    distances[~np.isfinite(distances)] = reached.max() + 1  # parts that no edge ties lie beyond each other
    # the second half of scikit-learn's Isomap, which has no seed of its own; the first half is the distances
    scaling = KernelPCA(n_components=2, kernel="precomputed", eigen_solver="arpack", random_state=0)
    plane = scaling.fit_transform(-0.5 * distances**2)
    # nodes in the same place are neither left nor right of each other, whatever the last digits say
    return np.asarray(np.round(plane / np.abs(plane).max(initial=1e-12), 6))


def nearest(plane: Array, n_pairs: int) -> sp.csr_array:
    """The pairs of nodes that lie closest, about `n_pairs` of them counted both ways."""
    n = len(plane)
    distances = pairwise_distances(plane)
    np.fill_diagonal(distances, np.inf)
    n_pairs = min(n_pairs, n * (n - 1))
    if n_pairs == 0:
        return sp.csr_array((n, n))
    radius = np.partition(distances, n_pairs - 1, axis=None)[n_pairs - 1]
    return sp.csr_array((distances <= radius) & np.isfinite(distances), dtype=np.float64)


def quarter(plane: Array, node: Array, neighbour: Array) -> Array:
    """0 to 3: on which side, and whether above or below, a node's neighbour lies."""
    right, above = (plane[neighbour] > plane[node]).T
    return np.asarray(2 * right.astype(np.int64) + above)
