"""ALT-OPT and AltOpt() as methods that are compared: tuned, by default, and with one plan fixed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split
from altopt.inputs import InputSource
from altopt.operator import NormalizedAdjacency
from altopt.selection.calibration import calibration_error
from altopt.selection.candidates import alternatives
from altopt.views import SquaredLaplacianView, TwoHopView
from altopt_lab import provenance
from altopt_lab.baselines import SearchSpace
from altopt_lab.experiments import config
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Fitted, Method, Settings, projected_on, visible_labels
from altopt_lab.experiments.protocols import FIXED_ON
from altopt_lab.metrics import accuracy

INDUCTIVE_SETTINGS: Settings = {"restart": 1.0, "n_pseudo": 0, "n_rounds": 0}
OTHER_VIEWS: dict[str, Any] = {"squared Laplacian": SquaredLaplacianView, "two hops": TwoHopView}
PLANS = (
    "usual",
    "features alone",
    "linear on features",
    "features and labels around",
    "ties and features",
    "ties before features",
    "kernel on ties",
    *OTHER_VIEWS,
)


@dataclass(frozen=True)
class AltOptMethod(Method):
    """ALT-OPT in the paper's protocol: tuned on validation labels, the best round by validation labels."""

    depends_on: ClassVar[str] = provenance.SEARCHED
    name: str = "ALT-OPT"
    links: bool = False  # the encoder reads rows of the adjacency instead of X
    fixed: tuple[tuple[str, Any], ...] = ()  # settings that make a variant
    validation: str = "keep the best round"
    tuned_by: str | None = "cell"

    def space(self, *, inductive: bool = False) -> SearchSpace:
        fixed = {*dict(self.fixed), *(INDUCTIVE_SETTINGS if inductive else ())}
        return {key: choices for key, choices in config.SEARCH_SPACE.items() if key not in fixed}

    def fixed_on(self, dataset: str) -> Settings:
        """An MLP of these sizes, its epochs spread over the rounds."""
        fixed = dict(FIXED_ON.get(dataset, {}))
        return {"encoder": "mlp", "total_epochs": fixed.pop("n_epochs"), **fixed} if fixed else {}

    def initial_settings(self) -> list[Settings]:
        return [projected_on(start, self.space()) for start in config.INITIAL_SETTINGS]

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return {**settings, **dict(self.fixed), **(INDUCTIVE_SETTINGS if inductive else {})}

    def drop_unused(self, settings: Settings) -> Settings:
        unused = config.ONLY_MLP if settings.get("encoder", "linear") == "linear" else config.ONLY_LINEAR
        return {key: value for key, value in settings.items() if key not in unused}

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        shared = context.link_inputs if self.links else context.feature_inputs
        shared.seconds = 0.0
        settings = self.full_settings(settings)
        model = AltOptConfig.from_settings(settings).model(seed, shared)
        data = context.dataset
        X = out_links(data) if self.links else data.X
        model.fit(X, graph=data.graph, **visible_labels(data, split, self.validation))
        return Fitted(model.transduction_, settings, trace_facts(model), shared.seconds)

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """The encoder learns from the training nodes' own features; F is then found on the whole graph.

        The fit sees the training nodes and the edges among them alone; all others come as new nodes.
        """
        settings = self.full_settings(settings, inductive=True)
        data, y = context.dataset, np.asarray(context.dataset.y)
        part = data.only(split.train)
        model = AltOptConfig.from_settings(settings).model(seed).fit(part.X, part.y, graph=part.graph)
        others = np.setdiff1d(np.arange(len(y)), split.train)
        labels = np.empty_like(y)
        labels[split.train] = y[split.train]
        names = np.empty(len(y), dtype=np.int64)
        names[split.train], names[others] = np.arange(len(split.train)), np.arange(len(split.train), len(y))
        labels[others] = model.predict(
            data.X[others], edges=unseen_edges(data, split.train, names), ids=names[others]
        )
        return Fitted(labels, settings, {})


def unseen_edges(data: Dataset, train: Array, names: Array) -> Any:
    """Edges outside the graph of the training nodes, by the nodes' names."""
    graph: Any = data.graph
    A = sp.triu(graph.adjacency, k=1).tocoo()
    seen = np.zeros(len(names), dtype=bool)
    seen[train] = True
    new = ~(seen[A.row] & seen[A.col])
    return pa.table({"source": names[A.row[new]], "target": names[A.col[new]]})


def out_links(data: Dataset) -> Any:
    """Each node's row of the adjacency, along the edges' direction where they have one, at length one."""
    graph: Any = data.graph
    A = graph.directed_adjacency if graph.directed_adjacency is not None else graph.adjacency
    A = sp.csr_array(A, dtype=np.float32)
    lengths = np.sqrt(np.asarray((A * A).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ A, dtype=np.float32)


def trace_facts(model: AltOpt) -> dict[str, Any]:
    """Rounds of a fit, the best one by validation labels, and the seconds up to it."""
    validated = [entry["validation"] for entry in model.trace_]
    facts: dict[str, Any] = {"n_rounds": model.n_iter_ - 1}
    if None not in validated:
        best = int(np.argmax(validated))
        facts["best_round"] = best
        facts["seconds_to_best"] = round(sum(entry["seconds"] for entry in model.trace_[: best + 1]), 4)
    return facts


def self_assessment(model: AltOpt, y: Array) -> dict[str, Any]:
    """The accuracy and calibration that a fit estimates from its training labels, beside the true ones."""
    if not hasattr(model, "leave_one_out_"):
        return {}
    left_out, hidden = model.leave_one_out_, ~model.labelled_
    codes = np.searchsorted(model.classes_, y[hidden])
    return {
        "plan": model.choice_["plan"],
        "leave_one_out": round(left_out.accuracy, 6),
        "interval": [round(end, 6) for end in left_out.interval],
        "temperature": model.temperature_ and round(model.temperature_, 4),
        "true_accuracy": round(accuracy(model.transduction_, y, hidden), 6),
        "calibration_error": round(calibration_error(model.label_distributions_[hidden], codes), 6),
    }


@dataclass(frozen=True)
class DefaultMethod(Method):
    """AltOpt() as anyone gets it, or with parts named: no validation label, nothing tuned."""

    name: str = "AltOpt()"
    make: Callable[[int], AltOpt] = lambda seed: AltOpt(random_state=seed)
    validation: str = "none"
    tuned_by: str | None = None

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return {}

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data, model = context.dataset, self.make(seed)
        model.fit(data.X, graph=data.graph, **visible_labels(data, split, self.validation))
        return Fitted(
            model.transduction_, {}, trace_facts(model) | self_assessment(model, np.asarray(data.y))
        )


@dataclass(frozen=True)
class FixedPlanMethod(DefaultMethod):
    """One of the plans that AltOpt() compares, or another graph view, whatever the labels say."""

    plan: str = "usual"

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data: Any = context.dataset
        n, d = data.X.shape
        usual = AltOpt().default_candidate(n, d, len(split.train))
        A_tilde = NormalizedAdjacency(data.graph.adjacency)
        source = InputSource(data.graph, A_tilde, data.X, 1.0, 0, seed)
        plans = [usual, *alternatives(usual, source, len(split.train), int(np.max(data.y)) + 1)]
        plans += [replace(usual, name=name, graph_view=view) for name, view in OTHER_VIEWS.items()]
        plan = next(plan for plan in plans if plan.name == self.plan)
        model = AltOpt(
            inputs=plan.inputs,
            encoder=plan.encoder,
            graph_view=plan.graph_view,
            n_rounds=0 if plan.n_rounds == 0 else AltOpt().n_rounds,
            cross_fit=False,
            random_state=seed,
        )
        model.fit(data.X, graph=data.graph, **visible_labels(data, split, self.validation))
        return Fitted(model.transduction_, {}, trace_facts(model))
