"""The report: one file that needs nothing else, says what was fitted, and draws in a browser."""

import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest

from altopt import AltOpt, Graph
from altopt.cli.report import model_report
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class

NASTY = "</script><b>bold</b> {{ 1 }}"


@pytest.fixture(scope="module")
def model():
    data = communities(400, 4, seed=1)
    names = np.array(["north", "south", "east", NASTY], dtype=object)
    y = hide(names[data.y], per_class(data.y, 5, 0, 0, seed=0).train)
    ids = [f"node [{k}]" for k in range(400)]
    X = np.concatenate([data.X, np.zeros((1, data.X.shape[1]), np.float32)])
    lonely = Graph(Graph(data.graph, n_nodes=401), nodes=[*ids, "<i>alone</i>"])
    return AltOpt(random_state=0).fit(X, np.append(y, None), graph=lonely)


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "deep" / "report.html"
    model_report(model, path)
    assert [other.name for other in path.parent.iterdir()] == ["report.html"]
    return path


class Elements(HTMLParser):
    """All tags with their attributes, and the text outside scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside = tag

    def handle_data(self, data):
        if self.inside not in ("script", "style"):
            self.words.append(data)

    def handle_endtag(self, tag):
        self.inside = ""


@pytest.fixture(scope="module")
def elements(page):
    return Elements(page.read_text(encoding="utf-8"))


def test_nothing_is_fetched(elements, page):
    addresses = [
        value
        for _, attrs in elements.tags
        for key, value in attrs.items()
        if key in ("src", "href", "action")
    ]
    assert addresses == ["data:,"]
    style = page.read_text(encoding="utf-8").split("<style>")[1].split("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_plotly_is_there_once(page):
    assert page.read_text(encoding="utf-8").count("plotly.js v") == 1


def test_the_page_says_what_was_fitted(elements, model):
    said = " ".join(" ".join(elements.words).split())
    for fact in ("Nodes 401", f"Edges {model.graph_.n_edges:,}", "Given labels 20 (5.0%)", "Classes 4"):
        assert fact in said
    assert "Unreached nodes 1" in said
    assert model.outcome_ in said
    assert f"feature_weight {model.plan_.feature_weight} (left open)" in said
    assert f"restart {model.restart_} (left open)" in said
    assert "node [" in said


def test_three_charts_have_a_place(elements):
    charts = [attrs for tag, attrs in elements.tags if tag == "div" and attrs.get("class") == "chart"]
    assert [chart["id"] for chart in charts] == ["chart-1-1", "chart-1-2", "chart-1-3"]


def test_names_cannot_become_markup(elements, page):
    assert not any(tag in ("b", "i") for tag, _ in elements.tags)
    assert NASTY not in page.read_text(encoding="utf-8")
    assert any("<i>alone</i>" in word for word in elements.words)


def test_many_classes_are_summed_up():
    from altopt.cli.report.charts import MAX_BARS, class_sizes

    y = np.repeat(np.arange(100), 3)
    ring = np.arange(300)
    shown = np.where(ring % 3 == 1, -1, y)
    model = AltOpt(n_rounds=1, random_state=0).fit(
        np.eye(300), shown, graph=np.stack([ring, np.roll(ring, 1)])
    )
    given, found = class_sizes(model)["data"]
    assert len(given["x"]) == MAX_BARS
    assert given["x"][-1] == "71 other classes"
    assert (sum(given["customdata"]), sum(found["customdata"])) == (200, 300)


def test_a_fully_labelled_graph_has_no_unsure_nodes(tmp_path):
    model = AltOpt(random_state=0).fit(np.eye(6), [0, 1, 2, 0, 1, 2], graph=[(0, 3), (1, 4), (2, 5)])
    model_report(model, tmp_path / "report.html")
    assert "Every node came with a label." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_charts_draw_in_a_browser_without_a_network(page, tmp_path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no Chromium installed")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=10000"]
    options += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path}", "--dump-dom"]
    ran = subprocess.run([browser, *options, page.as_uri()], capture_output=True, timeout=120, check=True)
    drawn = ran.stdout.decode()
    for chart in ("chart-1-1", "chart-1-2", "chart-1-3"):
        after = drawn.split(f'id="{chart}"')[1].split("<figure")[0]
        assert 'class="main-svg"' in after
    assert "given labels" in drawn.split("</script>", 1)[1]
