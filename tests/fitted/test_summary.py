"""What a notebook shows of a model and of what it returns: words, and pictures that are well-formed."""

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
        lambda model: model.plot(),
    ],
    ids=["model", "leave_one_out_", "graph_help_", "trace_", "change", "other change", "plot"],
)
def test_it_shows_itself_in_words_and_markup(model, shown):
    value = shown(model)
    assert value is not None
    assert str(value)
    assert "object at 0x" not in str(value)
    assert "b" not in Tags(value._repr_html_()).tags


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


def test_a_plot_is_a_page_of_its_own(model, tmp_path):
    model.plot().save(tmp_path / "graph.html")
    page = (tmp_path / "graph.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_trace_is_a_list(model):
    assert model.trace_ == list(model.trace_)
    assert str(model.trace_).count("\n") == len(model.trace_)
