"""What a report says of single nodes: labels that look wrong, labels worth having, and nodes that nothing reaches."""

from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.drawing.charts import percent
from altopt.drawing.html import Html, element, join, table
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN

N_SUSPICIOUS, N_NEXT, N_LISTED = 20, 12, 15


def suspicious(model: AltOpt) -> Html:
    """Given labels that all other evidence outvotes, worst first, with the reason."""
    held_out = model.fitted_.leave_one_out
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
            reason(model, model.graph_.position(node), given, instead),
        )
        for node, given, instead, margin in found[:N_SUSPICIOUS]
    ]
    labels = int(model.labelled_.sum())
    said = (
        f"{len(found):,} of {labels:,} given labels are outvoted by everything else that is known"
        f"{f'; the worst {len(rows)} of them' if len(found) > len(rows) else ''}. "
        "What is left for the given class: its share of the score without the node's own label."
    )
    head = ("Node", "Given", "Rather", "Left for it", "Why")
    return join(element("p", said), table(head, rows, caption="Suspicious labels", numbers=(3,), prose=True))


def reason(model: AltOpt, at: int, given: Any, instead: Any) -> str:
    """What speaks against a node's label, in words: its neighbours, and its features where they do."""
    fitted = model.fitted_
    neighbours = fitted.graph.adjacency[[at]].indices
    labels, known = fitted.classes[fitted.labels[neighbours]], fitted.codes[neighbours] != UNKNOWN
    n_instead, n_given = int(np.sum(labels == instead)), int(np.sum(labels == given))
    said = []
    if not len(neighbours):
        said.append("it has no neighbours")
    elif n_instead > n_given:
        by_label = int(np.sum(known & (labels == instead)))
        how = f" ({by_label} by a given label)" if by_label else ""
        said.append(f"{n_instead} of {len(neighbours)} neighbours are {instead}{how}, {n_given} {given}")
    P = fitted.encoder_output[at]
    by_features = fitted.classes[int(P.argmax())]
    if P.sum() > 0 and by_features != given:
        said.append(f"its features say {by_features}")
    elif n_instead <= n_given:
        said.append(f"nodes with features like its own are rather {instead}")
    sentence = "; ".join(said) + "."
    return sentence[0].upper() + sentence[1:]


def to_label_next(model: AltOpt) -> Html:
    """Nodes whose label would correct most others."""
    if bool(model.labelled_.all()):
        return element("p", "Every node came with a label.")
    suggested = model.suggest(N_NEXT)
    fitted, rows = model.fitted_, []
    for node, gain in suggested:
        at = model.graph_.position(node)
        P = fitted.readout.soften(fitted.scores[[at]], fitted.kinds(np.array([at])))[0]
        first, second = np.argsort(-P, kind="stable")[:2]
        rows.append(
            (
                name_of(node),
                f"{gain:.2f}",
                f"{fitted.classes[first]} ({100 * P[first]:.0f} %)",
                f"{fitted.classes[second]} ({100 * P[second]:.0f} %)",
            )
        )
    said = (
        "The labels that are expected to correct most wrong ones, each given those above it. altopt explore and "
        "altopt label ask for them one by one."
    )
    head = ("Node", "Expected corrections", "Label now", "Runner-up")
    return join(element("p", said), table(head, rows, caption="What to label next", numbers=(1,)))


def unreached(model: AltOpt) -> Html:
    """Nodes that nothing is known of, and those whose label says least."""
    nodes = np.flatnonzero(~model.reached_)
    names = [name_of(model.graph_.ids.item(int(k))) for k in nodes[:N_LISTED]]
    if len(nodes):
        more = f" and {len(nodes) - len(names):,} more" if len(nodes) > len(names) else ""
        said = (
            f"{len(nodes):,} of {len(model.reached_):,} nodes have no features and no path to a labelled node. "
            f"Their label is a guess from the class sizes: {', '.join(names)}{more}."
        )
    else:
        said = "Every node has features, or a path to a labelled node."
    return join(element("p", said), least_sure(model))


def least_sure(model: AltOpt) -> Html | None:
    """The reached nodes without a label whose prediction is least certain."""
    nodes = np.flatnonzero(~model.labelled_ & model.reached_)
    nodes = nodes[np.argsort(model.confidence_[nodes], kind="stable")[:N_LISTED]]
    if not len(nodes):
        return None
    fitted = model.fitted_
    P = fitted.readout.soften(fitted.scores[nodes], fitted.kinds(nodes))
    rows: list[tuple[Any, ...]] = []
    for k, row in zip(nodes.tolist(), P):
        first, second = np.argsort(-row, kind="stable")[:2]
        label, runner_up = (f"{fitted.classes[j]} ({100 * row[j]:.0f} %)" for j in (first, second))
        rows.append((name_of(model.graph_.ids.item(k)), label, runner_up, f"{fitted.confidence[k]:.3f}"))
    head = ("Node", "Label (probability)", "Runner-up", "Confidence")
    return join(
        element("h3", "Least sure of the others"),
        table(head, rows, caption="The nodes whose label is least certain", numbers=(3,)),
    )
