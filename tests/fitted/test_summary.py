"""What a notebook shows of a model and of what it returns: words, and pictures that are well-formed."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from altopt import AltOpt
from problems import two_communities

EVIL = "<b>a</b>"


@pytest.fixture(scope="module")
def model():
    X, y, _, A = two_communities()
    names = np.array([EVIL, "other", None], dtype=object)
    return AltOpt(random_state=0).fit(X, names[y], graph=A)


def charts_in(page):
    """Of each chart the values and widths of its bars."""
    return [
        [
            (float(value) / 100, float(width))
            for width, value in re.findall(r'<rect [^>]*width="([\d.]+)".*?>(-?[\d.e-]+) %</text>', drawn)
        ]
        for drawn in re.findall("<svg.*?</svg>", page, re.DOTALL)
    ]


class Tags(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


@pytest.mark.parametrize(
    "shown",
    [
        lambda model: model,
        lambda model: model.leave_one_out_,
        lambda model: model.graph_help_,
        lambda model: model.trace_,
        lambda model: model.what_if(labels={5: EVIL}),
        lambda model: model.what_if(labels={5: "other"}),
        lambda model: model.explain(5),
        lambda model: model.plot(),
    ],
    ids=["model", "leave_one_out_", "graph_help_", "trace_", "change", "other change", "explanation", "plot"],
)
def test_it_shows_itself_in_words_and_markup(model, shown):
    value = shown(model)
    assert value is not None
    assert str(value)
    assert "object at 0x" not in str(value)
    assert EVIL not in value._repr_html_()


def test_a_model_says_what_it_is_before_and_after_a_fit(model):
    assert str(AltOpt()) == repr(AltOpt())
    assert f"{model.fitted_.n_nodes} nodes" in str(model)
    assert model.leave_one_out_.in_words() in str(model)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == str(model)
    assert "<svg" in bundle["text/html"]
    updated = AltOpt(random_state=0).fit(*two_communities()[:2], graph=two_communities()[3])
    updated.update(labels={5: 0})
    assert "out of date" in str(updated)


def test_an_explanation_draws_the_shares_of_its_score(model):
    """Bars as long as the shares, which sum to the whole; the largest piece first."""
    why = model.explain(5)
    bars = charts_in(why._repr_html_())[0]
    shares = [amount / why.total for _, _, amount in why.from_labels]
    shares += [amount / why.total for node, amount in why.from_features if node is not None]
    assert bars[0][0] == pytest.approx(max(shares), abs=0.001)
    assert sum(share for share, _ in bars) == pytest.approx(1.0, abs=0.01)
    for share, width in bars:
        assert width == pytest.approx(max(share, 0) / bars[0][0] * bars[0][1], abs=1.0)


def test_a_change_draws_how_many_moved_between_classes(model):
    change = model.what_if(labels=dict.fromkeys(np.flatnonzero(model.transduction_ == EVIL)[:3], "other"))
    moved = len(change.moved)
    assert moved >= 3
    page = change._repr_html_()
    assert page.count("<svg") == 1
    drawn = re.findall(r">([\d,]+)</text>", page)
    assert sorted(map(int, drawn)) == [0, 0, moved, moved]


def test_a_plot_is_a_page_of_its_own(model, tmp_path):
    model.plot().save(tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_trace_is_a_list(model):
    assert model.trace_ == list(model.trace_)
    assert str(model.trace_).count("\n") == len(model.trace_)
