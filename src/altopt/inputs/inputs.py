"""The contract of encoder inputs: rows for the fitted nodes, for new nodes, and for nodes whose edges change."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.inputs.keys import key_of
from altopt.inputs.memory import InputMemory, SourceShape, stored_bytes
from altopt.operator import NormalizedAdjacency
from altopt.operator.columns import Columns
from altopt.operator.kinds import columns_of


@dataclass(frozen=True)
class InputSource:
    """What encoder inputs are made from.

    Attributes
    ----------
    graph : Graph
        Edges as they were given, with their direction where the graph keeps it.
    A_tilde : NormalizedAdjacency
        The symmetric operator of the graph.
    X : array or CSR matrix of shape (n_nodes, n_features)
    restart : float
        Weight of a node's own features in the diffusion; 1 means no diffusion.
    n_steps : int
        Steps of the diffusion.
    seed : int
        The same seed gives the same bits.
    codes : array (n_nodes,) of int, optional
        The class of each node as far as the encoder may know it, -1 where it may not; read by inputs with
        `reads_labels` alone.
    n_classes : int
    """

    graph: Graph
    A_tilde: NormalizedAdjacency
    X: Any
    restart: float
    n_steps: int
    seed: int
    codes: Array | None = None
    n_classes: int = 0

    @cached_property
    def columns(self) -> Columns:
        """The kind of each column of X, and how it is read."""
        return columns_of(self.X)

    @cached_property
    def key(self) -> Array:
        """A number for each node that follows from what it is like, not from its place in the order."""
        return key_of(self)

    def with_codes(self, codes: Array) -> "InputSource":
        """The same with other labels known."""
        return self._with(replace(self, codes=codes))

    def along(self, graph: Graph, A_tilde: NormalizedAdjacency) -> "InputSource":
        """The same along other edges."""
        return self._with(replace(self, graph=graph, A_tilde=A_tilde))

    def _with(self, other: "InputSource") -> "InputSource":
        found_once = {"columns": self.columns, "key": self.key}
        other.__dict__.update(found_once)
        return other

    @property
    def shape(self) -> SourceShape:
        """Its sizes, which memory depends on."""
        directed = self.graph.directed_adjacency
        n_directed = None if directed is None else directed.nnz
        return SourceShape.of(
            self.X, self.graph.n_edges, n_directed, diffuses=self.restart < 1, n_classes=self.n_classes
        )


@dataclass(frozen=True)
class NewNodes:
    """m nodes that are not part of the fit, with edges to the n known nodes and to each other.

    The three matrices are m x (n + m), known nodes first. Known nodes' inputs stay as they are.
    """

    X: Any
    ties: Any  # their rows of A_tilde
    out: Any  # weights of the edges that lead from them; of all their edges, where the graph has no direction
    into: Any  # weights of the edges that lead to them
    restart: float  # of the fit's diffusion
    n_steps: int
    kinds: dict[str, "NewNodes"] = field(default_factory=dict)  # the same by their edges of each kind

    @property
    def isolated(self) -> Array:
        return without_entries(self.ties)


@dataclass(frozen=True)
class ChangedNodes:
    """m known nodes near edges that changed, by their position among the n nodes of the updated graph.

    The matrices are m x n. What is kept of all other nodes stays as it is.
    """

    nodes: Array
    ties: Any  # their rows of A_tilde now
    ties_before: Any  # and before the change
    out: Any  # weights now of the edges that lead from them, as in NewNodes
    into: Any
    restart: float
    n_steps: int
    kinds: dict[str, "ChangedNodes"] = field(default_factory=dict)  # the same by their edges of each kind


@dataclass(frozen=True)
class ColumnMap:
    """How a block of the encoder's columns is made of the columns of X.

    Attributes
    ----------
    width : int
        Columns of the block.
    V : array (n_features, width), optional
        A row of the block is, but for centring and scaling, a row of features times V; None: the features themselves.
    """

    width: int
    V: Array | None = None


class Prepared(ABC):
    """Encoder inputs of the fitted nodes, and the way to make those of new nodes.

    Attributes
    ----------
    Z : what is kept of each node, before rows are scaled: one row per node, to be sliced by rows.
    """

    Z: Any

    @abstractmethod
    def rows(self, Z: Any) -> Any:
        """Z as the encoder reads it."""

    @abstractmethod
    def extend(self, new: NewNodes) -> Any:
        """Z of new nodes, from their features and edges; zeros for a node with neither."""

    @abstractmethod
    def state(self) -> dict[str, Array]:
        """What must be stored to rebuild this, as named arrays."""

    @property
    def n_features(self) -> int | None:
        """Features that a new node must have; None where `extend` does not read them."""
        return None

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        """The blocks of `rows(Z)`, side by side; of one that is not linear in the columns of X its width alone."""
        return [int(self.rows(self.Z[:1]).shape[1])]

    @property
    def nbytes(self) -> float:
        """Bytes kept: of Z, and of what makes the inputs of new nodes."""
        return stored_bytes(self.Z)

    @property
    def grows(self) -> bool:
        """Whether `with_rows` is offered: nodes can be added to a fitted model."""
        return type(self).with_rows is not Prepared.with_rows

    @property
    def renews(self) -> bool:
        """Whether `renewed` is offered: inputs can follow edges that change."""
        return type(self).renewed is not Prepared.renewed

    def with_rows(self, Z: Any, at: Array | None = None) -> "Prepared":
        """A copy with rows Z appended, or in place of the rows `at`. Optional.

        A dense Z is overwritten in place: the object this is called on must not be used afterwards.
        """
        raise InputError(f"{type(self).__name__} does not offer with_rows().")

    def renewed(self, changed: ChangedNodes) -> Any:
        """Z of known nodes over the edges as they are now; the same, up to rounding, where none changed. Optional."""
        raise InputError(f"{type(self).__name__} does not offer renewed().")


class PreparedMatrix(Prepared):
    """Base of dataclasses that keep one matrix Z, dense or sparse: its rows can be appended or replaced."""

    def with_rows(self, Z: Any, at: Array | None = None) -> Self:
        return replace(self, Z=put_rows(self.Z, Z, at))  # type: ignore[type-var]


class Inputs(ABC):
    """A way to turn the graph and X into encoder inputs.

    Subclass it and pass an instance to ``AltOpt(inputs=...)``. It must be hashable, because a fit looks up inputs that
    it has made already: use ``@dataclass(frozen=True)`` with tuples, not lists, as fields.
    `altopt.checks.check_inputs` tests a subclass.
    """

    @abstractmethod
    def prepare(self, source: InputSource) -> Prepared:
        """The inputs of all nodes. The same seed gives the same bits, and the numbering of nodes does not matter."""

    @abstractmethod
    def restore(self, state: dict[str, Array]) -> Prepared:
        """The inverse of `Prepared.state`."""

    @property
    def keeps_missing(self) -> bool:
        """Whether NaN in X reaches the encoder; otherwise a column's mean takes its place."""
        return False

    @property
    def reads_labels(self) -> bool:
        """Whether they are made from the labels around a node, too: then every fold needs its own."""
        return False

    @property
    def reads_features(self) -> bool:
        """Whether they are made from X: without it they cannot be made anew for other labels."""
        return True

    @property
    def reads_kinds(self) -> bool:
        """Whether they read edges by their kind, beside the weighted sum of all kinds."""
        return False

    def apart(self, kinds: tuple[str, ...]) -> "Inputs":
        """The same made along each of several kinds of edges by itself; as they are, where that is not worth while."""
        return self

    def unscaled(self) -> "Inputs":
        """The settings that what is kept depends on: inputs that differ in the scaling of rows alone can share it."""
        return self

    def rescale(self, prepared: Prepared) -> Prepared:
        """What `unscaled()` prepared, with rows scaled as these settings say."""
        return prepared

    @abstractmethod
    def memory(self, shape: SourceShape) -> InputMemory:
        """The bytes kept, and those needed while the inputs are made, for a source of these sizes."""


def as_inputs(value: Any) -> Inputs:
    """The value itself, if it is a hashable instance of Inputs."""
    if not isinstance(value, Inputs):
        raise InputError(
            f"inputs must be an instance of a subclass of altopt.inputs.Inputs, but is {value!r}."
        )
    try:
        hash(value)
    except TypeError as error:
        raise InputError(
            f"inputs must be hashable, because a fit looks up inputs that it has made already, but "
            f"{type(value).__name__} is not: {error}. Use @dataclass(frozen=True) and tuples in place of lists."
        ) from None
    return value


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


def without_entries(rows: Any) -> Array:
    return np.asarray(np.diff(rows.indptr) == 0)
