"""FittedModel: the one owner of what a fit leaves behind."""

import copy
from dataclasses import dataclass, field, fields
from threading import get_ident
from typing import Annotated, Any, Protocol

import numpy as np
from scipy.sparse.csgraph import connected_components

from altopt.arrays import Array, certainty, one_hot
from altopt.encoders import Learner
from altopt.fitted.edge_kinds import KindLog
from altopt.fitted.lock import ModelLock
from altopt.fitted.system import LinearSystem
from altopt.graph import Graph
from altopt.graph.ids import unknown_node
from altopt.graph.validation import UNKNOWN
from altopt.inputs import Prepared
from altopt.operator import NormalizedAdjacency
from altopt.operator.knn import Neighbours
from altopt.selection.calibration import NodeKind
from altopt.selection.candidates import Candidate
from altopt.selection.graph_help import GraphHelp
from altopt.selection.leave_one_out import LeaveOneOut
from altopt.solvers import Solver, Steps
from altopt.table.reader import TableReader
from altopt.training.pseudo_labels import PseudoLabels, Readout
from altopt.views import Objective


class ReadoutRule(Protocol):
    """How F becomes probabilities and labels; `kinds` of the nodes are members of NodeKind."""

    def soften(self, F: Array, kinds: Array | None = None) -> Array:
        """A distribution over the classes for each row of F."""

    def read(self, F: Array, kinds: Array | None = None) -> Readout:
        """Certainty and class of each row."""


@dataclass(frozen=True)
class PlainReadout:
    """F read as the rule of pseudo labels reads it, whatever is known of a node.

    Parameters
    ----------
    rule : PseudoLabels
    """

    rule: PseudoLabels

    def soften(self, F: Array, kinds: Array | None = None) -> Array:
        return self.rule.soften(F)

    def read(self, F: Array, kinds: Array | None = None) -> Readout:
        return self.rule.read(F)


PerNode = Annotated[Array, "one row or entry for each node: FittedModel.grow extends it"]


@dataclass
class FittedModel:
    """What a fit leaves behind, and what later updates change: graph, F, P, labels, encoder, how F is read.

    `AltOpt` keeps it as `fitted_`; its underscored attributes are read-only views of the fields here. It is stored
    field by field. Updates change it in place, holding `lock`, which every reader takes too: it finds the model as it
    was before or as it is after, never between. An array once handed out to a thread is not changed by another: its
    update writes to a copy.

    Attributes
    ----------
    classes : ndarray (n_classes,)
        The classes, in the order of F's columns.
    candidate : Candidate
        Encoder, inputs, views and weights that were fitted.
    solver : Solver
        The solver of the last update of F.
    readout : ReadoutRule
        Turns F into probabilities and labels.
    scores, encoder_output : ndarray (n_nodes, n_classes)
        F, and P: the encoder's output.
    codes : ndarray of int (n_nodes,)
        The number of each node's given class, -1 where it has none.
    labels : ndarray of int (n_nodes,)
        The number of each node's class: the given one, else the predicted one.
    start, steps : ndarray (n_nodes, n_classes) or None, Steps or None
        Where the last update of F started and the steps it made, for a solver that does not converge.
    leave_one_out : LeaveOneOut or str
        Held-out results, or a sentence that says why there are none.
    """

    classes: Array
    candidate: Candidate
    solver: Solver
    readout: ReadoutRule
    temperature: float | None  # of the readout, where held-out labels chose it
    self_loops: bool
    restart: float
    n_diffusion: int
    seed: int
    n_features: int
    feature_exponents: Array | None  # of the power of two that each column of X was divided by, where any was
    has_features: bool  # False: X was None, and every node its own only feature
    digest: str | None  # of X, where its rows are known as those of the fit by it alone
    reader: TableReader | None  # where X came as a table: how its columns are read
    last_graph: Graph  # as of the fit or the last re-solve: `graph` has the edges that pushes changed since
    neighbours: Neighbours | None  # where the graph was built from X
    inputs: Prepared
    encoder: Learner
    scores: PerNode
    encoder_output: PerNode
    codes: PerNode
    labels: PerNode
    confidence: PerNode
    reached: PerNode
    isolated: PerNode  # without edges
    featureless: Array  # positions of the nodes whose features are all zero or missing
    start: Array | None
    steps: Steps | None
    choice: dict[str, Any]
    graph_help: GraphHelp | None
    leave_one_out: LeaveOneOut | str
    trace: list[dict[str, Any]]
    outcome: str
    lock: ModelLock = field(default_factory=ModelLock, init=False, repr=False, compare=False)
    # held for the moment in which an update writes: who reads one field need not wait for the whole of it
    writing: ModelLock = field(default_factory=ModelLock, init=False, repr=False, compare=False)
    # fields, and threads that hold views of them
    _handed_out: set[tuple[str, int]] = field(default_factory=set, init=False, repr=False, compare=False)
    _system: LinearSystem | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy needs, held still: with arrays of its own, and its changed edges in the graph."""
        with self.lock:
            state = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}
            state |= {name: state[name].copy() for name in per_node_fields()}
            return state | {"last_graph": self.graph, "inputs": copy.deepcopy(self.inputs)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        locks = {"lock": ModelLock(), "writing": ModelLock()}
        self.__dict__.update(state, **locks, _handed_out=set(), _system=None)

    # nodes

    @property
    def n_nodes(self) -> int:
        return len(self.scores)

    @property
    def labelled(self) -> Array:
        """True for nodes with a given label."""
        with self.writing:
            return np.asarray(self.codes != UNKNOWN)

    @property
    def Y(self) -> Array:
        """One-hot rows of the given labels, one for each labelled node."""
        with self.writing:
            return one_hot(self.codes[self.labelled], len(self.classes), self.scores.dtype)

    def kinds(self, nodes: Array | None = None) -> Array:
        """What is known of nodes beside F, as NodeKind; of all where none are named."""
        with self.writing:
            masks = (self.codes != UNKNOWN, self.isolated, self.reached)
            return node_kinds(*(masks if nodes is None else (mask[nodes] for mask in masks)))

    @property
    def graph(self) -> Graph:
        """The graph with everything that updates changed in it; put together anew on each call after an update."""
        with self.lock:
            return self.last_graph if self._system is None else self._system.graph(self.last_graph)

    @property
    def positional(self) -> bool:
        """Whether node ids are the positions 0 to n - 1."""
        return self.last_graph.positional

    def position(self, node: Any) -> int:
        """The row of a node."""
        with self.lock:
            if self._system is None:
                return self.last_graph.position(node)
            row = self._system.position(node)
            if row is None:
                raise unknown_node(node, self.n_nodes)
            return row

    # the linear system behind F

    def objective(self) -> Objective:
        """The views' sum that F minimises, for the current graph, labels and P."""
        graph = self.graph
        return self.objective_on(graph, self.normalized(graph), self.codes, self.encoder_output)

    def objective_on(self, graph: Graph, A_tilde: NormalizedAdjacency, codes: Array, P: Array) -> Objective:
        """The views' sum on another graph, with other labels or another P."""
        labelled = codes != UNKNOWN
        Y = one_hot(codes[labelled], len(self.classes), self.scores.dtype)
        w = certainty(P) if self.candidate.feature_view.needs_confidence else None
        return self.candidate.objective(graph, A_tilde, Y, labelled)(P, w)

    def normalized(self, graph: Graph) -> NormalizedAdjacency:
        return NormalizedAdjacency(graph.adjacency, self.self_loops)

    def system(self) -> LinearSystem | None:
        """H F = rhs with rows that can be read, replaced and pushed from; None where F is no such solution.

        That takes squared feature and label views, a graph view that couples nodes by A_tilde, feature_weight > 0
        and a solver that converges. With self-loops on weighted edges one edge changes every row: none either, nor
        where the weights are so far apart that rounding would outweigh the residual.
        """
        with self.lock:
            if self._system is None and self.solver.converges and self.candidate.linear:
                graph = self.last_graph
                A_tilde = self.normalized(graph)
                objective = self.objective_on(graph, A_tilde, self.codes, self.encoder_output)
                if objective.coupled_by(A_tilde) and not (self.self_loops and graph.weighted):
                    weights = {view.name: float(view.weight) for view in objective.views}
                    system = LinearSystem(graph, A_tilde, weights, self.codes, len(self.classes))
                    self._system = system if system.pushable else None
            return self._system

    def kind_log(self) -> KindLog | None:
        """The edges of each kind as they are now; None where the graph has no kinds."""
        with self.lock:
            if self._system is not None:
                return self._system.kinds
            return KindLog(self.last_graph) if self.last_graph.kinds else None

    def couples_by_adjacency(self) -> bool:
        """Whether the graph view couples neighbours by A_tilde alone."""
        graph = self.last_graph
        A_tilde = self.normalized(graph)
        return self.objective_on(graph, A_tilde, self.codes, self.encoder_output).coupled_by(A_tilde)

    # changes, made by an update that holds the lock

    def grow(self, n_new: int, encoder_output: Array) -> None:
        """Room for new nodes at the end of every per-node array shorter than F; P is given, the rest is zero."""
        self.encoder_output = encoder_output
        for name in per_node_fields():
            array = getattr(self, name)
            missing = len(self.scores) - len(array)
            if missing:
                zeros = np.zeros((missing, *array.shape[1:]), dtype=array.dtype)
                setattr(self, name, np.concatenate([array, zeros]))
        self.codes[-n_new:] = UNKNOWN

    def replace_rows(self, nodes: Array, **rows: Array) -> None:
        """Set rows of per-node arrays, named by their field."""
        for name, values in rows.items():
            self.writable(name)[nodes] = values

    def writable(self, name: str) -> Array:
        """A per-node array that can be written to; a copy where another thread holds it, or it is one on disk."""
        array: Array = getattr(self, name)
        holders = {entry for entry in self._handed_out if entry[0] == name}
        if not array.flags.writeable or any(thread != get_ident() for _, thread in holders):
            array = array.copy()
            setattr(self, name, array)
            self._handed_out -= holders
        return array

    def hand_out(self, name: str) -> Array:
        """A field as a view that cannot be written to, and that no update by another thread will change."""
        with self.writing:
            self._handed_out.add((name, get_ident()))
            view: Array = getattr(self, name).view()
        view.flags.writeable = False
        return view

    def shared(self) -> "FittedModel":
        """The model as it is now, without copies: labels that other threads give this one do not change it.

        Its per-node arrays are handed out to the thread that asks; all else changes by edges and nodes alone.
        """
        with self.lock:
            state = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.init}
            state |= {name: self.hand_out(name) for name in per_node_fields()}
            return FittedModel(**state | {"last_graph": self.graph})

    def replace_graph(self, graph: Graph) -> None:
        """Another graph; the system made from the last one is dropped."""
        self.last_graph, self._system = graph, None


def per_node_fields() -> list[str]:
    """Names of the arrays with one row or entry for each node."""
    return [entry.name for entry in fields(FittedModel) if entry.type is PerNode]


def reached_nodes(n_nodes: int, featureless: Array, components: Array, codes: Array) -> Array:
    """True for nodes that have features, or are connected to a labelled node."""
    reached = np.ones(n_nodes, dtype=bool)
    has_label = np.bincount(components, weights=codes != UNKNOWN) > 0
    reached[featureless] = has_label[components[featureless]]
    return reached


def node_kinds(labelled: Array, isolated: Array, reached: Array) -> Array:
    """NodeKind of each node, from masks."""
    kinds = np.where(isolated & ~labelled, NodeKind.ISOLATED, NodeKind.TIED)
    return np.where(reached, kinds, NodeKind.UNREACHED).astype(np.int8)


def components_of(adjacency: Any) -> Array:
    return np.asarray(connected_components(adjacency, directed=False)[1])
