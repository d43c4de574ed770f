"""Markup by functions: everything that is not markup already is text."""

from html.parser import HTMLParser

import pytest

from altopt.drawing.html import UNPRINTABLE, Html, element, join, table


class Text(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "</p><script>alert(1)</script>",
        "\"' onclick=alert(1) x='",
        "&amp; &lt;b&gt; &#60;",
        "<!-- <![CDATA[ ]]> -->",
        "a\x00b\x1bc\ud800d",
        "\N{RIGHT-TO-LEFT OVERRIDE}été\N{GRINNING FACE}",
    ],
)
def test_any_text_stays_text(value):
    page = Text(element("p", value, title=value))
    assert [tag for tag, _ in page.tags] == ["p"]
    shown = UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", value)
    assert page.tags[0][1]["title"] == "".join(page.words) == shown


def test_markup_is_kept_and_nothing_is_left_out():
    inner = element("b", "1 < 2")
    assert element("p", inner, None, ["a", "b"]) == "<p><b>1 &lt; 2</b>ab</p>"
    assert isinstance(join("x", inner), Html)
    assert element("input", disabled=True, hidden=False, aria_label="a") == '<input disabled aria-label="a">'


def test_a_table_has_a_name_and_headings():
    page = Text(table(("a", "b"), [(1, "<i>")], caption="Numbers", numbers=(0,)))
    assert [tag for tag, _ in page.tags].count("th") == 2
    assert "<i>" in page.words
    assert dict(page.tags)["div"]["aria-label"] == "Numbers"
