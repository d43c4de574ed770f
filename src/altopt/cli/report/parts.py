"""What a report says of the fit itself: class sizes, what the graph is worth, the parts chosen, and how it went."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.cli.report.held_out import details
from altopt.drawing import charts
from altopt.drawing.charts import Series, percent
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.palette import GIVEN, PREDICTED
from altopt.io.circumstances import PEAK, SECONDS, Circumstances, of

MAX_BARS = 30  # further classes are summed in one bar
MAX_COLUMNS = 60
UNRECORDED = "not recorded"


def class_sizes(classes: Array, given: Array, predicted: Array) -> Html:
    """Each class's share of the given labels and of the labels of all nodes, which are counted here."""
    names, given, predicted = largest(classes, given, predicted)
    label = "Each class's share of the given labels and of all nodes' labels."
    series = [
        Series("given labels", (given / max(given.sum(), 1)).tolist(), colour=GIVEN),
        Series("all nodes", (predicted / max(predicted.sum(), 1)).tolist(), colour=PREDICTED),
    ]
    rows = [(name, f"{a:,}", f"{b:,}") for name, a, b in zip(names, given.tolist(), predicted.tolist())]
    head = ("Class", "Given", "All nodes")
    return join(
        element("p", label, class_="soft"),
        charts.bars(names, series, label),
        details("The numbers", table(head, rows, caption="Class sizes", numbers=(1, 2))),
    )


def sizes(model: AltOpt) -> tuple[Array, Array, Array]:
    """The classes, how often each is given, and how many nodes it has."""
    given, predicted = (
        counts(y, model.classes_) for y in (model.transduction_[model.labelled_], model.transduction_)
    )
    return model.classes_, given, predicted


def largest(classes: Array, given: Array, predicted: Array) -> tuple[list[str], Array, Array]:
    """Names of the classes with their counts; small ones beyond many as one."""
    names = [str(name) for name in classes.tolist()]
    if len(names) <= MAX_BARS:
        return names, given, predicted
    order = np.argsort(-predicted, kind="stable")
    top, rest = order[: MAX_BARS - 1], order[MAX_BARS - 1 :]
    given, predicted = (np.append(values[top], values[rest].sum()) for values in (given, predicted))
    return [*(names[k] for k in top), f"{len(rest):,} other classes"], given, predicted


def counts(labels: Array, classes: Array) -> Array:
    """How often each class occurs."""
    return np.bincount(np.searchsorted(classes, labels), minlength=len(classes))


def worth_of_graph(model: AltOpt) -> Html:
    """Held-out accuracy with the graph and without it, and how much each kind of edge counts."""
    found = model.graph_help_
    parts: list[Any] = []
    if found is None:
        parts.append(element("p", "The fit did not compare the graph with the features alone."))
    else:
        parts.append(found.in_html())
    return join(parts, kinds_of_edges(model))


def kinds_of_edges(model: AltOpt) -> Html | None:
    """How much each kind of edge counts, and what it adds, where several were given."""
    weights, found = model.edge_weights_, model.graph_help_
    if len(weights) < 2:
        return None
    worth = {} if found is None else found.per_kind
    rows = [
        (
            kind,
            f"{weight:.2f}",
            *([percent(worth[kind].alone), f"{100 * worth[kind].gain:+.1f}"] if kind in worth else "  "),
        )
        for kind, weight in weights.items()
    ]
    head = ("Kind of edges", "Weight", "Right along it alone", "Points it adds to the others")
    return join(
        element("h3", "Kinds of edges"), table(head, rows, caption="Kinds of edges", numbers=(1, 2, 3))
    )


def parts_chosen(choice: Mapping[str, Any]) -> Html:
    """Which candidate was taken, why, and those it was compared with."""
    parts: list[Any] = [
        element("p", element("strong", str(choice["plan"])), ". ", str(choice.get("reason", "")))
    ]
    considered = [entry for entry in choice.get("considered", []) if isinstance(entry, Mapping)]
    if considered:
        rows = [
            (
                entry["plan"],
                percent(float(entry["accuracy"])),
                f"{entry['error']:.3f}",
                f"{entry['weight']:.2f}" if entry.get("weight") else "",
                f"{entry['seconds']:.2f}",
                entry.get("dropped", ""),
            )
            for entry in considered
        ]
        head = ("Candidate", "Right", "Log loss", "Weight", "Seconds", "Remark")
        caption = "The candidates, judged by held-out labels"
        parts.append(table(head, rows, caption=caption, numbers=(1, 2, 3, 4), prose=True))
    return join(parts)


def columns_read(model: AltOpt) -> Html | None:
    """How each column of a table was read, where X was one."""
    if model.fitted_.reader is None:
        return None
    columns = model.columns_
    return table_of_columns(
        [(column.name, column.kind, column.how, column.missing) for column in columns[:MAX_COLUMNS]],
        len(columns),
    )


def table_of_columns(columns: Sequence[tuple[Any, str, str, float]], n: int) -> Html:
    """Name, kind, how it was read and the share missing of the first of n columns."""
    rows = [(name, kind, percent(missing) if missing else "", how) for name, kind, how, missing in columns]
    more = f"The first {len(rows)} of {n:,} columns." if n > len(rows) else None
    said = None if more is None else element("p", more, class_="soft")
    head = ("Column", "Kind", "Missing", "How")
    return join(said, table(head, rows, caption="How columns were read", numbers=(2,), prose=True))


def how_it_went(model: AltOpt) -> Html:
    """Settings, versions, time, memory and the objective after each round: for whoever asks."""
    facts = circumstances(of(model.fitted_), seconds_of(model), model.seed_)
    return the_fit(
        model.outcome_, settings_of(model), facts, details("The objective, round by round", trace(model))
    )


def the_fit(
    outcome: str, settings: Sequence[tuple[Any, Any]], facts: Sequence[tuple[str, str]], rounds: Html | None
) -> Html:
    """How it ended, and what lies folded away: settings, circumstances and rounds."""
    return join(
        element("p", outcome),
        details("Settings", table(("Setting", "Value"), settings, caption="Settings")),
        details(
            "Versions, time and memory",
            table(("What", "Value"), facts, caption="Circumstances of the fit"),
        ),
        rounds,
    )


def settings_of(model: AltOpt) -> list[tuple[Any, Any]]:
    """Each setting by name; one that was left open with what the fit took."""
    taken = {"restart": model.restart_} | {
        key: getattr(model.plan_, key)
        for key in ("feature_weight", "label_weight", "encoder", "inputs", "graph_view")
    }
    rows = []
    for key, value in sorted(model.get_params(deep=False).items()):
        left_open = value is None and key in taken
        value = f"{shown(taken[key])} (left open)" if left_open else shown(value)
        rows.append((element("code", key), element("code", value)))
    return rows


def shown(value: Any) -> str:
    """A setting in words: classes by their name, the rest as Python prints it."""
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def circumstances(
    found: Circumstances | None, seconds: Mapping[str, float], seed: int
) -> list[tuple[str, str]]:
    """Versions, seconds and memory of the fit as they were recorded with the model, and its seed."""
    told = (found or {}).copy()
    whole, peak = told.pop(SECONDS, None), told.pop(PEAK, None)
    rows = list(told.items()) if found else [("Versions", UNRECORDED)]
    rows.append(("Seconds of the whole fit", UNRECORDED if whole is None else f"{whole:.2f}"))
    rows += [(name, f"{value:.2f}") for name, value in seconds.items()]
    rows.append(("Peak memory of the process", UNRECORDED if peak is None else f"{peak / 1e6:,.0f} MB"))
    return [*rows, ("Seed", str(seed))]


def seconds_of(model: AltOpt) -> dict[str, float]:
    """Where the time went, as far as the fit says."""
    return {
        "Seconds of the rounds": sum(float(entry.get("seconds", 0.0)) for entry in model.trace_),
        "Seconds of candidates judged": sum(
            float(entry.get("seconds", 0.0)) for entry in model.choice_.get("considered", [])
        ),
    }


def trace(model: AltOpt) -> Html:
    """The objective and its three parts after each update of F."""
    said = (
        "The objective and its three parts after each update of F; training the encoder between two updates moves P, "
        "so the objective may also rise."
    )
    return join(element("p", said, class_="soft"), model.trace_.in_html())
