"""Inputs made as if no features were given: each node's own name stands in their place."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.inputs.inputs import ChangedNodes, Inputs, InputSource, NewNodes, Prepared
from altopt.inputs.memory import InputMemory, SourceShape


@dataclass(frozen=True)
class PreparedFeatureless(Prepared):
    inner: Prepared
    n_names: int  # nodes of the fit; later ones have no name among them

    @property
    def Z(self) -> Any:
        return self.inner.Z

    def rows(self, Z: Any) -> Any:
        return self.inner.rows(Z)

    def extend(self, new: NewNodes) -> Any:
        nameless = sp.csr_array((new.ties.shape[0], self.n_names), dtype=np.float32)
        return self.inner.extend(replace(new, X=nameless))

    def renewed(self, changed: ChangedNodes) -> Any:
        return self.inner.renewed(changed)

    def with_rows(self, Z: Any, at: Array | None = None) -> "PreparedFeatureless":
        return replace(self, inner=self.inner.with_rows(Z, at))

    @property
    def grows(self) -> bool:
        return self.inner.grows

    @property
    def renews(self) -> bool:
        return self.inner.renews

    @property
    def nbytes(self) -> float:
        return self.inner.nbytes

    def state(self) -> dict[str, Array]:
        return {**self.inner.state(), "n_names": np.array([self.n_names])}


@dataclass(frozen=True)
class FeaturelessInputs(Inputs):
    """Other inputs, made as if no features were given: who is tied to whom is all they know.

    A name for each node takes the place of X, so that the diffused features, and each hop, are rows of the graph. What
    it is for: features that have nothing to do with the classes, where the edges have.

    Parameters
    ----------
    inputs : Inputs
        What is made of the edges.

    Examples
    --------
    >>> from altopt import Graph
    >>> from altopt.inputs import FeaturelessInputs, HopInputs, InputSource
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1), (1, 2)], n_nodes=3)
    >>> noise = np.random.default_rng(0).normal(size=(3, 5))
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), noise, restart=0.2, n_steps=10, seed=0)
    >>> made = FeaturelessInputs(HopInputs((1,))).prepare(source)
    >>> rows = made.rows(made.Z)
    >>> (rows @ rows.T).round(2)  # centred; the ends of a path have the same neighbour
    array([[ 0.5, -1. ,  0.5],
           [-1. ,  2. , -1. ],
           [ 0.5, -1. ,  0.5]], dtype=float32)
    """

    inputs: Inputs

    def __post_init__(self) -> None:
        if not isinstance(self.inputs, Inputs):
            raise InputError(f"FeaturelessInputs takes inputs, but got {self.inputs!r:.80}.")

    def prepare(self, source: InputSource) -> PreparedFeatureless:
        n = source.graph.n_nodes
        place = np.empty(n, dtype=np.int32)  # names in the order of the keys, so that numbers play no part
        place[np.argsort(source.key, kind="stable")] = np.arange(n)
        names = sp.csr_array((np.ones(n, np.float32), place, np.arange(n + 1)), shape=(n, n))
        return PreparedFeatureless(self.inputs.prepare(replace(source, X=names)), n)

    def restore(self, state: dict[str, Array]) -> PreparedFeatureless:
        names = state["n_names"]
        inner = self.inputs.restore({name: value for name, value in state.items() if name != "n_names"})
        if (
            names.shape != (1,)
            or names.dtype.kind not in "iu"
            or inner.n_features not in (None, int(names[0]))
        ):
            raise InputError("the stored inputs do not say of how many nodes they were made.")
        return PreparedFeatureless(inner, int(names[0]))

    @property
    def reads_labels(self) -> bool:
        return self.inputs.reads_labels

    @property
    def reads_features(self) -> bool:
        return False

    @property
    def reads_kinds(self) -> bool:
        return self.inputs.reads_kinds

    def memory(self, shape: SourceShape) -> InputMemory:
        named = replace(shape, n_features=shape.n_nodes, sparse=True, x_bytes=16.0 * shape.n_nodes)
        return self.inputs.memory(named)
