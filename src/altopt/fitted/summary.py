"""A fitted model in a few words, and as a picture that can be looked at in a notebook or saved."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from altopt.drawing import charts
from altopt.drawing.charts import percent
from altopt.drawing.html import Html, element
from altopt.drawing.page import page
from altopt.fitted.model import FittedModel
from altopt.fitted.picture import figure, picture_of
from altopt.io.files import as_path, write_text

FRAME_HEIGHT = 760  # pixels


def summary(model: FittedModel, name: str) -> list[str]:
    """What was fitted, how good it is and which parts were chosen; a sentence each."""
    n_edges, n_labels = model.last_graph.n_edges, int(model.labelled.sum())
    held_out = model.leave_one_out
    said = f"How good it is {held_out}" if isinstance(held_out, str) else held_out.in_words()
    sizes = f"{model.n_nodes:,} nodes, {n_edges:,} edges, {len(model.classes):,} classes, {n_labels:,} given labels"
    return [
        f"{name}: {sizes}.",
        said,
        f"Parts: {model.choice['plan']}. {model.choice.get('reason', '')}".strip(),
        model.outcome,
    ]


def summary_html(model: FittedModel, name: str) -> Html:
    """The same, with the expected accuracy as a picture."""
    first, *rest = summary(model, name)
    held_out, drawn = model.leave_one_out, None
    if not isinstance(held_out, str) and held_out.accuracy == held_out.accuracy:
        low, high = held_out.interval
        label = f"Expected accuracy {percent(held_out.accuracy)}, between {percent(low)} and {percent(high)}."
        drawn = charts.interval(held_out.accuracy, held_out.interval, label)
    return element(
        "div", element("p", element("strong", first)), drawn, [element("p", line) for line in rest]
    )


@dataclass(frozen=True)
class Plot:
    """The graph of a fitted model, coloured by label and faded by doubt.

    A notebook shows it, with hover and search; `save` writes it as a page of its own.
    """

    data: dict[str, Any]

    @classmethod
    def of(cls, model: FittedModel) -> "Plot":
        return cls(picture_of(model))

    def html(self) -> str:
        """The page: one file that needs nothing else."""
        body = element("main", figure(self.data, "graph-data"), class_="report")
        return page("AltOpt graph", body, {"graph-data": self.data})

    def save(self, path: str | Path) -> None:
        """Write the page, which ends in .html."""
        write_text(as_path(path, "path"), self.html())

    def __repr__(self) -> str:
        return (
            f"Plot({len(self.data['ids']):,} of {self.data['n_nodes']:,} nodes; save('graph.html') writes it)"
        )

    def _repr_html_(self) -> str:
        style = f"width: 100%; height: {FRAME_HEIGHT}px; border: 0"
        return element("iframe", title="The graph", sandbox="allow-scripts", style=style, srcdoc=self.html())
