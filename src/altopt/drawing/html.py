"""HTML by small functions: whatever is not markup already is text, and is escaped."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

VOID = {"br", "hr", "input", "link", "meta"}
# what a browser may not find in a text: controls, which HTML cannot express, and halves of surrogate pairs
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Html(str):
    """Markup that is inserted as it is.

    Examples
    --------
    >>> element("p", "1 < 2")
    '<p>1 &lt; 2</p>'
    >>> element("p", element("b", "1"), class_="soft")
    '<p class="soft"><b>1</b></p>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(self)


def text(value: Any) -> Html:
    """A value as text; markup stays as it is."""
    if isinstance(value, Html):
        return value
    return Html(escape(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", str(value))))


def join(*parts: Any) -> Html:
    """Markup, texts and lists of them one after another; None is left out."""
    flat: list[str] = []
    for part in parts:
        if isinstance(part, (list, tuple)):
            flat.append(join(*part))
        elif part is not None:
            flat.append(text(part))
    return Html("".join(flat))


def element(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; `class_` is written class, `aria_label` aria-label, True alone, None and False not at all."""
    shown = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        shown.append(f" {key}" if value is True else f' {key}="{text(str(value))}"')
    opening = f"<{name}{''.join(shown)}>"
    return Html(opening if name in VOID else f"{opening}{join(*children)}</{name}>")


def table(
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    caption: str,
    numbers: Iterable[int] = (),
    prose: bool = False,
) -> Html:
    """A table that scrolls sideways where it must; `numbers` are the columns that stand to the right.

    The last column of one with `prose` goes below the others where the page is narrow.
    """
    right = set(numbers)

    def cell(tag: str, k: int, value: Any, **more: Any) -> Html:
        return element(tag, value, class_="number" if k in right else None, **more)

    body = [element("tr", [cell("td", k, value) for k, value in enumerate(row)]) for row in rows]
    top = element("tr", [cell("th", k, value, scope="col") for k, value in enumerate(head)])
    whole = element(
        "table",
        element("caption", caption, class_="hidden"),
        element("thead", top),
        element("tbody", body),
        class_="prose" if prose else None,
        style=f"--columns: {len(head) - 1}" if prose else None,
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption)
