"""What encoder inputs must do: rows for the fitted nodes, for nodes that come later, and where edges change."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp

from altopt.arrays import BLOCK_ROWS, SMALL_BLOCK_ROWS, Array, allocate, row_blocks
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency

EAGER = 16_000_000  # numbers in X' up to which the encoder's inputs are made at once


@dataclass(frozen=True)
class NewNodes:
    """Nodes that were not there at the fit: m of them, tied to the n known ones and to each other.

    The three matrices are m x (n + m), known nodes first. Known nodes' inputs stay as they are.
    """

    X: Any
    ties: Any  # their rows of A_tilde
    out: Any  # weights of the edges that lead from them; of all their edges, where the graph has no direction
    into: Any  # weights of the edges that lead to them
    restart: float  # of the fit's diffusion
    n_steps: int

    @property
    def isolated(self) -> Array:
        return without_entries(self.ties)


@dataclass(frozen=True)
class ChangedNodes:
    """Known nodes near edges that changed: m of them, by their place among the n nodes that there are now.

    The matrices are m x n. What is kept of all other nodes stays as it is.
    """

    nodes: Array
    ties: Any  # their rows of A_tilde now
    ties_before: Any  # and before the change
    out: Any  # weights now of the edges that lead from them, as in NewNodes
    into: Any
    restart: float
    n_steps: int


@runtime_checkable
class Prepared(Protocol):
    """Encoder inputs of the fitted nodes, and the way to make those of nodes that come later."""

    @property
    def Z(self) -> Any:
        """What is kept of each node, before rows are scaled: one row per node, to be cut by rows."""

    def rows(self, Z: Any) -> Any:
        """Z as the encoder reads it."""

    def extend(self, new: NewNodes) -> Any:
        """Z of new nodes, from their own features and their edges; zeros where a node has nothing to go by."""

    def renewed(self, changed: ChangedNodes) -> Any:
        """Z of known nodes with their edges as they are now; what it was, up to rounding, where none changed."""

    def with_rows(self, Z: Any, at: Array | None = None) -> "Prepared":
        """These with Z of further nodes at the end, or in the place of what nodes `at` had.

        Rows are replaced in place where Z is dense: what it was made from is not to be used any more.
        """

    def state(self) -> dict[str, Array]:
        """What must be stored to rebuild this, as named arrays."""


@runtime_checkable
class Inputs(Protocol):
    """A way to turn the graph and X into encoder inputs."""

    def prepare(
        self, graph: Graph, A_tilde: NormalizedAdjacency, X: Any, restart: float, n_steps: int, seed: int
    ) -> Prepared:
        """`graph` holds edges as they were given, with their direction where that was kept; A_tilde is symmetric.

        `restart` and `n_steps` are those of AltOpt's diffusion. The same seed gives the same bits, and the
        numbering of nodes does not matter.
        """

    def restore(self, state: dict[str, Array]) -> Prepared:
        """The inverse of Prepared.state."""

    def width(self, n_nodes: int, n_features: int, n_edges: int) -> float:
        """How many 4-byte numbers are kept of each node, about: what a fit tells its user about memory."""


class OneZ:
    """For inputs that keep one matrix Z: rows of it added or replaced."""

    Z: Any

    def with_rows(self, Z: Any, at: Array | None = None) -> Self:
        return replace(self, Z=put_rows(self.Z, Z, at))  # type: ignore[type-var]


def put_rows(Z: Any, rows: Any, at: Array | None) -> Any:
    """Z, dense or sparse, with rows at its end, or in the place of rows `at`."""
    if sp.issparse(Z):
        both = sp.csr_array(sp.vstack([Z, sp.csr_array(rows)], format="csr"), dtype=Z.dtype)
        if at is None:
            return both
        order = np.arange(Z.shape[0])
        order[at] = Z.shape[0] + np.arange(len(at))
        return both[order]
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=Z.dtype)
    if at is None:
        return np.concatenate([Z, rows])
    Z = Z if Z.flags.writeable else Z.copy()
    Z[at] = rows
    return Z


class LazyRows:
    """The encoder's inputs made when they are asked for: a block of rows at a time, never all at once."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        one = prepared.rows(prepared.Z[:1])
        self.shape, self._sparse = (prepared.Z.shape[0], one.shape[1]), sp.issparse(one)
        self.dtype = np.dtype(np.float32)

    def __getitem__(self, rows: Any) -> Any:
        Z = self._prepared.Z
        if isinstance(rows, slice) or len(rows) <= BLOCK_ROWS or self._sparse:
            return self._prepared.rows(Z[rows])
        out = allocate((len(rows), self.shape[1]), self.dtype)
        for block in row_blocks(
            len(rows), SMALL_BLOCK_ROWS
        ):  # nothing as large as the result is held besides it
            out[block] = self._prepared.rows(Z[rows[block]])
        return out


def encoder_rows(prepared: Prepared, most: int = EAGER) -> Any:
    """The encoder's inputs of all nodes: an array of at most `most` numbers, or else made block by block."""
    Z = prepared.Z
    return prepared.rows(Z) if sp.issparse(Z) or Z.size <= most else LazyRows(prepared)


def settle_isolated(isolated: Array, Z: Array, restart: float) -> Array:
    """A node without neighbours keeps its own features: undo the `restart` that diffusion scales them by."""
    if 0.0 < restart < 1.0 and isolated.any():
        Z[isolated] /= restart
    return Z


def diffused_from(known: Any, own: Any, new: NewNodes) -> Any:
    """Z of new nodes: their own coordinates, diffused with the known nodes' Z held fixed."""
    if new.restart == 1.0:
        return own
    own = np.asarray(own.toarray() if sp.issparse(own) else own, dtype=np.float32)
    n = known.shape[0]
    ties = new.ties.astype(np.float32)
    own_share, taken = np.float32(new.restart), np.float32(1 - new.restart)
    from_known = taken * product(ties[:, :n], known) + own_share * own
    among_new = ties[:, n:]
    Z = own
    for _ in range(new.n_steps):
        Z = from_known + taken * np.asarray(among_new @ Z)
    return settle_isolated(new.isolated, Z, new.restart)


def diffused_again(Z: Any, changed: ChangedNodes) -> Any:
    """Z of changed nodes diffused over the edges as they are now, all other nodes' Z held fixed.

    A node's own features are what makes its Z the fixed point of Z = (1 - restart) A_tilde Z + restart own before
    the change; a node without neighbours has Z = own.
    """
    before, restart = Z[changed.nodes], changed.restart
    if restart == 1.0:
        return before
    now = before.astype(np.float64)
    alone = without_entries(changed.ties_before)
    own = (now - (1 - restart) * product(changed.ties_before, Z)) / np.where(alone, 1.0, restart)[:, None]
    inside = changed.ties[:, changed.nodes]
    fixed = (1 - restart) * (product(changed.ties, Z) - np.asarray(inside @ now)) + restart * own
    for _ in range(changed.n_steps):
        now = fixed + (1 - restart) * np.asarray(inside @ now)
    return settle_isolated(without_entries(changed.ties), now, restart).astype(Z.dtype)


def product(rows: Any, Z: Array) -> Array:
    """A few sparse rows times Z, of which only the rows that count are read."""
    columns, place = np.unique(rows.indices, return_inverse=True)
    narrow = sp.csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], len(columns)))
    return np.asarray(narrow @ Z[columns].astype(rows.dtype))


def without_entries(rows: Any) -> Array:
    return np.asarray(np.diff(rows.indptr) == 0)
