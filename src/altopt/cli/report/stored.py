"""The report of a model of files: the sections of every report, read from disk, and what it cannot say."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.cli.report import held_out, nodes, parts
from altopt.cli.report.held_out import details
from altopt.cli.report.nodes import N_LISTED, N_NEXT, N_SUSPICIOUS, Rows
from altopt.cli.report.page import SECTIONS, facts, main, section
from altopt.cli.report.part_of_graph import part_of_graph
from altopt.drawing.html import Html, element, join, table
from altopt.drawing.page import page
from altopt.fitted.picture import figure, shared
from altopt.io import circumstances
from altopt.io.files import write_text
from altopt.io.folder import FILES, read_head
from altopt.scale.model import PREDICTION_ROWS
from altopt.scale.stored import StoredModel

N_DOUBTFUL, N_GIVEN = 80, 20  # nodes that the picture starts from, beside those that the page lists
COMMANDS = "altopt suggest lists them."
HOW = {
    "constant": "left out: it is the same everywhere",
    "indicator": "centred and scaled",
    "count": "square root, scaled",
    "measurement": "robust centre and scale, large values tamed",
    "as given": "as it is",
}
NOT_SAID = (
    "What the features alone would reach, and so what the graph is worth: a fit with --memory makes one model. To "
    "see it, fit a part of the graph without --memory.",
    "Whether other parts would have done better: no candidates were compared.",
    "The objective: each round is told by the labels that it changed.",
    "The whole picture: of a large graph nodes in doubt are drawn with some of their neighbours, and no communities.",
)


@dataclass(frozen=True)
class OnDisk:
    """A model of files as a report reads it; all rows of F are passed once."""

    model: StoredModel

    @property
    def classes(self) -> Array:
        return self.model.classes

    @cached_property
    def codes(self) -> Array:
        """The given class numbers of labelled nodes."""
        return self.model.files.labels.codes

    def ids(self, nodes: Array) -> list[Any]:
        return list(self.model.graph.ids_at(nodes).tolist())

    def position(self, node: Any) -> int:
        return self.model.graph.position(node)

    def at(self, nodes: Array) -> Rows:
        found = self.model.at(np.asarray(nodes, np.int64))
        return Rows(found.codes, found.given, found.probabilities)

    def neighbours(self, node: int) -> Array:
        return self.model.system.rows(np.array([node]))[1]

    def encoder_output(self, node: int) -> Array:
        return np.asarray(self.model.files.encoder_output(np.array([node]))[0])

    @cached_property
    def suggested(self) -> list[tuple[Any, float]]:
        all_known = len(self.codes) == self.model.n_nodes
        return [] if all_known else self.model.suggest(N_NEXT)

    @cached_property
    def passed(self) -> tuple[Array, Array, Array]:
        """Nodes of each class; positions and confidence of the reached nodes without a label that are least sure."""
        files, counts = self.model.files, np.zeros(len(self.classes), np.int64)
        unsure, confidence = np.empty(0, np.int64), np.empty(0)
        for first in range(0, self.model.n_nodes, PREDICTION_ROWS):
            last = min(first + PREDICTION_ROWS, self.model.n_nodes)
            codes, sure, _ = files.predictions(first, last)
            counts += np.bincount(codes, minlength=len(counts))
            open_ = np.ones(last - first, bool)
            open_[files.labels.within(first, last)[0]] = False
            begin, end = np.searchsorted(files.unreached, (first, last))
            open_[files.unreached[begin:end] - first] = False
            here = np.flatnonzero(open_)
            unsure, confidence = np.append(unsure, here + first), np.append(confidence, sure[here])
            least = np.argsort(confidence, kind="stable")[: max(N_DOUBTFUL, N_LISTED)]
            unsure, confidence = unsure[least], confidence[least]
        return counts, unsure, confidence


def stored_report(model: StoredModel, path: Path) -> None:
    """Write the page."""
    source, data = OnDisk(model), dict[str, Any]()
    made: list[Html] = []
    for name, content in CONTENTS.items():
        made.append(section(name, SECTIONS[name][0], content(source)))
        if name == "quality":
            data["graph-data"] = picture(source)
            made.append(section("graph", SECTIONS["graph"][0], figure(data["graph-data"], "graph-data")))
    made.append(section("unsaid", "What this page cannot say", unsaid()))
    body = [element("h1", "AltOpt report"), about(model), *made]
    write_text(path, page("AltOpt report", main(*body), data))


def about(model: StoredModel) -> Html:
    return facts(
        n_nodes=model.n_nodes,
        n_edges=model.graph.csr.n_entries // 2,
        n_features=len(model.column_names),
        n_classes=len(model.classes),
        n_labelled=len(model.files.labels.nodes),
        n_unreached=len(model.files.unreached),
    )


def picture(source: OnDisk) -> dict[str, Any]:
    """The part of the graph around nodes that someone may want to look at."""
    model = source.model
    counts, unsure, _ = source.passed
    named = [node for node, _ in source.suggested]
    if not isinstance(model.held_out, str):
        named += [node for node, *_ in model.suspicious_labels()[:N_SUSPICIOUS]]
    given = model.files.labels.nodes
    spread = given[np.linspace(0, len(given) - 1, min(N_GIVEN, len(given))).astype(int)]
    starts = np.concatenate([unsure[:N_DOUBTFUL], model.graph.positions(named), spread])
    facts = shared(source.classes, counts, model.n_nodes, model.graph.csr.n_entries // 2)
    return facts | part_of_graph(source, model.system, starts, model.files.seed)


def worth(source: OnDisk) -> Html:
    return element(
        "p", "Not known: a fit with --memory does not fit the features alone. All its edges are of one kind."
    )


def columns_read(source: OnDisk) -> Html:
    names, kinds = source.model.column_names, source.model.files.columns.kinds
    if not names:
        names = [str(k) for k in range(len(kinds))]
    rows = [(name, kind, HOW[kind], 0.0) for name, kind in zip(names[: parts.MAX_COLUMNS], kinds)]
    return parts.table_of_columns(rows, len(kinds))


def unreached(source: OnDisk) -> Html:
    _, unsure, confidence = source.passed
    files = source.model.files
    return nodes.unreached(
        source, files.unreached, source.model.n_nodes, unsure[:N_LISTED], confidence[:N_LISTED]
    )


def the_fit(source: OnDisk) -> Html:
    """How it ended, settings, versions as they were recorded, and what each round changed."""
    model, files = source.model, source.model.files
    settings = {
        "feature_weight": files.feature_weight,
        "label_weight": files.label_weight,
        "encoder": files.encoder,
        "n_diffusion": files.n_diffusion,
        "restart": files.restart,
        "columns of the encoder's inputs": f"{sum(files.z_widths):,} as {files.z_storage}",
        "columns of F at once": max(files.f_widths, default=0),
    }
    recorded = circumstances.read(read_head(files.folder, FILES))
    seconds = {"Seconds of the rounds": sum(float(entry["seconds"]) for entry in model.trace_)}
    rows = [
        (entry["round"] + 1, f"{entry['changed']:.2%}", f"{entry['seconds']:.1f}") for entry in model.trace_
    ]
    head = ("Round", "Labels changed", "Seconds")
    rounds = table(head, rows, caption="Rounds", numbers=(0, 1, 2))
    return parts.the_fit(
        model.outcome_,
        [(element("code", name), element("code", parts.shown(value))) for name, value in settings.items()],
        parts.circumstances(recorded, seconds, files.seed),
        details("The labels, round by round", rounds) if rows else None,
    )


def unsaid() -> Html:
    said = element("p", "It was fitted with --memory, from files that need not fit in memory. Not known are:")
    return join(said, element("ul", [element("li", line) for line in NOT_SAID]))


CONTENTS: dict[str, Callable[[OnDisk], Html]] = {
    "quality": lambda source: held_out.how_good(
        source.model.held_out, source.model.files.readout, source.classes
    ),
    "suspicious": lambda source: nodes.suspicious(source, source.model.held_out, len(source.codes)),
    "next": lambda source: nodes.to_label_next(source, source.suggested, COMMANDS),
    "sizes": lambda source: parts.class_sizes(
        source.classes, np.bincount(source.codes, minlength=len(source.classes)), source.passed[0]
    ),
    "worth": worth,
    "parts": lambda source: parts.parts_chosen(source.model.choice_),
    "columns": columns_read,
    "unreached": unreached,
    "fit": the_fit,
}
