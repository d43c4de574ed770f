"""The report page of a model of files: what can be said of it without drawing all of its graph."""

from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.cli.report.held_out import basis, by_class, mistakes
from altopt.cli.report.page import main
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.page import page
from altopt.io.files import write_text
from altopt.scale.model import PREDICTION_ROWS
from altopt.scale.stored import StoredModel

MOST = 20  # nodes in a list


def stored_report(model: StoredModel, path: Path) -> None:
    """Write the page."""
    sections = {
        "How good is it?": how_good(model),
        "Suspicious labels": suspicious(model),
        "What to label next": to_label_next(model),
        "Class sizes": class_sizes(model),
        "The fit": how_it_went(model),
    }
    body = [element("section", element("h2", title), content) for title, content in sections.items()]
    write_text(path, page("AltOpt report", main(element("h1", "AltOpt report"), about(model), *body), {}))


def about(model: StoredModel) -> Html:
    """The size of the problem in one line."""
    n, n_labelled = model.n_nodes, len(model.files.labels.nodes)
    facts = [
        ("Nodes", f"{n:,}"),
        ("Edges", f"{model.graph.csr.n_entries // 2:,}"),
        ("Features", f"{len(model.column_names):,}"),
        ("Classes", f"{len(model.classes):,}"),
        ("Given labels", f"{n_labelled:,} ({n_labelled / n:.1%})"),
        ("Unreached nodes", f"{len(model.files.unreached):,}"),
    ]
    shown = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", shown, class_="facts")


def how_good(model: StoredModel) -> Html:
    """The estimate, by class, and what is taken for what."""
    held_out = model.held_out
    if isinstance(held_out, str):
        return element("p", f"The estimate {held_out}")
    parts = [element("p", held_out.in_words()), element("p", basis(held_out), class_="soft")]
    return join(*parts, by_class(held_out), mistakes(held_out))


def suspicious(model: StoredModel) -> Html:
    if isinstance(model.held_out, str):
        return element("p", f"The list {model.held_out}")
    rows = [
        (node, given, other, f"{margin:.2f}")
        for node, given, other, margin in model.suspicious_labels()[:MOST]
    ]
    if not rows:
        return element("p", "No given label is outvoted by all other evidence.")
    head = ("Node", "Given", "Evidence says", "Margin")
    return table(head, rows, caption="Labels that all other evidence outvotes", numbers=(3,))


def to_label_next(model: StoredModel) -> Html:
    rows = [(node, f"{gain:.2f}") for node, gain in model.suggest(MOST // 2)]
    head = ("Node", "Wrong labels that its label is expected to correct")
    return table(head, rows, caption="Nodes most worth labelling", numbers=(1,))


def class_sizes(model: StoredModel) -> Html:
    """How often each class is given, and how many nodes it has."""
    given = np.bincount(model.files.labels.codes, minlength=len(model.classes))
    names, every = model.classes.tolist(), counts(model)
    rows = [(name, f"{a:,}", f"{b:,}") for name, a, b in zip(names, given.tolist(), every.tolist())]
    return table(("Class", "Given", "All nodes"), rows, caption="Class sizes", numbers=(1, 2))


def counts(model: StoredModel) -> Array:
    """Nodes of each class, a block of rows at a time."""
    found = np.zeros(len(model.classes), np.int64)
    for first in range(0, model.n_nodes, PREDICTION_ROWS):
        codes, _, _ = model.files.predictions(first, min(first + PREDICTION_ROWS, model.n_nodes))
        found += np.bincount(codes, minlength=len(found))
    return found


def how_it_went(model: StoredModel) -> Html:
    rows: list[tuple[Any, ...]] = [
        (entry["round"] + 1, f"{entry['changed']:.2%}", f"{entry['seconds']:.1f}") for entry in model.trace_
    ]
    head = ("Round", "Labels changed", "Seconds")
    said = element("p", model.outcome_)
    return join(said, table(head, rows, caption="Rounds", numbers=(0, 1, 2))) if rows else said
