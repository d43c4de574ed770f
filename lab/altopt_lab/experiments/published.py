"""The paper's own numbers, as its tables print them."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from altopt_lab.experiments.protocols import Cell


@cache
def _all() -> dict[str, Any]:
    return dict(json.loads((Path(__file__).parent / "paper_figures.json").read_text(encoding="utf-8")))


def published(paper_table: str) -> dict[str, Any]:
    """The values of one of its tables."""
    return dict(_all()[paper_table]["values"])


def source(paper_table: str) -> str:
    """Which table or figure of the paper these are from."""
    return str(_all()[paper_table]["from"])


def notes(paper_table: str) -> tuple[str, ...]:
    return tuple(_all()[paper_table]["notes"])


def in_cell(paper_table: str, cell: Cell) -> dict[str, Any]:
    """The figures of a cell by method; the paper names a given split by its share of labels."""
    cells, cell = published(paper_table), replace(cell, dataset=cell.source)
    named = [name for name in cells if cell.n_splits == 1 and name.startswith(f"{cell.dataset} ")]
    return dict(cells.get(named[0] if named else str(cell), {}))


def accuracy(method: str, cell: Cell) -> float | None:
    """The paper's mean accuracy in a cell of its transductive tables."""
    figures = in_cell("transductive", cell).get(method)
    return None if figures is None else float(figures[0])


def figure_text(values: Any) -> str:
    """A mean with its deviation, where it has one."""
    if values is None:
        return "-"
    if isinstance(values, (int, float)):
        return f"{values:.2f}"
    return " ± ".join(f"{value:.2f}" for value in values)
