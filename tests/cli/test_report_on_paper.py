"""The report on paper, as Chromium prints it: every section is there, and nothing is stretched."""

import re
import zlib

import pytest

from altopt import AltOpt
from altopt.cli.report import model_report
from altopt.cli.report.page import SECTIONS
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class
from browser import Page, chromium

OBJECT = re.compile(rb"\d+ 0 obj\n(.*?)endobj", re.DOTALL)
MATRIX = re.compile(rb"^(\S+) (\S+) (\S+) (\S+) \S+ \S+ cm$", re.MULTILINE)
CURVE = re.compile(rb" c$", re.MULTILINE)


def drawn(pdf):
    """What the pages and pictures of a PDF draw, as commands."""
    for body in OBJECT.findall(pdf):
        head, found, rest = body.partition(b"stream\n")
        if found and b"/FlateDecode" in head and b"/FontFile" not in head:
            yield zlib.decompressobj().decompress(rest)


@pytest.fixture(scope="module")
def pdf(tmp_path_factory):
    data = communities(400, 4, seed=1)
    y = hide(data.y, per_class(data.y, 8, 0, 0, seed=0).train)
    page = tmp_path_factory.mktemp("paper") / "report.html"
    model_report(AltOpt(random_state=0).fit(data.X, y, graph=data.graph), page)
    with chromium() as browser:
        shown = Page(browser, scheme="dark")  # paper is white all the same
        shown.tab.goto(page.as_uri())
        shown.tab.wait_for_selector(".picture[data-ready]")
        return shown.tab.pdf(format="A4", outline=True, tagged=True)


def test_all_sections_are_printed(pdf):
    titles = [title.decode() for title in re.findall(rb"/Title \(((?:[^()\\]|\\.)*)\)", pdf)]
    expected = [title for name, (title, _) in SECTIONS.items() if name != "columns"]
    assert [title for title in titles if title in expected] == expected


def test_circles_stay_round(pdf):
    """The picture is drawn by curves, and no matrix scales one axis more than the other."""
    streams = list(drawn(pdf))
    assert max(len(CURVE.findall(stream)) for stream in streams) >= 400  # a circle for each node
    for stream in streams:
        for a, b, c, d in (map(float, found) for found in MATRIX.findall(stream)):
            assert abs(abs(a) - abs(d)) <= 0.002 * abs(a)
            assert (b, c) == (0, 0)
