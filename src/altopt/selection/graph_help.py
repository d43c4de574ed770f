"""What the graph is worth beside the features alone."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.drawing.charts import Series, bars, percent
from altopt.drawing.html import Html, element, join
from altopt.drawing.palette import COLOURS, GREY

MAX_BARS = 30  # classes that are drawn


@dataclass(frozen=True)
class KindHelp:
    """What one kind of edges is worth: accuracy on held-out labels, by a linear model smoothed along edges.

    Parameters
    ----------
    alone : float
        Along this kind alone.
    without : float
        Along the other kinds at their weights.
    all_kinds : float
        Along all kinds at their weights.
    features_alone : float
        Without any edges.

    Attributes
    ----------
    gain : float
        all_kinds - without: what this kind adds to the others. Not above 0 for a kind of weight 0.

    Examples
    --------
    >>> KindHelp(alone=0.75, without=0.625, all_kinds=0.875, features_alone=0.5).gain
    0.25
    """

    alone: float
    without: float
    all_kinds: float
    features_alone: float

    @property
    def gain(self) -> float:
        return self.all_kinds - self.without


@dataclass(frozen=True)
class GraphHelp:
    """Accuracy on held-out labels with the graph and from the features alone; labels weigh as they were drawn.

    Parameters
    ----------
    with_graph, features_alone : float
        The two accuracies.
    per_class : dict
        For each class the share of its held-out labels predicted correctly, (with the graph, features alone).
    per_kind : dict of str to KindHelp
        What each kind of edges is worth, where several were given.

    Attributes
    ----------
    gain : float
        with_graph - features_alone.

    Examples
    --------
    >>> GraphHelp(0.75, 0.5, {"a": (1.0, 0.5), "b": (0.5, 0.5)}).gain
    0.25
    """

    with_graph: float
    features_alone: float
    per_class: dict[Any, Any]
    per_kind: dict[str, KindHelp] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        return self.with_graph - self.features_alone

    def __str__(self) -> str:
        change = "adds" if self.gain >= 0 else "takes away"
        return (
            f"With the graph {percent(self.with_graph)} of held-out labels are predicted correctly, from the features "
            f"alone {percent(self.features_alone)}: the graph {change} {100 * abs(self.gain):.1f} percentage points."
        )

    def _repr_html_(self) -> str:
        return self.in_html()

    def in_html(self) -> Html:
        """In words and as a chart."""
        rows = list(self.per_class.items())[:MAX_BARS]
        series = [
            Series("with the graph", [pair[0] for _, pair in rows], colour=COLOURS[2]),
            Series("features alone", [pair[1] for _, pair in rows], colour=GREY),
        ]
        label = "Held-out labels predicted correctly, by class."
        return join(element("p", str(self)), bars([name for name, _ in rows], series, label))

    @classmethod
    def of(cls, hits: list[Array], codes: Array, weights: Array, classes: Array) -> "GraphHelp":
        """From the hits on held-out labels with the graph and from the features alone."""
        with_graph, features = (float(np.sum(weights * hit) / weights.sum()) for hit in hits)
        present = np.unique(codes)
        per_class = [tuple(float(hit[codes == k].mean()) for hit in hits) for k in present]
        return cls(with_graph, features, dict(zip(classes[present].tolist(), per_class)))
