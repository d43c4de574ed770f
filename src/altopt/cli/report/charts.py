"""The report's charts, as plotly figures made of counts whose size does not depend on the graph's."""

from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array

Figure = dict[str, Any]

GIVEN, PREDICTED = "#d9822b", "#3b7dd8"
PARTS = {"objective": "#7a7a85", "features": "#3b7dd8", "graph": "#2e9d6b", "labels": "#d9822b"}
MAX_BARS = 30  # further classes are summed in one bar
GRID = "rgba(128,128,128,0.25)"


def class_sizes(model: AltOpt) -> Figure:
    """Each class's share of the given labels and of the labels of all nodes."""
    given = counts(model.transduction_[model.labelled_], model.classes_)
    predicted = counts(model.transduction_, model.classes_)
    names = [str(name) for name in model.classes_.tolist()]
    if len(names) > MAX_BARS:
        order = np.argsort(-predicted, kind="stable")
        top, rest = order[: MAX_BARS - 1], order[MAX_BARS - 1 :]
        names = [names[k] for k in top] + [f"{len(rest):,} other classes"]
        given, predicted = (np.append(values[top], values[rest].sum()) for values in (given, predicted))
    bars = [("given labels", given, GIVEN), ("all nodes", predicted, PREDICTED)]
    data = [
        {
            "type": "bar",
            "name": name,
            "x": names,
            "y": (values / max(values.sum(), 1)).tolist(),
            "customdata": values.tolist(),
            "hovertemplate": "%{x}: %{customdata:,} nodes (%{y:.1%})",
            "marker": {"color": colour},
        }
        for name, values, colour in bars
    ]
    return figure(data, x={"title": {"text": "class"}, "type": "category"}, y=axis("share", tickformat=".0%"))


def confidence(model: AltOpt) -> Figure:
    """Histogram of the confidence of the nodes without a given label."""
    edges = np.linspace(0.0, 1.0, 21)
    heights, _ = np.histogram(model.confidence_[~model.labelled_], edges)
    bar = {
        "type": "bar",
        "x": (edges[:-1] + 0.025).tolist(),
        "y": heights.tolist(),
        "width": 0.048,
        "hovertemplate": "confidence %{x:.3f} ± 0.025: %{y:,} nodes<extra></extra>",
        "marker": {"color": PREDICTED},
    }
    return figure([bar], x=axis("confidence", range=[0, 1]), y=axis("nodes"))


def objective(model: AltOpt) -> Figure:
    """The objective and its three parts after each round's update of F."""
    rounds = [entry["round"] for entry in model.trace_]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": part,
            "x": rounds,
            "y": [entry[part] for entry in model.trace_],
            "hovertemplate": "%{y:,.4g}",
            "line": {"color": colour, "width": 3 if part == "objective" else 2},
        }
        for part, colour in PARTS.items()
    ]
    whole = {"tickmode": "array", "tickvals": rounds} if len(rounds) <= 20 else {}
    return figure(data, x=axis("round", **whole), y=axis("value", rangemode="tozero"))


def counts(labels: Array, classes: Array) -> Array:
    """How often each class occurs."""
    return np.bincount(np.searchsorted(classes, labels), minlength=len(classes))


def axis(title: str, **more: Any) -> Figure:
    return {"title": {"text": title}, "gridcolor": GRID, "zeroline": False, **more}


def figure(data: list[Figure], x: Figure, y: Figure) -> Figure:
    """Data with the layout that all charts share; the page's style colours the text for light and dark."""
    layout = {
        "xaxis": {"gridcolor": GRID, "showgrid": False, "automargin": True, **x},
        "yaxis": {"gridcolor": GRID, "automargin": True, **y},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 60, "r": 15, "t": 10, "b": 50},
        "height": 320,
        "bargap": 0.25,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "showlegend": len(data) > 1,
    }
    return {"data": data, "layout": layout}
