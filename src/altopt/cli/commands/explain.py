"""altopt explain: the labels and features behind a prediction, with amounts that sum to its score."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from altopt.cli.commands.predict import model_folder
from altopt.cli.console import show

if TYPE_CHECKING:
    from altopt.arrays import Array
    from altopt.fitted.explanation import Contrast, Explanation


def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    nodes: Annotated[list[str], typer.Argument(metavar="NODE...", help="Ids of the nodes to explain.")],
    against: Annotated[str | None, typer.Option(help="A class: why was it not predicted?")] = None,
    top: Annotated[int, typer.Option(min=1, help="Number of labels and of features to list.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line per node.")] = False,
) -> None:
    """Show the evidence behind predictions.

    Lists the labels and features that a node's score comes from, with amounts that sum to it, and the strongest path.
    Exact for the score before the softmax, given the encoder's output.
    """
    from altopt import AltOpt

    fitted = AltOpt.load(model_folder(model))
    names = [read_id(node, fitted.graph_.ids) for node in nodes]
    other = None if against is None else read_class(against, fitted.classes_)
    for k, explanation in enumerate(fitted.explain_many(names)):
        contrast = None if other is None else explanation.against(other)
        if as_json:
            record = explanation.record(top)
            if contrast is not None:
                record["against"] = contrast.record(top)
            show(json.dumps(record, default=str))
        else:
            show(*([""] if k else []), *in_words(explanation, contrast, top))


def read_id(text: str, ids: "Array") -> Any:
    """A node's id in the type of the graph's own."""
    from altopt.graph.ids import is_text

    if is_text(ids):
        return text
    if ids.dtype.kind not in "iu":
        return next((name for name in ids.tolist() if str(name) == text), text)
    try:
        return int(text)
    except ValueError:
        return text  # which no node is called: the refusal says so


def read_class(text: str, classes: "Array") -> Any:
    """A class as it was written, in the classes' own type."""
    return next((name for name in classes.tolist() if str(name) == text), text)


def in_words(explanation: "Explanation", contrast: "Contrast | None", top: int) -> list[str]:
    """The explanation as lines of text."""
    k, classes = explanation.code, [str(name) for name in explanation.classes.tolist()]
    ranked = sorted(range(len(classes)), key=lambda j: -explanation.evidence[j])[:4]
    runners = ", ".join(f"{classes[j]} {explanation.evidence[j]:.4f}" for j in ranked if j != k)
    lines = [
        f"Node {explanation.node}: {classes[k]}, score {explanation.total:.4f} (next: {runners})",
        "",
    ]
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
    walk, amount = explanation.path
    if walk:
        carried = "" if amount is None else f" ({amount:.4f})"
        lines += ["", f"  Strongest path{carried}: " + " -> ".join(str(node) for node in walk)]
    lines += ["", "  Exact for the encoder output that was used, and for F before the softmax."]
    return lines


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
