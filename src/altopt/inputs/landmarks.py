"""Multidimensional scaling on landmarks: coordinates that keep the distances between nodes' features."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.memory import NUMBER, InputMemory, SourceShape, stored_bytes
from altopt.io.array_io import finite
from altopt.operator.columns import Columns
from altopt.operator.scaling import unit_rows
from altopt.settings import check_choice, check_count

Distance = Literal["cosine", "euclidean"]
SMALLEST_EIGENVALUE = 1e-6  # of the largest: directions below it are noise of rounding


@dataclass(frozen=True)
class PreparedLandmarks(PreparedMatrix):
    Z: Array  # n x k coordinates
    landmarks: Array  # m x d features of the landmarks, as distances read them
    projection: Array  # m x k, from squared distances to coordinates
    middle: Array  # m: mean squared distances of the landmarks
    columns: Columns
    distance: Distance

    def rows(self, Z: Array) -> Array:
        return Z

    def extend(self, new: NewNodes) -> Array:
        return self.coordinates(compared(self.columns.transform(new.X), self.distance))

    def renewed(self, changed: ChangedNodes) -> Array:
        return np.asarray(self.Z[changed.nodes])

    def coordinates(self, X: Any) -> Array:
        """Where a node lies by its distances to the landmarks: (middle - d^2) / 2 times the projection."""
        return np.asarray((self.middle - squared_distances(X, self.landmarks)) / 2 @ self.projection).astype(
            np.float32
        )

    @property
    def n_features(self) -> int:
        return len(self.columns.kind)

    @property
    def nbytes(self) -> float:
        kept = (self.Z, self.landmarks, self.projection, self.middle[None])
        return float(sum(stored_bytes(part) for part in kept))

    def state(self) -> dict[str, Array]:
        arrays = {"Z": self.Z, "landmarks": self.landmarks, "projection": self.projection}
        return arrays | {"middle": self.middle} | self.columns.state()


@dataclass(frozen=True)
class LandmarkInputs(Inputs):
    """Coordinates whose distances are those between the nodes' features: classical scaling on landmarks.

    m landmarks far from one another are placed by the leading eigenvectors of their doubly centred squared distances,
    B = -1/2 J D^2 J = V diag(l) V'; every node then lies at diag(l)^-1/2 V' (mean of D^2 - d^2) / 2, d its distances to
    the landmarks. Columns of X are read by their kind. The graph plays no part.

    Parameters
    ----------
    n_components : int, default 64
        Coordinates; zero where the landmarks span fewer.
    n_landmarks : int, default 300
    distance : {"cosine", "euclidean"}, default "cosine"
        "cosine" compares rows of length one, as suits words.

    Examples
    --------
    >>> from altopt import Graph
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1)], n_nodes=3)
    >>> X = np.array([[0.5, 1.5], [3.5, 5.5], [0.5, 5.5]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=1.0, n_steps=0, seed=0)
    >>> Z = LandmarkInputs(n_components=2, distance="euclidean").prepare(source).Z
    >>> Z.shape
    (3, 2)
    """

    n_components: int = 64
    n_landmarks: int = 300
    distance: Distance = "cosine"

    def __post_init__(self) -> None:
        check_count(self, "n_components")
        check_count(self, "n_landmarks", 2)
        check_choice(self, "distance", ("cosine", "euclidean"))

    def prepare(self, source: InputSource) -> PreparedLandmarks:
        X = compared(source.columns.transform(source.X), self.distance)
        m = min(self.n_landmarks, X.shape[0])
        landmarks = dense(X[far_apart(X, m)])
        D2 = squared_distances(landmarks, landmarks)
        B = -(D2 - D2.mean(axis=0) - D2.mean(axis=1)[:, None] + D2.mean()) / 2
        values, V = np.linalg.eigh(B)
        k = min(self.n_components, m)
        values, V = values[::-1][:k], V[:, ::-1][:, :k]
        spanned = values > SMALLEST_EIGENVALUE * max(float(values[0]), 1e-30)
        projection = V * np.where(spanned, 1 / np.sqrt(np.where(spanned, values, 1.0)), 0.0)
        made = PreparedLandmarks(
            np.empty((0, k), np.float32),
            landmarks.astype(np.float32),
            projection.astype(np.float32),
            D2.mean(axis=0).astype(np.float32),
            source.columns,
            self.distance,
        )
        return replace(made, Z=made.coordinates(X))

    def restore(self, state: dict[str, Array]) -> PreparedLandmarks:
        Z, landmarks = finite(state, "Z", (None, None)), finite(state, "landmarks", (None, None))
        m, columns = len(landmarks), Columns.restore(state)
        projection, middle = finite(state, "projection", (m, Z.shape[1])), finite(state, "middle", (m,))
        if landmarks.shape[1] != len(columns.kind):
            raise InputError("The stored landmarks have other columns than the features.")
        return PreparedLandmarks(Z, landmarks, projection, middle, columns, self.distance)

    def memory(self, shape: SourceShape) -> InputMemory:
        m = min(self.n_landmarks, shape.n_nodes)
        k = min(self.n_components, m)
        kept = float(NUMBER * m * (shape.n_features + k + 1))
        return InputMemory(shape.block(k), kept, shape.x_bytes + 4 * shape.block(m))


def compared(X: Any, distance: Distance) -> Any:
    """The rows that are compared: of length one for cosines."""
    X = X.astype(np.float32)
    return unit_rows(X) if distance == "cosine" else X


def far_apart(X: Any, m: int) -> Array:
    """m rows: that farthest from the mean, then again and again the one farthest from those taken."""
    mean = dense(X.mean(axis=0)).reshape(1, -1)
    chosen = [int(np.argmax(squared_distances(X, mean)[:, 0]))]
    nearest = squared_distances(X, dense(X[chosen]))[:, 0]
    while len(chosen) < m:
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, squared_distances(X, dense(X[chosen[-1:]]))[:, 0])
    return np.array(chosen)


def squared_distances(X: Any, rows: Array) -> Array:
    """||x_i - r_j||^2, n x m, in float64."""
    products = np.asarray(X @ rows.T.astype(X.dtype), dtype=np.float64)
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.sum(X * X, axis=1)
    norms = np.asarray(squares, dtype=np.float64).ravel()
    lengths = np.sum(rows.astype(np.float64) ** 2, axis=1)
    return np.asarray(np.maximum(norms[:, None] - 2 * products + lengths, 0.0))


def dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)
