"""Charts as SVG: bars, lines with whiskers, and intervals; each says in words what it shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import Any

from altopt.drawing.html import Html, element
from altopt.drawing.palette import COLOURS, GREY

WIDTH, HEIGHT = 440, 240
LEFT, RIGHT, TOP, BOTTOM = 48, 12, 12, 40
BAR, GAP = 13, 10  # heights
NAME_LENGTH = 19
FONT = "font: 12px system-ui, sans-serif"


@dataclass(frozen=True)
class Series:
    """Values of one colour: points (x, y), or y alone for bars; `spread` draws whiskers of y ± spread."""

    name: str
    y: Sequence[float]
    x: Sequence[float] = ()
    spread: Sequence[float] = ()
    colour: str = COLOURS[0]
    dashed: bool = False


def svg(height: float, label: str, *children: Any) -> Html:
    """A picture as wide as its place, which a screen reader reads out as its label."""
    return element(
        "svg",
        element("title", label),
        *children,
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        style=f"{FONT}; max-width: 100%; width: {WIDTH}px; height: auto",
        xmlns="http://www.w3.org/2000/svg",
    )


def words(x: float, y: float, value: Any, anchor: str = "start", **more: Any) -> Html:
    return element("text", value, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, fill="currentColor", **more)


def rule(x1: float, y1: float, x2: float, y2: float, colour: str = "currentColor", **more: Any) -> Html:
    places = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    return element("line", stroke=colour, **{key: f"{at:.1f}" for key, at in places.items()}, **more)


def short(name: Any, length: int = NAME_LENGTH) -> str:
    """A name that fits beside a bar.

    >>> short("a very long name of a class")
    'a very long name o…'
    """
    shown = str(name)
    return shown if len(shown) <= length else shown[: length - 1].rstrip() + "…"


def percent(value: float) -> str:
    """
    >>> percent(0.125), percent(float("nan"))
    ('12.5 %', 'not known')
    """
    return f"{100 * value:.3g} %" if isfinite(value) else "not known"


def legend(series: Sequence[Series], y: float) -> list[Html]:
    """Names of the series in one line, each behind a square of its colour."""
    shown, x = [], float(LEFT)
    for entry in series:
        name = short(entry.name, 26)
        square = element("rect", x=f"{x:.1f}", y=f"{y - 9:.1f}", width=10, height=10, fill=entry.colour)
        shown += [square, words(x + 15, y, name)]
        x += 34 + 6.6 * len(name)
    return shown


def bars(names: Sequence[Any], series: Sequence[Series], label: str, show: Any = percent) -> Html:
    """Horizontal bars, one for each name and series, with their values behind them; NaN has no bar."""
    known = [y for entry in series for y in entry.y if isfinite(y)]
    top = max([*known, 1e-12])
    left, right = 150, WIDTH - 64
    parts: list[Html] = legend(series, 14) if len(series) > 1 else []
    y = 28.0 if len(series) > 1 else 6.0
    for k, name in enumerate(names):
        middle = y + len(series) * BAR / 2 + 4
        parts.append(element("g", words(left - 8, middle, short(name), "end"), element("title", name)))
        for entry in series:
            value = entry.y[k]
            width = (right - left) * value / top if isfinite(value) else 0.0
            box = {"x": left, "y": f"{y:.1f}", "width": f"{max(width, 0):.1f}", "height": BAR - 2}
            parts.append(element("rect", **box, fill=entry.colour, rx=2))
            end = left + max(width, 0)
            if entry.spread and isfinite(value):
                reach = (right - left) * entry.spread[k] / top
                at = y + (BAR - 2) / 2
                parts.append(rule(max(left, end - reach), at, end + reach, at, stroke_width=1.5))
                end += reach
            parts.append(words(end + 6, y + BAR - 3, show(value), font_size=11))
            y += BAR
        y += GAP
    return svg(y, label, *parts)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers from low to high.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = high - low
    if not (span > 0 and isfinite(span)):
        return [low]
    scale = 10.0 ** floor(log10(span / most))
    step = next(
        factor * scale for factor in (1.0, 2.0, 5.0, 10.0) if span <= most * factor * scale * (1 + 1e-9)
    )
    first = ceil(low / step - 1e-9)
    marks = []
    while first * step <= high + 1e-9 * span:
        marks.append(round(first * step, 12))
        first += 1
    return marks


def lines(
    series: Sequence[Series],
    label: str,
    x_name: str,
    y_name: str,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    show: Any = "{:.4g}".format,
) -> Html:
    """Lines through points, with whiskers where a series has a spread."""
    xs = [x for entry in series for x in entry.x]
    ys = [y for entry in series for y in entry.y if isfinite(y)]
    low_x, high_x = x_range or (min(xs, default=0.0), max(xs, default=1.0))
    low_y, high_y = y_range or (min([0.0, *ys]), max([*ys, 1e-12]))
    many = len(series) > 1
    top = TOP + (20 if many else 0)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x or 1.0)
        up = (y - low_y) / (high_y - low_y or 1.0)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - top)

    parts = legend(series, 12) if many else []
    for mark in ticks(low_y, high_y):
        _, y = at(low_x, mark)
        parts += [
            rule(LEFT, y, WIDTH - RIGHT, y, GREY, opacity=0.35),
            words(LEFT - 6, y + 4, show(mark), "end"),
        ]
    for mark in ticks(low_x, high_x, 8):
        x, _ = at(mark, low_y)
        parts.append(words(x, HEIGHT - BOTTOM + 16, f"{mark:g}", "middle"))
    parts.append(words((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, x_name, "middle"))
    for entry in series:
        parts.append(line(entry, at, show))
    return svg(HEIGHT, f"{label} Up: {y_name}; across: {x_name}.", *parts)


def line(entry: Series, at: Any, show: Any) -> Html:
    """One series: its path, its points with their values as tooltips, and its whiskers."""
    points = [(x, y) for x, y in zip(entry.x, entry.y) if isfinite(y)]
    path = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in points)
    dash = "4 4" if entry.dashed else None
    drawn = [
        element(
            "polyline", points=path, fill="none", stroke=entry.colour, stroke_width=2, stroke_dasharray=dash
        )
    ]
    if entry.dashed:
        return element("g", drawn)
    for x, y in points:
        across, up = at(x, y)
        tip = element("title", f"{entry.name}: {x:g}, {show(y)}")
        drawn.append(element("circle", tip, cx=f"{across:.1f}", cy=f"{up:.1f}", r=3.5, fill=entry.colour))
    for x, y, s in zip(entry.x, entry.y, entry.spread):
        (across, low), (_, high) = at(x, y - s), at(x, y + s)
        drawn.append(rule(across, low, across, high, entry.colour))
    return element("g", drawn)


def interval(value: float, limits: tuple[float, float], label: str) -> Html:
    """A share between 0 and 1 on a scale, with its interval."""
    left, right, y = 20.0, WIDTH - 24.0, 20.0

    def across(share: float) -> float:
        return left + (right - left) * min(max(share, 0.0), 1.0)

    low, high = map(across, limits)
    parts = [
        rule(left, y, right, y, GREY, stroke_width=3, stroke_linecap="round", opacity=0.5),
        rule(low, y, high, y, COLOURS[0], stroke_width=9, stroke_linecap="round", opacity=0.55),
        element("circle", cx=f"{across(value):.1f}", cy=y, r=8, fill=COLOURS[0]),
    ]
    for mark in (0, 25, 50, 75, 100):
        parts.append(words(across(mark / 100), y + 28, f"{mark} %", "middle"))
    return svg(56, label, *parts)
