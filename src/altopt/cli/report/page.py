"""The report page: facts about a fit, its charts and its least confident nodes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.cli.report import charts
from altopt.cli.result import Result
from altopt.errors import require_extra
from altopt.io.files import write_text

HERE = Path(__file__).parent
N_LEAST_SURE = 15


def model_report(model: AltOpt, path: str | Path) -> None:
    """Write the report on one fitted model."""
    write(Path(path), title="AltOpt report", lead=None, results=[], sections=[section(model, None)])


def demo_report(results: Sequence[Result], models: Mapping[str, AltOpt], path: str | Path) -> None:
    """Write the demo's comparison and a section for the model fitted on each data set."""
    lead = (
        "Accuracy on the nodes whose label was hidden, as mean ± standard deviation over the same seeded "
        "splits for every method, each on one thread."
    )
    sections = [section(model, name) for name, model in models.items()]
    write(Path(path), title="AltOpt demo", lead=lead, results=list(results), sections=sections)


def section(model: AltOpt, name: str | None) -> dict[str, Any]:
    """Everything the page says about one model."""
    graph = model.graph_
    n, n_labelled = graph.n_nodes, int(model.labelled_.sum())
    facts = [
        ("Nodes", f"{n:,}"),
        ("Edges, built from X" if model.neighbours_ is not None else "Edges", f"{graph.n_edges:,}"),
        ("Features", f"{model.n_features_in_:,}"),
        ("Classes", f"{len(model.classes_):,}"),
        ("Given labels", f"{n_labelled:,} ({n_labelled / n:.1%})"),
        ("Unreached nodes", f"{int((~model.reached_).sum()):,}"),
    ]
    facts += held_out_facts(model)
    figures = [
        (
            "Class sizes",
            "Each class's share of the given labels and of all nodes' labels.",
            charts.class_sizes(model),
        ),
        (
            "Confidence",
            "Confidence of the nodes without a given label: 0 is a uniform distribution, 1 is certainty.",
            charts.confidence(model),
        ),
        (
            "Objective",
            "The objective and its three parts after each update of F; training the encoder between two "
            "updates moves P, so the objective may also rise.",
            charts.objective(model),
        ),
    ]
    return {
        "name": name,
        "facts": facts,
        "outcome": model.outcome_,
        "figures": figures,
        "least_sure": least_sure(model),
        "settings": settings_of(model),
    }


def held_out_facts(model: AltOpt) -> list[tuple[str, str]]:
    """What held-out labels say, where there were any and the model is as it was fitted."""
    held_out = model.fitted_.leave_one_out
    if isinstance(held_out, str) or np.isnan(held_out.accuracy):
        return []
    facts = [("Expected accuracy", held_out.in_words()), ("How labels were drawn", held_out.draw)]
    if not np.isnan(held_out.auc):
        facts.append(("Expected ROC AUC", with_interval(held_out.auc, held_out.auc_interval)))
    return facts


def with_interval(value: float, interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def settings_of(model: AltOpt) -> list[tuple[str, str]]:
    """Each setting by name; one that was left open with what the fit took."""
    taken = {"restart": model.restart_} | {
        key: getattr(model.plan_, key)
        for key in ("feature_weight", "label_weight", "encoder", "inputs", "graph_view")
    }
    rows = []
    for key, value in sorted(model.get_params(deep=False).items()):
        open_ = value is None and key in taken
        rows.append((key, f"{shown(taken[key])} (left open)" if open_ else shown(value)))
    return rows


def least_sure(model: AltOpt) -> list[tuple[str, ...]]:
    """Of the unlabelled nodes, those nothing reaches first, then by confidence: id, label, runner-up, ..."""
    nodes = np.flatnonzero(~model.labelled_)
    nodes = nodes[np.lexsort((model.confidence_[nodes], model.reached_[nodes]))[:N_LEAST_SURE]]
    rows = []
    for node in nodes:
        S = model.label_distributions_[node]
        first, second = np.argsort(-S, kind="stable")[:2]
        names = [f"{model.classes_[k]} ({S[k]:.0%})" for k in (first, second)]
        reached = "yes" if model.reached_[node] else "no"
        rows.append((str(model.graph_.ids[node]), *names, f"{model.confidence_[node]:.3f}", reached))
    return rows


def shown(value: Any) -> str:
    """A setting in words: classes by their name, the rest as Python prints it."""
    text = value.__name__ if isinstance(value, type) else repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def write(path: Path, **content: Any) -> None:
    """Render the page about models."""
    best: dict[str, float] = {}
    for result in content["results"]:
        best[result.dataset] = max(result.mean, best.get(result.dataset, 0.0))
    render(HERE / "template.html.j2", path, best=best, **content)


def render(template: Path, path: Path, **content: Any) -> None:
    """Render a template with plotly inlined once; the whole file or none of it.

    A template may include the files of its own folder and of this one.
    """
    jinja2 = require_extra("jinja2", "report", "The HTML report")
    plotly = require_extra("plotly.offline", "report", "The HTML report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, HERE]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    script = require_extra("markupsafe", "report", "The HTML report").Markup(plotly.get_plotlyjs())
    page = environment.get_template(template.name).render(plotly=script, **content)
    write_text(path, page)
