"""How good a fit is: expected accuracy, by class, whether its probabilities can be trusted, and what it mixes up."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.drawing import charts
from altopt.drawing.charts import Series, percent
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.palette import COLOURS, GREY
from altopt.fitted.model import ReadoutRule
from altopt.selection.leave_one_out import LeaveOneOut

MAX_CLASSES = 12  # in a matrix; beyond, the most frequent mistakes are listed
MAX_BARS = 30
N_BINS, LEAST_IN_BIN = 10, 15
N_MISTAKES = 15


def how_good(held_out: LeaveOneOut | str, readout: ReadoutRule, classes: Array) -> Html:
    """The first section: the expected accuracy in a sentence, then what stands behind it."""
    if isinstance(held_out, str):
        return element("p", f"How good it is {held_out}")
    if not len(held_out.nodes) or np.isnan(held_out.accuracy):
        return element("p", held_out.in_words(), class_="lead")
    low, high = held_out.interval
    label = (
        f"Expected accuracy {percent(held_out.accuracy)}, 95 % interval {percent(low)} to {percent(high)}."
    )
    return join(
        element("p", held_out.in_words(), class_="lead"),
        charts.interval(held_out.accuracy, held_out.interval, label),
        element("p", basis(held_out), class_="soft"),
        element(
            "div",
            element("div", element("h3", "By class"), by_class(held_out)),
            element(
                "div",
                element("h3", "Can its probabilities be trusted?"),
                calibration(held_out, readout, classes),
            ),
            class_="pair",
        ),
        element("h3", "What it mixes up"),
        mistakes(held_out),
    )


def basis(held_out: LeaveOneOut) -> str:
    """Where the figures come from."""
    said = (
        f"From {len(held_out.nodes):,} labels, each predicted as if it were not known. "
        f"How the labels were drawn: {held_out.draw.rstrip('.')}."
    )
    if np.isnan(held_out.auc):
        return said
    low, high = held_out.auc_interval
    return f"{said} Expected ROC AUC: {held_out.auc:.2f} ({low:.2f} to {high:.2f})."


def by_class(held_out: LeaveOneOut) -> Html:
    """The share of each class's held-out labels that was predicted, with its limits."""
    known = [(name, *found) for name, found in held_out.recall.items() if not np.isnan(found[0])]
    known = sorted(known, key=lambda row: row[1])[:MAX_BARS]
    if not known:
        return element("p", "No class has labels enough to tell.", class_="soft")
    names = [row[0] for row in known]
    values = Series("found", [row[1] for row in known])
    rows = [(name, percent(value), f"{percent(low)} to {percent(high)}") for name, value, low, high in known]
    n = len(held_out.recall)
    which = f", the lowest {len(known)} of {n} classes" if n > len(known) else ", the lowest first"
    label = f"The share of each class's held-out labels that was predicted correctly{which}."
    return join(
        element("p", label, class_="soft"),
        charts.bars(names, [values], label),
        details(
            "With intervals", table(("Class", "Found", "95 % interval"), rows, caption=label, numbers=(1, 2))
        ),
    )


def calibration(held_out: LeaveOneOut, readout: ReadoutRule, classes: Array) -> Html:
    """Stated probability beside the share that was right, for held-out labels in bins."""
    P = readout.soften(held_out.scores)
    stated, hit = P.max(axis=1), classes[P.argmax(axis=1)] == held_out.given
    bins = np.array_split(np.argsort(stated, kind="stable"), min(N_BINS, max(2, len(stated) // LEAST_IN_BIN)))
    bins = [bin for bin in bins if len(bin)]
    x, y = ([float(values[bin].mean()) for bin in bins] for values in (stated, hit))
    counts = [len(bin) for bin in bins]
    spread = [float(np.sqrt((p * (1 - p) + 0.25 / n) / (n + 1))) for p, n in zip(y, counts)]
    label = "On the dashed line a prediction that is said to be right with 80 % is right 80 times of 100."
    series = [
        Series("held-out labels", y, x, spread, COLOURS[0]),
        Series("ideal", (0.0, 1.0), (0.0, 1.0), (), GREY, dashed=True),
    ]
    drawn = charts.lines(
        series, label, "stated probability", "share that was right", (0.0, 1.0), (0.0, 1.0), percent
    )
    rows = [(percent(a), percent(b), f"{n:,}") for a, b, n in zip(x, y, counts)]
    head = ("Stated", "Right", "Labels")
    return join(
        element("p", label, class_="soft"),
        drawn,
        details(
            "The numbers", table(head, rows, caption="Calibration of held-out labels", numbers=(0, 1, 2))
        ),
    )


def mistakes(held_out: LeaveOneOut) -> Html:
    """The confusion matrix, or the most frequent mistakes of many classes."""
    classes = np.unique(np.concatenate([held_out.given, held_out.predictions]))
    given, found = (np.searchsorted(classes, labels) for labels in (held_out.given, held_out.predictions))
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (given, found), 1)
    if len(classes) <= MAX_CLASSES:
        return matrix(classes.tolist(), counts)
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:N_MISTAKES]
    pairs = [divmod(int(k), len(classes)) for k in order if wrong.flat[k]]
    rows = [(classes[i], classes[j], f"{wrong[i, j]:,} of {counts[i].sum():,}") for i, j in pairs]
    if not rows:
        return element("p", "No held-out label was mistaken.")
    return table(
        ("Given", "Predicted", "How often"), rows, caption="The most frequent mistakes", numbers=(2,)
    )


def matrix(names: list[Any], counts: Array) -> Html:
    """Given labels down, predicted ones across; a cell is as dark as its share of its row."""
    caption = "Held-out labels: given down, predicted across."
    head = [element("th", "given ↓ predicted →", scope="col")]
    head += [element("th", charts.short(name, 14), scope="col", title=name) for name in names]
    rows = []
    for i, name in enumerate(names):
        shares = counts[i] / max(int(counts[i].sum()), 1)
        cells = [
            element(
                "td", f"{n:,}" if n else "·", class_="hit" if i == j else None, style=f"--share: {share:.3f}"
            )
            for j, (n, share) in enumerate(zip(counts[i].tolist(), shares.tolist()))
        ]
        rows.append(element("tr", element("th", charts.short(name), scope="row", title=name), cells))
    whole = element(
        "table",
        element("caption", caption, class_="hidden"),
        element("thead", element("tr", head)),
        element("tbody", rows),
        class_="matrix",
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)


def details(summary: str, *content: Any) -> Html:
    """Something to open."""
    return element("details", element("summary", summary), *content)
