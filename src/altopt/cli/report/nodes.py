"""What a report says of single nodes: labels that look wrong, labels worth having, and nodes that nothing reaches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.drawing.charts import percent
from altopt.drawing.html import Html, element, join, table
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN
from altopt.selection.leave_one_out import LeaveOneOut

N_SUSPICIOUS, N_NEXT, N_LISTED = 20, 12, 15


class Rows(NamedTuple):
    """Of some nodes: class numbers, whether they were given, and probabilities."""

    codes: Array
    given: Array
    probabilities: Array


class Source(Protocol):
    """Where a report reads single nodes by position: a model in memory, or one on disk."""

    @property
    def classes(self) -> Array: ...
    def ids(self, nodes: Array) -> list[Any]: ...
    def position(self, node: Any) -> int: ...
    def at(self, nodes: Array) -> Rows: ...
    def neighbours(self, node: int) -> Array: ...
    def encoder_output(self, node: int) -> Array: ...


@dataclass(frozen=True)
class InMemory:
    """The nodes of a model in memory."""

    model: AltOpt

    @property
    def classes(self) -> Array:
        return self.model.fitted_.classes

    def ids(self, nodes: Array) -> list[Any]:
        return [self.model.graph_.ids.item(int(k)) for k in nodes]

    def position(self, node: Any) -> int:
        return self.model.graph_.position(node)

    def at(self, nodes: Array) -> Rows:
        fitted = self.model.fitted_
        P = fitted.readout.soften(fitted.scores[nodes], fitted.kinds(nodes))
        return Rows(fitted.labels[nodes], fitted.codes[nodes] != UNKNOWN, P)

    def neighbours(self, node: int) -> Array:
        return np.asarray(self.model.fitted_.graph.adjacency[[node]].indices)

    def encoder_output(self, node: int) -> Array:
        return np.asarray(self.model.fitted_.encoder_output[node])


def suspicious(source: Source, held_out: LeaveOneOut | str, n_labels: int) -> Html:
    """Given labels that all other evidence outvotes, worst first, with the reason."""
    if isinstance(held_out, str):
        return element("p", f"Which labels look wrong {held_out}")
    found = held_out.suspicious()
    if not found:
        return element("p", "No given label is outvoted by the rest of the evidence.")
    rows = [
        (
            name_of(node),
            given,
            instead,
            percent(float(np.exp(margin))),
            reason(source, source.position(node), given, instead),
        )
        for node, given, instead, margin in found[:N_SUSPICIOUS]
    ]
    said = (
        f"{len(found):,} of {n_labels:,} given labels are outvoted by everything else that is known"
        f"{f'; the worst {len(rows)} of them' if len(found) > len(rows) else ''}. "
        "What is left for the given class: its share of the score without the node's own label."
    )
    head = ("Node", "Given", "Rather", "Left for it", "Why")
    return join(element("p", said), table(head, rows, caption="Suspicious labels", numbers=(3,), prose=True))


def reason(source: Source, at: int, given: Any, instead: Any) -> str:
    """What speaks against a node's label, in words: its neighbours, and its features where they do."""
    neighbours = source.neighbours(at)
    known = source.at(neighbours)
    labels = source.classes[known.codes]
    n_instead, n_given = int(np.sum(labels == instead)), int(np.sum(labels == given))
    said = []
    if not len(neighbours):
        said.append("it has no neighbours")
    elif n_instead > n_given:
        by_label = int(np.sum(known.given & (labels == instead)))
        how = f" ({by_label} by a given label)" if by_label else ""
        said.append(f"{n_instead} of {len(neighbours)} neighbours are {instead}{how}, {n_given} {given}")
    P = source.encoder_output(at)
    by_features = source.classes[int(P.argmax())]
    if P.sum() > 0 and by_features != given:
        said.append(f"its features say {by_features}")
    elif n_instead <= n_given:
        said.append(f"nodes with features like its own are rather {instead}")
    sentence = "; ".join(said) + "."
    return sentence[0].upper() + sentence[1:]


def two_likeliest(source: Source, nodes: Array) -> list[tuple[str, str]]:
    """The two classes of each node that are likeliest, with their probabilities."""
    found = []
    for row in source.at(nodes).probabilities:
        order = np.argsort(-row, kind="stable")[:2]
        found.append(tuple(f"{source.classes[j]} ({100 * row[j]:.0f}\N{NO-BREAK SPACE}%)" for j in order))
    return [(names[0], names[-1]) for names in found]


def to_label_next(source: Source, suggested: Sequence[tuple[Any, float]], commands: str) -> Html:
    """Nodes whose label would correct most others; `commands` ask for them one by one."""
    if not suggested:
        return element("p", "Every node came with a label.")
    nodes = np.array([source.position(node) for node, _ in suggested])
    rows = [
        (name_of(node), f"{gain:.2f}", *likeliest)
        for (node, gain), likeliest in zip(suggested, two_likeliest(source, nodes))
    ]
    said = f"The labels that are expected to correct most wrong ones, each given those above it. {commands}"
    head = ("Node", "Expected corrections", "Label now", "Runner-up")
    return join(element("p", said), table(head, rows, caption="What to label next", numbers=(1,)))


def unreached(source: Source, nodes: Array, n_nodes: int, unsure: Array, confidence: Array) -> Html:
    """Nodes that nothing is known of, and those whose label says least, with their confidence."""
    names = [name_of(node) for node in source.ids(nodes[:N_LISTED])]
    if len(nodes):
        more = f" and {len(nodes) - len(names):,} more" if len(nodes) > len(names) else ""
        said = (
            f"{len(nodes):,} of {n_nodes:,} nodes have no features and no path to a labelled node. "
            f"Their label is a guess from the class sizes: {', '.join(names)}{more}."
        )
    else:
        said = "Every node has features, or a path to a labelled node."
    return join(element("p", said), least_sure(source, unsure, confidence) if len(unsure) else None)


def least_sure(source: Source, nodes: Array, confidence: Array) -> Html:
    """The reached nodes without a label whose prediction is least certain."""
    rows = [
        (name_of(node), *likeliest, f"{sure:.3f}")
        for node, likeliest, sure in zip(source.ids(nodes), two_likeliest(source, nodes), confidence.tolist())
    ]
    head = ("Node", "Label (probability)", "Runner-up", "Confidence")
    return join(
        element("h3", "Least sure of the others"),
        table(head, rows, caption="The nodes whose label is least certain", numbers=(3,)),
    )


# the sections of a model in memory


def suspicious_of(model: AltOpt) -> Html:
    return suspicious(InMemory(model), model.fitted_.leave_one_out, int(model.labelled_.sum()))


def to_label_next_of(model: AltOpt) -> Html:
    suggested = [] if bool(model.labelled_.all()) else model.suggest(N_NEXT)
    return to_label_next(
        InMemory(model), suggested, "altopt explore and altopt label ask for them one by one."
    )


def unreached_of(model: AltOpt) -> Html:
    unsure = np.flatnonzero(~model.labelled_ & model.reached_)
    unsure = unsure[np.argsort(model.confidence_[unsure], kind="stable")[:N_LISTED]]
    nothing = np.flatnonzero(~model.reached_)
    return unreached(InMemory(model), nothing, len(model.reached_), unsure, model.confidence_[unsure])
