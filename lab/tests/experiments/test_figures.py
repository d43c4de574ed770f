"""Figures as files: each is drawn from the records, in both formats, with all that is on record."""

from xml.etree import ElementTree

import pytest
from test_paper_tables import record

from altopt import InputError
from altopt.drawing.palette import COLOURS
from altopt_lab.experiments.config import SEARCH_SPACE
from altopt_lab.experiments.figures import FIGURES, with_figures, write_figures
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.tables.others import INDUCTIVE_CELLS, INDUCTIVE_METHODS
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.tables.studies import ABLATIONS, SENSITIVE, TOPS, WEIGHTS, SurestNodes

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture(scope="module")
def index():
    lines = []
    for split in (0, 1):
        for change in ABLATIONS.values():
            lines.append(record("ALT-OPT", Cell("Cora", "20"), split, 0.81 + split / 50, change=change))
        for cell in SENSITIVE:
            for setting in WEIGHTS:
                for value in SEARCH_SPACE[setting]:
                    lines.append(record("ALT-OPT", cell, split, 0.8, change=((setting, value),)))
        for method in INDUCTIVE_METHODS:
            lines += [record(method, cell, split, 0.9) for cell in INDUCTIVE_CELLS]
        lines.append(
            {
                "key": SurestNodes(Cell("Cora", "20"), split).key,
                "right": {name: [0.9 - k / 50 for k in range(len(TOPS))] for name in ("ALT-OPT", "LP")},
            }
        )
    return RecordIndex(lines)


def test_each_figure_on_record_is_a_png_and_an_svg(index, tmp_path):
    written = write_figures(list(FIGURES), index, tmp_path / "figures")
    names = {path.name for path in written}
    assert names == {f"{name}.{kind}" for name in FIGURES for kind in ("png", "svg")}
    assert names == {path.name for path in (tmp_path / "figures").iterdir()}
    for path in written:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
            assert path.stat().st_size > 10_000


def test_a_drawing_names_its_series_and_has_their_colours(index, tmp_path):
    write_figures(["inductive"], index, tmp_path)
    drawn = (tmp_path / "inductive.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawn)
    for method, colour in zip(INDUCTIVE_METHODS, COLOURS):
        assert method.replace("&", "&amp;") in drawn
        assert colour in drawn.lower()
    write_figures(["inductive"], index, tmp_path / "again")
    assert (tmp_path / "again" / "inductive.svg").read_text(encoding="utf-8") == drawn


def test_the_sensitivity_figure_has_a_panel_for_each_weight_and_a_line_for_each_graph(index, tmp_path):
    write_figures(["sensitivity"], index, tmp_path)
    drawn = (tmp_path / "sensitivity.svg").read_text(encoding="utf-8")
    for symbol in WEIGHTS.values():
        assert f"{symbol}, the other at its tuned value" in drawn
    for cell in SENSITIVE:
        assert drawn.count(f">{cell.dataset}<") >= 1


def test_a_table_without_a_figure_is_refused():
    with pytest.raises(InputError, match="peers has no figure"):
        with_figures(["peers"])
    assert with_figures(["peers", "top-k"]) == ["top-k"]
