"""The k-nearest-neighbour graph of X, for data that comes without a graph."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.settings import check_setting
from altopt.operator.columns import MEASUREMENT, Columns
from altopt.operator.feature_matrix import has_missing
from altopt.operator.kinds import columns_of

METRICS = ("euclidean", "cosine", "cityblock", "chebyshev")

Ends = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Neighbours:
    """The nearest neighbours of rows among the rows of X.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_nodes, n_features)
        The known rows.
    n_neighbors : int, default 10
        Neighbours of each row.
    metric : str, optional
        "euclidean", "cosine", "cityblock" or "chebyshev". Default: "cosine" for a sparse X, else "euclidean".
    columns : Columns, optional
        How X was read, and further rows are to be; None: as they are.

    Examples
    --------
    >>> neighbours = Neighbours(np.array([[0.0], [1.0], [5.0], [6.0]]), n_neighbors=1)
    >>> neighbours.graph()
    Graph(4 nodes, 2 edges, unweighted)
    >>> rows, known = neighbours.edges_of(np.array([[0.9]]))
    >>> rows.tolist(), known.tolist()
    ([0], [1])
    """

    X: Any
    n_neighbors: int = 10
    metric: str | None = None
    columns: Columns | None = None

    def __post_init__(self) -> None:
        check_setting("n_neighbors", self.n_neighbors)
        if self.metric is not None and self.metric not in METRICS:
            raise InputError(f"metric must be one of {', '.join(METRICS)}, but is {self.metric!r}.")

    @classmethod
    def by_kind(cls, X: Any, n_neighbors: int = 10) -> "Neighbours":
        """Rows of X with each column by its kind, compared by their angle where most numbers are 0.

        Counts alone have one unit, and are compared as they are.
        """
        columns = columns_of(X)
        if not (columns.kind == MEASUREMENT).any() and not has_missing(X):
            columns = Columns.as_given(np.zeros(X.shape[1]))
        rows = columns.transform(X)
        n_nonzero = rows.count_nonzero() if sparse.issparse(rows) else np.count_nonzero(rows)
        if 2 * n_nonzero < rows.shape[0] * rows.shape[1]:
            return cls(sparse.csr_array(rows), n_neighbors, "cosine", columns)
        return cls(rows.toarray() if sparse.issparse(rows) else rows, n_neighbors, "euclidean", columns)

    def graph(self) -> Graph:
        """An edge of weight 1 wherever one of two rows is among the nearest of the other."""
        n = self.X.shape[0]
        return Graph(np.stack(self._nearest(None, min(self.n_neighbors, n - 1), n)), n_nodes=n)

    def edges_of(self, X_new: Any) -> Ends:
        """Rows of X_new and, for each, one of its nearest rows of X."""
        return self._nearest(self._read(X_new), min(self.n_neighbors, self.X.shape[0]), X_new.shape[0])

    def with_rows(self, X_new: Any) -> "Neighbours":
        """The same with further rows of X at the end."""
        X_new = self._read(X_new)
        if sparse.issparse(self.X):
            return replace(self, X=sparse.csr_array(sparse.vstack([self.X, X_new])))
        return replace(self, X=np.concatenate([self.X, X_new]))

    def _read(self, X_new: Any) -> Any:
        """Further rows, read as X was and in its form."""
        rows = X_new if self.columns is None else self.columns.transform(X_new)
        if sparse.issparse(self.X):
            return sparse.csr_array(rows, dtype=self.X.dtype)
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=self.X.dtype)

    def _nearest(self, X_new: Any, k: int, n: int) -> Ends:
        from sklearn.neighbors import NearestNeighbors

        if not (k and n):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        metric = self.metric or ("cosine" if sparse.issparse(self.X) else "euclidean")
        index = NearestNeighbors(n_neighbors=k, metric=metric).fit(self.X)
        nearest = index.kneighbors(X_new, return_distance=False)  # None: the rows of X, each without itself
        return np.repeat(np.arange(n), k), nearest.astype(np.int64).ravel()


def neighbour_graph(X: Any, n_neighbors: int = 10, metric: str | None = None) -> Graph:
    """The symmetric k-nearest-neighbour graph of X as it is, unweighted."""
    return Neighbours(X, n_neighbors, metric).graph()
