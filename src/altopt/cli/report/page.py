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
    "quality": (
        "How good is it?",
        lambda model: held_out.how_good(model.fitted_.leave_one_out, model.fitted_.readout, model.classes_),
    ),
    "graph": ("The graph", lambda model: None),  # its place; drawn by the front end
    "suspicious": ("Suspicious labels", nodes.suspicious_of),
    "next": ("What to label next", nodes.to_label_next_of),
    "sizes": ("Class sizes", lambda model: parts.class_sizes(*parts.sizes(model))),
    "worth": ("What the graph is worth", parts.worth_of_graph),
    "parts": ("Which parts were chosen, and why", lambda model: parts.parts_chosen(model.choice_)),
    "columns": ("How columns were read", parts.columns_read),
    "unreached": ("Unreached and unsure nodes", nodes.unreached_of),
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
    graph = model.graph_
    return facts(
        n_nodes=graph.n_nodes,
        n_edges=graph.n_edges,
        n_features=model.n_features_in_,
        n_classes=len(model.classes_),
        n_labelled=int(model.labelled_.sum()),
        n_unreached=int((~model.reached_).sum()),
        built=model.neighbours_ is not None,
    )


def facts(
    *,
    n_nodes: int,
    n_edges: int,
    n_features: int,
    n_classes: int,
    n_labelled: int,
    n_unreached: int,
    built: bool = False,
) -> Html:
    """Sizes by name; `built`: the edges come from X."""
    rows = [
        ("Nodes", f"{n_nodes:,}"),
        ("Edges, built from X" if built else "Edges", f"{n_edges:,}"),
        ("Features", f"{n_features:,}" if n_features else "none"),
        ("Classes", f"{n_classes:,}"),
        ("Given labels", f"{n_labelled:,} ({n_labelled / n_nodes:.1%})"),
        ("Unreached nodes", f"{n_unreached:,}"),
    ]
    shown = [element("div", element("dt", name), element("dd", value)) for name, value in rows]
    return element("dl", shown, class_="facts")


def sections(model: AltOpt, prefix: str, data: dict[str, Any]) -> list[Html]:
    """All sections; what the front end draws is added to `data`."""
    made = []
    for name, (title, content) in SECTIONS.items():
        shown = graph_figure(model, f"{prefix}graph-data", data) if name == "graph" else content(model)
        if shown is not None:
            made.append(section(f"{prefix}{name}", title, shown))
    return made


def section(place: str, title: str, content: Html) -> Html:
    """A section that is known by its heading."""
    heading = element("h2", title, id=f"{place}-title")
    return element("section", heading, content, id=place, aria_labelledby=f"{place}-title")


def graph_figure(model: AltOpt, name: str, data: dict[str, Any]) -> Html:
    """The place of the graph's picture, and its data."""
    data[name] = picture_of(model.fitted_)
    return figure(data[name], name)
