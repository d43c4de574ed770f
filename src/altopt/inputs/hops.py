"""The features zero, one and more hops away, side by side: [X, S X, S^2 X, ...]."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.inputs.blocks import BlockInputs
from altopt.inputs.directions import (
    few_columns,
    gram_of,
    leading_directions,
    principal_directions,
    random_start,
)
from altopt.inputs.inputs import ChangedNodes, ColumnMap, Inputs, InputSource, NewNodes, PreparedMatrix
from altopt.inputs.kind import KindInputs
from altopt.inputs.local_diffusion import product
from altopt.inputs.memory import NUMBER, InputMemory, SourceShape, sketch_bytes, stored_bytes
from altopt.inputs.neighbours import edges_along
from altopt.inputs.reduced import Projection, check_directions, features_of
from altopt.io.array_io import rows_of, with_prefix
from altopt.operator import NormalizedAdjacency, diffusion
from altopt.operator.diffusion import Average, Direction, neighbour_mean
from altopt.operator.feature_matrix import FeatureMatrix
from altopt.operator.scaling import Scaling, row_stochastic
from altopt.settings import check_choice, check_counts


@dataclass(frozen=True)
class PreparedHops(PreparedMatrix):
    Z: Array  # n x (1 + n_hops) k: hops 0, 1, ... side by side
    coordinates: Projection  # of a node's own features
    scalings: tuple[Scaling, ...]  # one for each hop that the encoder reads
    hops: tuple[int, ...]
    direction: Average

    def _hop(self, Z: Array, hop: int) -> Array:
        k = self.coordinates.V.shape[1]
        return Z[:, hop * k : (hop + 1) * k]

    def rows(self, Z: Array) -> Array:
        parts = [scaling.rows(self._hop(Z, hop)) for hop, scaling in zip(self.hops, self.scalings)]
        return np.concatenate(parts, axis=1)

    def extend(self, new: NewNodes) -> Array:
        return hops_of_new(self._rows_of_S(new), self.Z, self.coordinates(new.X))

    def renewed(self, changed: ChangedNodes) -> Array:
        nodes = changed.nodes
        return hops_of_changed(self._rows_of_S(changed), self.Z, nodes, self._hop(self.Z[nodes], 0))

    @property
    def n_features(self) -> int:
        return len(self.coordinates.V)

    def _rows_of_S(self, rows: NewNodes | ChangedNodes) -> Any:
        if self.direction == "both":
            return rows.ties.astype(np.float32)
        way: Direction = "both" if self.direction == "mean" else self.direction
        return row_stochastic(edges_along(rows, way)).astype(np.float32)

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        return [ColumnMap(self.coordinates.V.shape[1], self.coordinates.V) for _ in self.hops]

    @property
    def nbytes(self) -> float:
        return stored_bytes(self.Z) + stored_bytes(self.coordinates.V)

    def state(self) -> dict[str, Array]:
        arrays = {"Z": self.Z} | self.coordinates.state()
        for hop, scaling in zip(self.hops, self.scalings):
            arrays |= {f"hop{hop}.{name}": value for name, value in scaling.state().items()}
        return arrays


@dataclass(frozen=True)
class HopInputs(Inputs):
    """The features some hops away, side by side: x_i = [S^h X V for h in hops]_i, each scaled to mean squared length 1.

    S averages over neighbours. V (d x k) holds the leading right singular vectors of all hops stacked, each hop
    counting alike; one V for all hops, so that hop h + 1 is one product with S away from hop h, for new nodes too. A
    wide or large S^h X is never formed: a randomised range finder multiplies by it and its transpose. A node without
    neighbours has zeros at every hop but 0.

    Parameters
    ----------
    hops : tuple of int, default (0, 1, 2)
        Increasing, from 0 on.
    direction : {"both", "mean", "out", "in"}, default "both"
        S = A_tilde, or the mean over all neighbours, over the nodes that edges lead to, or that they come from. The
        latter two need a directed graph.
    n_components : int, default 128
        Columns k of each hop; all d where X has fewer.
    row_exponent : float, default 0.5
        Rows are divided by (length / mean length)^row_exponent: 0 keeps their lengths, 1 makes them equal.
    by_kind : bool, default True
        Read each column of X by its kind: roots of counts, measurements standardised. False: as they are.
    n_power : int, default 2
        Power iterations of the range finder.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import HopInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2)], n_nodes=3)
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), np.eye(3), restart=0.2, n_steps=10, seed=0)
    >>> HopInputs(hops=(0, 1), by_kind=False).prepare(source).Z.round(2)  # [X, A_tilde X]
    array([[1.  , 0.  , 0.  , 0.  , 0.71, 0.  ],
           [0.  , 1.  , 0.  , 0.71, 0.  , 0.71],
           [0.  , 0.  , 1.  , 0.  , 0.71, 0.  ]], dtype=float32)
    """

    hops: tuple[int, ...] = DEFAULTS.hops
    direction: Average = "both"
    n_components: int = DEFAULTS.hop_components
    row_exponent: float = DEFAULTS.row_exponent
    by_kind: bool = True
    n_power: int = DEFAULTS.n_power

    def __post_init__(self) -> None:
        check_counts(self, "hops", 0)
        if not self.hops or sorted(set(self.hops)) != list(self.hops):
            raise InputError(
                f"HopInputs: hops must be increasing whole numbers from 0 on, but is {self.hops!r}."
            )
        check_choice(self, "direction", ("both", "mean", "out", "in"))
        check_directions(self)

    def prepare(self, source: InputSource) -> PreparedHops:
        features = features_of(source, self.by_kind)
        one_hop, back = both_ways(source.graph, source.A_tilde, self.direction)
        rank = min(self.n_components, features.n_rows)
        if features.n_columns <= rank:
            V = np.eye(features.n_columns, dtype=np.float32)
            blocks = all_hops(features.toarray(), one_hop, max(self.hops))
        elif few_columns(features.n_rows, features.n_columns):
            whole = all_hops(features.toarray(), one_hop, max(self.hops))
            moments = [gram_of(whole[hop], np.float32) for hop in self.hops]
            alike = [m / (float(np.trace(m)) or 1.0) for m in moments]
            V = principal_directions(np.sum(alike, axis=0), rank)
            first = whole[0] @ V
            del whole
            blocks = all_hops(first, one_hop, max(self.hops))  # S (X V) is (S X) V, of fewer columns
        else:
            V = self._directions(features, one_hop, back, rank, source.seed)
            blocks = all_hops(features.times(V), one_hop, max(self.hops))
        scalings = tuple(Scaling.of(blocks[hop], self.row_exponent) for hop in self.hops)
        coordinates = Projection(V, features.columns)
        return PreparedHops(np.concatenate(blocks, axis=1), coordinates, scalings, self.hops, self.direction)

    def _directions(self, features: FeatureMatrix, one_hop: Any, back: Any, rank: int, seed: int) -> Array:
        """The leading right singular directions of the hops stacked, each divided by its size."""
        last = max(self.hops)
        start = random_start(features, rank, seed)
        sketch = all_hops(
            features.times(start), one_hop, last
        )  # as large as the hops themselves, up to one factor
        size = [float(np.linalg.norm(sketch[hop])) or 1.0 for hop in self.hops]

        def stacked(blocks: list[Array]) -> Array:
            return np.concatenate([blocks[hop] / np.float32(s) for hop, s in zip(self.hops, size)])

        def spread(block: Array) -> Array:
            return stacked(all_hops(block, one_hop, last))

        def spread_back(Q: Array) -> Array:
            parts = dict(zip(self.hops, np.split(Q, len(self.hops))))
            scale = dict(zip(self.hops, size))
            total = parts[last] / np.float32(scale[last])
            for hop in range(last - 1, -1, -1):  # Horner: S'(S'(Q2) + Q1) + Q0
                total = back(total)
                if hop in parts:
                    total += parts[hop] / np.float32(scale[hop])
            return np.asarray(total)

        def first() -> Array:
            blocks = stacked(sketch)
            sketch.clear()
            return blocks

        return leading_directions(
            features, spread, rank, self.n_power, seed, spread_back=spread_back, first=first
        )

    def apart(self, kinds: tuple[str, ...]) -> Inputs:
        """Hop 0 once, then those of each kind; blocks of one size where rows are scaled."""
        further = tuple(hop for hop in self.hops if hop)
        if not further:
            return self
        own = (replace(self, hops=(0,)),) if 0 in self.hops else ()
        parts = (*own, *(KindInputs(kind, replace(self, hops=further)) for kind in kinds))
        return BlockInputs(parts, scaling="size" if self.row_exponent else None)

    def restore(self, state: dict[str, Array]) -> PreparedHops:
        of_hop = [with_prefix(state, f"hop{hop}.") for hop in self.hops]
        scalings = tuple(Scaling.restore(part, self.row_exponent) for part in of_hop)
        coordinates = Projection.restore(state)
        Z = rows_of(state, "Z", coordinates.V.shape[1] * (1 + max(self.hops)))
        return PreparedHops(Z, coordinates, scalings, self.hops, self.direction)

    def memory(self, shape: SourceShape) -> InputMemory:
        n_features, rank, n_blocks = shape.n_features, shape.rank(self.n_components), 1 + max(self.hops)
        kept = n_blocks * shape.block(rank)
        if n_features <= rank:
            preparing = kept
        elif few_columns(shape.n_nodes, n_features):
            preparing = n_blocks * shape.block(n_features + rank)
        else:
            preparing = sketch_bytes(shape, rank, 3 * n_blocks)
        return InputMemory(kept, NUMBER * n_features * rank, preparing + shape.diffusion(rank))


def all_hops(block: Array, one_hop: Any, last: int) -> list[Array]:
    blocks = [block]
    for _ in range(last):
        blocks.append(one_hop(blocks[-1]))
    return blocks


def hops_of_new(S: Any, Z: Array, own: Array) -> Array:
    """All hops of new nodes, with rows S, from those Z of known ones: `own` at hop 0.

    Hop k of a new node is what its neighbours, known or new, have at hop k - 1.
    """
    n, width, blocks = len(Z), own.shape[1], [own]
    for first in range(0, Z.shape[1] - width, width):
        blocks.append(np.asarray(product(S[:, :n], Z[:, first : first + width]) + S[:, n:] @ blocks[-1]))
    return np.concatenate(blocks, axis=1)


def hops_of_changed(S: Any, Z: Array, nodes: Array, own: Array) -> Array:
    """All hops of known nodes whose rows are S by now: `own` at hop 0.

    Hop k of a node is what its neighbours have at hop k - 1, changed nodes as they are by then.
    """
    width, among, blocks = own.shape[1], S[:, nodes], [own]
    for first in range(0, Z.shape[1] - width, width):
        before = Z[:, first : first + width]
        blocks.append(np.asarray(product(S, before) + among @ (blocks[-1] - before[nodes])))
    return np.concatenate(blocks, axis=1)


def both_ways(graph: Graph, A_tilde: NormalizedAdjacency, direction: Average) -> tuple[Any, Any]:
    """What multiplies by S, and by its transpose."""
    if direction == "both":

        def one_hop(block: Array) -> Array:
            return diffusion.steps(A_tilde, block, 0.0, 1)

        return one_hop, one_hop
    S = neighbour_mean(graph, "both" if direction == "mean" else direction).astype(np.float32)
    S_back = sp.csr_array(S.T)
    return (lambda block: np.asarray(S @ block)), (lambda block: np.asarray(S_back @ block))
