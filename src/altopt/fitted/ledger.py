"""An explanation as text and as HTML: the same ledger on the command line, in print() and in notebooks."""

from html import escape
from typing import TYPE_CHECKING, Any

from altopt.drawing import charts
from altopt.drawing.charts import Series
from altopt.drawing.html import Html

if TYPE_CHECKING:
    from altopt.fitted.explanation import Contrast, Explanation

TOP = 10  # entries of each list
DRAWN, LEAST_DRAWN = 8, 0.005  # pieces of evidence in the picture, and the least share of one
NOTE = "Exact for the encoder output that was used, and for F before the softmax."


def in_words(explanation: "Explanation", contrast: "Contrast | None" = None, top: int = TOP) -> list[str]:
    """The explanation as lines of text."""
    k = explanation.code
    lines = [headline(explanation), ""]
    rest = "the initial F of its solver" if explanation.from_start else "further away, not listed"
    parts = [
        ("labels", explanation.label_evidence[k]),
        ("features", explanation.feature_evidence[k]),
        (rest, explanation.tail[k]),
    ]
    lines += [
        f"  {'from ' + what:<32}{amount:>9.4f}{share(amount, explanation.total)}" for what, amount in parts
    ]
    shown = explanation if contrast is None else contrast
    total = explanation.total if contrast is None else contrast.margin
    if contrast is not None:
        lines += ["", f"  Why {contrast.prediction} and not {contrast.other}: ahead by {contrast.margin:.4f}"]
    lines += ["", *largest("label of node", [(n, c, a) for n, c, a in shown.from_labels], total, top)]
    lines += ["", *largest("features of node", [(n, "", a) for n, a in shown.from_features], total, top)]
    if contrast is None:
        columns = [(name, "", amount) for name, amount in explanation.columns]
        lines += ["", *largest("column of X", columns, total, top), f"  ({explanation.columns_how})"]
    path = path_in_words(explanation)
    lines += ["", f"  {path}"] if path else []
    return [*lines, "", f"  {NOTE}"]


def headline(explanation: "Explanation") -> str:
    """The node, its label and the scores; and where the evidence is against a given label."""
    k, classes = explanation.code, [str(name) for name in explanation.classes.tolist()]
    if explanation.outvoted_by is not None:
        word = "given" if explanation.given else "label"
        strongest = float(explanation.evidence.max())
        return (
            f"Node {explanation.node}: {word}: {classes[k]}, score {explanation.total:.4f}; "
            f"the evidence says {explanation.outvoted_by} ({strongest:.4f})"
        )
    ranked = sorted(range(len(classes)), key=lambda j: -explanation.evidence[j])[:4]
    runners = ", ".join(f"{classes[j]} {explanation.evidence[j]:.4f}" for j in ranked if j != k)
    given = " (given)" if explanation.given else ""
    return f"Node {explanation.node}: {classes[k]}{given}, score {explanation.total:.4f} (next: {runners})"


def path_in_words(explanation: "Explanation") -> str:
    walk, amount = explanation.path
    carried = "" if amount is None else f" ({amount:.4f})"
    return f"Strongest path{carried}: {explanation.path_in_words()}" if walk else ""


def largest(title: str, entries: list[tuple[Any, Any, float]], total: float, top: int) -> list[str]:
    """The largest entries and the rest in one line."""
    named = [entry for entry in entries if entry[0] is not None]
    if not named:
        return [f"  {title}: none"]
    width = max(len(str(node)) for node, *_ in named[:top])
    width = max(width, len(title))
    lines = [f"  {title:<{width}}  {'':<12}{'amount':>9}   share"]
    for node, label, amount in named[:top]:
        lines.append(f"  {node!s:<{width}}  {label!s:<12}{amount:>9.4f}{share(amount, total)}")
    rest = sum(amount for *_, amount in named[top:])
    if len(named) > top:
        lines.append(f"  {f'{len(named) - top:,} more':<{width}}  {'':<12}{rest:>9.4f}{share(rest, total)}")
    return lines


def share(amount: float, total: float) -> str:
    return f"{100 * amount / total:>7.1f} %" if total else ""


def as_html(explanation: "Explanation", top: int = TOP) -> str:
    """The explanation as a picture of its shares and tables side by side, for notebooks."""
    lists = {
        "label of node": [(f"{n} ({c})", a) for n, c, a in explanation.from_labels],
        "features of node": [(n, a) for n, a in explanation.from_features if n is not None],
        f"column of X ({explanation.columns_how})": [(n, a) for n, a in explanation.columns if n is not None],
    }
    tables = "".join(html_table(title, entries[:top], explanation.total) for title, entries in lists.items())
    return (
        f"<div><b>{escape(headline(explanation))}</b>{shares_drawn(explanation)}"
        f"<div style='display:flex;gap:2em;flex-wrap:wrap'>{tables}</div>"
        f"<div>{escape(path_in_words(explanation))}</div><small>{NOTE}</small></div>"
    )


def shares_drawn(explanation: "Explanation") -> Html:
    """Bars: the share of the score that each of the largest pieces of evidence gave, and all others together."""
    if not explanation.total:
        return Html()
    pieces = [(f"label of {n} ({c})", amount) for n, c, amount in explanation.from_labels[:DRAWN]]
    features = [entry for entry in explanation.from_features[: DRAWN + 1] if entry[0] is not None]
    pieces += [(f"features of {n}", amount) for n, amount in features]
    seen = [piece for piece in pieces if abs(piece[1] / explanation.total) >= LEAST_DRAWN]
    drawn = sorted(seen, key=lambda piece: -abs(piece[1]))[:DRAWN]
    drawn.append(("all else", explanation.total - sum(amount for _, amount in drawn)))
    shares = Series("share", [amount / explanation.total for _, amount in drawn])
    return charts.bars([name for name, _ in drawn], [shares], "What the score comes from, as shares of it.")


def html_table(title: str, entries: list[tuple[Any, float]], total: float) -> str:
    rows = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{amount:.4f}</td><td>{share(amount, total)}</td></tr>"
        for name, amount in entries
    )
    return f"<table><tr><th>{escape(title)}</th><th>amount</th><th>share</th></tr>{rows}</table>"
