"""The fitted attributes of AltOpt: read-only views of its FittedModel."""

from typing import Any

from sklearn.exceptions import NotFittedError

from altopt.arrays import Array
from altopt.drawing.html import element
from altopt.encoders import Learner
from altopt.fitted.model import FittedModel
from altopt.fitted.summary import Plot, summary, summary_html
from altopt.fitted.trace import Trace
from altopt.graph import Graph
from altopt.inputs import Prepared
from altopt.operator.knn import Neighbours
from altopt.selection.candidates import Candidate
from altopt.selection.graph_help import GraphHelp
from altopt.selection.leave_one_out import LeaveOneOut
from altopt.table.reader import ColumnReading, ColumnReadings


def read_only(array: Array) -> Array:
    """A view that cannot be written to: the model changes by `update` alone."""
    view = array.view()
    view.flags.writeable = False
    return view


class FittedAttributes:
    """What can be read off a fitted AltOpt; each attribute raises AttributeError before `fit`."""

    _fitted: FittedModel | None = None

    @property
    def fitted_(self) -> FittedModel:
        """The one owner of what the fit left behind."""
        if self._fitted is None:
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet. Call fit() first.")
        return self._fitted

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted is not None

    def __str__(self) -> str:
        return repr(self) if self._fitted is None else "\n".join(summary(self._fitted, type(self).__name__))

    def _repr_html_(self) -> str:
        return (
            element("pre", repr(self))
            if self._fitted is None
            else summary_html(self._fitted, type(self).__name__)
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def plot(self) -> Plot:
        """The graph, coloured by label and faded by doubt: shown in a notebook, written by its `save("graph.html")`.

        A small graph is drawn whole; of a large one, sampled nodes in regions that hang together.
        """
        return Plot.of(self.fitted_)

    @property
    def scores_(self) -> Array:
        """F before it becomes probabilities, from one final solve; (n_nodes, n_classes)."""
        return self.fitted_.hand_out("scores")

    @property
    def label_distributions_(self) -> Array:
        """Class probabilities of every node, columns as `classes_`; made from `scores_` on each call."""
        return self.fitted_.readout.soften(self.scores_, self.fitted_.kinds())

    @property
    def transduction_(self) -> Array:
        """A label for every node, in the labels' own type; a labelled node keeps its given label."""
        with self.fitted_.writing:
            return self.fitted_.classes[self.fitted_.labels]

    @property
    def confidence_(self) -> Array:
        """1 - entropy / log(n_classes) of each node's distribution."""
        return self.fitted_.hand_out("confidence")

    @property
    def reached_(self) -> Array:
        """False where the features are all zero or missing and no labelled node is connected."""
        return self.fitted_.hand_out("reached")

    @property
    def labelled_(self) -> Array:
        """True for nodes with a given label."""
        return self.fitted_.labelled

    @property
    def classes_(self) -> Array:
        """The classes, in the order of the columns of `scores_`."""
        return read_only(self.fitted_.classes)

    @property
    def columns_(self) -> ColumnReadings:
        """How each column of a table was read: name, kind, how, share of missing values; it prints as a table."""
        reader = self.fitted_.reader
        if reader is not None:
            return reader.readings
        names = range(self.fitted_.n_features)
        return ColumnReadings(ColumnReading(str(j), "number", "as it is", 0.0, 1) for j in names)

    @property
    def Y_(self) -> Array:
        """One-hot rows of the given labels, one for each labelled node."""
        return self.fitted_.Y

    @property
    def encoder_output_(self) -> Array:
        """P: what the features alone say; (n_nodes, n_classes)."""
        return self.fitted_.hand_out("encoder_output")

    @property
    def encoder_(self) -> Learner:
        """The trained encoder."""
        return self.fitted_.encoder

    @property
    def inputs_(self) -> Prepared:
        """What the encoder reads of each node."""
        return self.fitted_.inputs

    @property
    def embedding_(self) -> Any:
        """What the encoder reads of each node, (n_nodes, width); sparse where its inputs are."""
        with self.fitted_.lock:
            inputs = self.fitted_.inputs
            return inputs.rows(inputs.Z)

    @property
    def graph_(self) -> Graph:
        """The graph with everything that updates changed in it; after an update put together on each call."""
        return self.fitted_.graph

    @property
    def edge_weights_(self) -> dict[str, float]:
        """The weight of each kind of edges; they sum to 1. Empty where the graph has no kinds."""
        return dict(self.fitted_.last_graph.edge_weights)

    @property
    def neighbours_(self) -> Neighbours | None:
        """The nearest-neighbour index, where the graph was built from X."""
        return self.fitted_.neighbours

    @property
    def plan_(self) -> Candidate:
        """The candidate that was fitted: encoder, inputs, views and weights."""
        return self.fitted_.candidate

    @property
    def choice_(self) -> dict[str, Any]:
        """{"plan": name of the candidate taken, "considered": [...], "reason": ...}."""
        return self.fitted_.choice

    @property
    def graph_help_(self) -> GraphHelp | None:
        """Held-out accuracy with the graph and from the features alone; None where it was not compared."""
        return self.fitted_.graph_help

    @property
    def leave_one_out_(self) -> LeaveOneOut:
        """Leave-one-out results of the last fit. Raises AttributeError where there are none, or none any more."""
        held_out = self.fitted_.leave_one_out
        if isinstance(held_out, str):
            raise AttributeError(f"leave_one_out_ {held_out}")
        return held_out

    @property
    def temperature_(self) -> float | None:
        """Of the probabilities, fitted to held-out labels; None where there were none."""
        return self.fitted_.temperature

    @property
    def restart_(self) -> float:
        """The restart weight of the diffusion that was used."""
        return self.fitted_.restart

    @property
    def seed_(self) -> int:
        """The seed of the fit; `random_state` where that was a number."""
        return self.fitted_.seed

    @property
    def start_(self) -> Array | None:
        """Where the last update of F started, for a solver that does not converge."""
        return self.fitted_.start

    @property
    def trace_(self) -> Trace:
        """A record of each round: the objective and its parts, residual, seconds."""
        return Trace(self.fitted_.trace)

    @property
    def n_iter_(self) -> int:
        """The number of updates of F."""
        return len(self.fitted_.trace)

    @property
    def outcome_(self) -> str:
        """Why the fit stopped, in a sentence."""
        return self.fitted_.outcome
