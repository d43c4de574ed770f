"""The memory of encoder inputs: the sizes it depends on, and the bytes that inputs state for them."""

from dataclasses import dataclass
from typing import Any

import scipy.sparse as sp

from altopt.operator.diffusion import buffer_bytes

NUMBER = 4  # bytes of a float32
ENTRY = 8  # bytes of an entry of a sparse matrix: a float32 and its column
INDEX = 4  # bytes of a row pointer
SKETCH_COLUMNS = 10  # columns that the range finder takes besides those wanted


@dataclass(frozen=True)
class SourceShape:
    """The sizes of an InputSource.

    Attributes
    ----------
    n_nodes, n_features, n_edges : int
    n_directed : int or None
        Directed edges; None where the graph keeps no direction.
    x_bytes : float
        X in float32, as it is stored: dense or sparse.
    sparse : bool
        Whether X is sparse.
    diffuses : bool
        Whether features are diffused: restart < 1.
    n_classes : int
    """

    n_nodes: int
    n_features: int
    n_edges: int
    n_directed: int | None = None
    x_bytes: float = 0.0
    sparse: bool = False
    diffuses: bool = True
    n_classes: int = 0

    @classmethod
    def of(
        cls,
        X: Any,
        n_edges: int,
        n_directed: int | None = None,
        *,
        diffuses: bool = True,
        n_classes: int = 0,
    ) -> "SourceShape":
        """The sizes for features X and a graph of so many edges."""
        n_nodes, n_features = X.shape
        return cls(
            n_nodes,
            n_features,
            n_edges,
            n_directed,
            stored_bytes(X, NUMBER),
            sp.issparse(X),
            diffuses,
            n_classes,
        )

    def block(self, n_columns: float) -> float:
        """Bytes of a dense float32 block of so many columns."""
        return float(NUMBER * self.n_nodes * n_columns)

    def rank(self, n_components: int) -> int:
        """Leading directions that there are of X, at most n_components."""
        return min(n_components, self.n_nodes, self.n_features)

    def diffusion(self, n_columns: int) -> float:
        """Bytes that a diffusion of so many columns needs besides them."""
        return buffer_bytes(self.n_nodes, n_columns)


@dataclass(frozen=True)
class InputMemory:
    """Bytes that encoder inputs take.

    Attributes
    ----------
    rows : float
        Of Z, what is kept of the nodes.
    projection : float
        Of what is kept besides, to make the inputs of new nodes.
    preparing : float
        At most, while the inputs are made, besides what is kept.
    """

    rows: float
    projection: float = 0.0
    preparing: float = 0.0

    @property
    def kept(self) -> float:
        return self.rows + self.projection


def stored_bytes(Z: Any, itemsize: int | None = None) -> float:
    """Bytes of a dense or sparse matrix, its numbers taking `itemsize` bytes each if given."""
    if sp.issparse(Z):
        return float((itemsize or Z.data.itemsize) * Z.nnz + Z.indices.nbytes + Z.indptr.nbytes)
    return float((itemsize or Z.dtype.itemsize) * Z.shape[0] * Z.shape[1])


def sketch_bytes(shape: SourceShape, rank: int, n_blocks: int) -> float:
    """Bytes of the range finder's blocks."""
    return n_blocks * shape.block(rank + SKETCH_COLUMNS)
