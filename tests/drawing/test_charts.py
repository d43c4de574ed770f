"""Charts: well-formed SVG that says in words what it shows, whatever the numbers."""

from xml.etree import ElementTree

import numpy as np
import pytest

from altopt.drawing import charts
from altopt.drawing.charts import Series
from altopt.drawing.layout import positions
from altopt.drawing.palette import COLOURS
from altopt.operator.kernels.reorder import community_order
from problems import two_communities

NAN = float("nan")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    "drawn",
    [
        charts.bars(
            ["a", "<b>"], [Series("x", [0.2, NAN]), Series("y", [0.0, 1.0], spread=[0.1, 0.2])], "Bars."
        ),
        charts.bars([], [Series("x", [])], "Nothing."),
        charts.lines([Series("x", [1.0, NAN, 3.0], [0, 1, 2])], "Lines.", "round", "value"),
        charts.lines([Series("x", [], [])], "None.", "round", "value"),
        charts.lines([Series("x", [2.0], [1.0], [0.5])], "One.", "round", "value"),
        charts.interval(0.5, (0.2, 1.0), "Interval."),
    ],
)
def test_a_chart_is_a_picture_with_a_name(drawn):
    root = ElementTree.fromstring(drawn)
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text
    assert "nan" not in drawn


def test_a_bar_is_as_long_as_its_value():
    root = ElementTree.fromstring(charts.bars(["a", "b"], [Series("x", [1.0, 4.0])], "Bars."))
    widths = [float(bar.get("width")) for bar in root.iter(f"{SVG}rect")]
    assert widths[1] == pytest.approx(4 * widths[0], rel=0.01)


def test_colours_differ_for_every_kind_of_colour_vision():
    """Each pair is told apart by lightness or by the blue-yellow axis, which the common deficiencies leave alone."""
    rgb = np.array([[int(c[k : k + 2], 16) for k in (1, 3, 5)] for c in COLOURS]) / 255
    light = (rgb**2.2) @ [0.2126, 0.7152, 0.0722]
    blue = rgb[:, 2] - rgb[:, :2].mean(axis=1)
    seen = np.stack([light, blue], axis=1)
    gaps = np.linalg.norm(seen[:, None] - seen[None], axis=2)[~np.eye(len(COLOURS), dtype=bool)]
    assert gaps.min() > 0.08


def test_neighbours_stand_nearer_than_strangers():
    _, _, _, A = two_communities()
    import scipy.sparse as sp

    A = sp.csr_array(A)
    at = positions(A, community_order(A))
    assert at.min() >= 0
    assert at.max() <= 1
    rows, columns = A.nonzero()
    near = np.linalg.norm(at[rows] - at[columns], axis=1).mean()
    far = np.linalg.norm(at[:, None] - at[None], axis=2).mean()
    assert near < 0.7 * far
    assert np.array_equal(at, positions(A, community_order(A)))
