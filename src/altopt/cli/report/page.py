"""The report page: sections about a fitted model in the order in which people ask."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from altopt import AltOpt
from altopt.cli.report import held_out, nodes, parts
from altopt.cli.result import Result
from altopt.drawing.html import Html, element, table
from altopt.drawing.page import page
from altopt.fitted.picture import figure, picture_of
from altopt.io.files import write_text

SECTIONS: dict[str, tuple[str, Callable[[AltOpt], Html | None]]] = {
    "quality": ("How good is it?", held_out.how_good),
    "graph": ("The graph", lambda model: None),  # its place; drawn by the front end
    "suspicious": ("Suspicious labels", nodes.suspicious),
    "next": ("What to label next", nodes.to_label_next),
    "sizes": ("Class sizes", parts.class_sizes),
    "worth": ("What the graph is worth", parts.worth_of_graph),
    "parts": ("Which parts were chosen, and why", parts.parts_chosen),
    "columns": ("How columns were read", parts.columns_read),
    "unreached": ("Unreached and unsure nodes", nodes.unreached),
    "fit": ("The fit", parts.how_it_went),
}


def model_report(model: AltOpt, path: str | Path) -> None:
    """Write the report on one fitted model."""
    data: dict[str, Any] = {}
    body = [element("h1", "AltOpt report"), about(model), *sections(model, "", data)]
    write_text(path, page("AltOpt report", main(*body), data))


def demo_report(results: Sequence[Result], models: Mapping[str, AltOpt], path: str | Path) -> None:
    """Write the demo's comparison and the sections about the model fitted on each data set."""
    lead = (
        "Accuracy on the nodes whose label was hidden, as mean ± standard deviation over the same seeded splits for "
        "every method, each on one thread. Bold: the best, and all that these splits cannot tell from it."
    )
    rows = []
    for result in results:
        accuracy = f"{100 * result.mean:.1f} ± {100 * result.sd:.1f}"
        strong = all(not result.behind(other) for other in results if other.dataset == result.dataset)
        accuracy = element("strong", accuracy) if strong else accuracy
        rows.append((result.dataset, result.method, accuracy, f"{result.mean_seconds:.3f}", result.how))
    head = ("Data", "Method", "Accuracy, %", "Seconds a fit", "How it was run")
    comparison = element("section", table(head, rows, caption="Methods compared", numbers=(2, 3)))
    data: dict[str, Any] = {}
    body: list[Any] = [element("h1", "AltOpt demo"), element("p", lead, class_="soft"), comparison]
    for k, (name, model) in enumerate(models.items()):
        body += [element("h1", name), about(model), *sections(model, f"{k}-", data)]
    write_text(path, page("AltOpt demo", main(*body), data))


def main(*content: Any) -> Html:
    return element("main", *content, class_="report")


def about(model: AltOpt) -> Html:
    """The size of the problem in one line."""
    graph, n_labelled = model.graph_, int(model.labelled_.sum())
    facts = [
        ("Nodes", f"{graph.n_nodes:,}"),
        ("Edges, built from X" if model.neighbours_ is not None else "Edges", f"{graph.n_edges:,}"),
        ("Features", f"{model.n_features_in_:,}" if model.n_features_in_ else "none"),
        ("Classes", f"{len(model.classes_):,}"),
        ("Given labels", f"{n_labelled:,} ({n_labelled / graph.n_nodes:.1%})"),
        ("Unreached nodes", f"{int((~model.reached_).sum()):,}"),
    ]
    shown = [element("div", element("dt", name), element("dd", value)) for name, value in facts]
    return element("dl", shown, class_="facts")


def sections(model: AltOpt, prefix: str, data: dict[str, Any]) -> list[Html]:
    """All sections; what the front end draws is added to `data`."""
    made = []
    for name, (title, content) in SECTIONS.items():
        shown = graph_figure(model, f"{prefix}graph-data", data) if name == "graph" else content(model)
        if shown is not None:
            place = f"{prefix}{name}"
            heading = element("h2", title, id=f"{place}-title")
            made.append(element("section", heading, shown, id=place, aria_labelledby=f"{place}-title"))
    return made


def graph_figure(model: AltOpt, name: str, data: dict[str, Any]) -> Html:
    """The place of the graph's picture, and its data."""
    data[name] = picture_of(model.fitted_)
    return figure(data[name], name)
