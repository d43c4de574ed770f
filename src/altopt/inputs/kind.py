"""Inputs made along one kind of edges, as if the graph had no other."""

from dataclasses import dataclass, replace
from typing import Any

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.inputs.blocks import BlockInputs
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, Prepared
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.operator import NormalizedAdjacency


@dataclass(frozen=True)
class PreparedKind(Prepared):
    kind: str
    inner: Prepared

    @property
    def Z(self) -> Any:
        return self.inner.Z

    def rows(self, Z: Any) -> Any:
        return self.inner.rows(Z)

    def extend(self, new: NewNodes) -> Any:
        return self.inner.extend(new.kinds[self.kind])

    def renewed(self, changed: ChangedNodes) -> Any:
        return self.inner.renewed(changed.kinds[self.kind])

    def with_rows(self, Z: Any, at: Array | None = None) -> "PreparedKind":
        return replace(self, inner=self.inner.with_rows(Z, at))

    @property
    def grows(self) -> bool:
        return self.inner.grows

    @property
    def renews(self) -> bool:
        return self.inner.renews

    @property
    def n_features(self) -> int | None:
        return self.inner.n_features

    @property
    def nbytes(self) -> float:
        return self.inner.nbytes

    def state(self) -> dict[str, Array]:
        return self.inner.state()


@dataclass(frozen=True)
class KindInputs(Inputs):
    """Other inputs, made along one kind of edges alone.

    What it is for: kinds that say different things, one that ties like to like and one that ties opposites. Their
    weighted sum, along which F is smoothed, has no edges of the latter; an encoder that reads each kind by itself can
    use both.

    Parameters
    ----------
    kind : str
        A kind of the graph's edges.
    inputs : Inputs
        What is made along them.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import AdjacencyInputs, InputSource, KindInputs
    >>> graph = Graph({"cites": [(0, 1)], "same author": [(1, 2)]}, n_nodes=3)
    >>> A_tilde = NormalizedAdjacency(graph.adjacency)
    >>> source = InputSource(graph, A_tilde, np.eye(3), restart=0.2, n_steps=10, seed=0)
    >>> KindInputs("cites", AdjacencyInputs()).prepare(source).Z.toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    """

    kind: str
    inputs: Inputs

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str) or not isinstance(self.inputs, Inputs):
            got = f"{self.kind!r} and {self.inputs!r:.80}"
            raise InputError(f"KindInputs takes the name of a kind of edges and inputs, but got {got}.")

    def prepare(self, source: InputSource) -> PreparedKind:
        kinds = source.graph.kinds
        if self.kind not in kinds:
            known = f"its kinds are {', '.join(map(repr, kinds))}" if kinds else "it has edges without kinds"
            raise InputError(
                f"KindInputs reads the kind {self.kind!r}, but the graph has no such kind: {known}."
            )
        graph = kinds[self.kind]
        A_tilde = NormalizedAdjacency(graph.adjacency, source.A_tilde.self_loops)
        return PreparedKind(self.kind, self.inputs.prepare(source.along(graph, A_tilde)))

    def restore(self, state: dict[str, Array]) -> PreparedKind:
        return PreparedKind(self.kind, self.inputs.restore(state))

    @property
    def keeps_missing(self) -> bool:
        return self.inputs.keeps_missing

    @property
    def reads_labels(self) -> bool:
        return self.inputs.reads_labels

    @property
    def reads_features(self) -> bool:
        return self.inputs.reads_features

    @property
    def reads_kinds(self) -> bool:
        return True

    def memory(self, shape: SourceShape) -> InputMemory:
        return self.inputs.memory(shape)


def of_each_kind(inputs: Inputs, kinds: tuple[str, ...]) -> BlockInputs:
    """Inputs made along each kind, side by side as they are."""
    return BlockInputs(tuple(KindInputs(kind, inputs) for kind in kinds), scaling=None)
