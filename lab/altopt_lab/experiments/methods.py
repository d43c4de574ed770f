"""Who is compared: each method by name, what it may be told, and how it is fitted on a split."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, hide
from altopt.errors import InputError
from altopt.selection.calibration import calibration_error
from altopt.selection.candidates import alternatives, without_graph
from altopt.views import SquaredLaplacianView, TwoHopView
from altopt_lab.baselines import BASELINES, HETEROPHILY, SearchSpace
from altopt_lab.baselines.baseline import Baseline
from altopt_lab.experiments import config
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.recipe import fixed_recipe
from altopt_lab.metrics import accuracy

Settings = dict[str, Any]
INDUCTIVE_FORM: Settings = {"restart": 1.0, "n_pseudo": 0, "n_rounds": 0}


@dataclass
class Fitted:
    """What a method says of every node, and what the record says of the fit."""

    labels: Array
    settings: Settings
    facts: dict[str, Any] = field(default_factory=dict)
    shared_seconds: float = 0.0  # spent before, on inputs that several runs share


class Method(Protocol):
    """One row of a table."""

    @property
    def name(self) -> str: ...

    @property
    def validation(self) -> str:
        """What validation labels are used for in a fit; "none" where they are not."""

    @property
    def tuned_by(self) -> str | None:
        """When settings are chosen: "cell", for each data set and rate; "data set", once for it; None, never."""

    def space(self, *, inductive: bool = False) -> SearchSpace: ...

    def initial_settings(self) -> list[Settings]:
        """Settings that a search tries first."""

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        """What a fit goes by and its record says: the settings, and what is fixed whatever they are."""

    def drop_unused(self, settings: Settings) -> Settings:
        """Without what has no meaning beside the rest."""

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted: ...

    def fit_inductively(
        self, context: DatasetContext, split: Split, settings: Settings, seed: int
    ) -> Fitted: ...


def projected_on(settings: Settings, space: SearchSpace) -> Settings:
    """A point of the space: these settings where it has them, else its first choice."""
    return {
        key: settings[key] if settings.get(key, ...) in choices else choices[0]
        for key, choices in space.items()
    }


def shown(dataset: Dataset, split: Split, validation: str) -> dict[str, Any]:
    """What a fit may see: training labels, and validation labels where the method uses them."""
    y = np.asarray(dataset.y)
    judges = None if validation == "none" else (split.validation, y[split.validation])
    return {"y": hide(y, split.train), "validation": judges}


@dataclass(frozen=True)
class AltOptMethod:
    """ALT-OPT in the paper's protocol: tuned on validation labels, the best round by validation labels."""

    name: str = "ALT-OPT"
    links: bool = False  # the encoder reads rows of the adjacency instead of X
    fixed: tuple[tuple[str, Any], ...] = ()  # settings that make a variant
    validation: str = "keep the best round"
    tuned_by: str | None = "cell"

    def space(self, *, inductive: bool = False) -> SearchSpace:
        fixed = {*dict(self.fixed), *(INDUCTIVE_FORM if inductive else ())}
        return {key: choices for key, choices in config.SEARCH_SPACE.items() if key not in fixed}

    def initial_settings(self) -> list[Settings]:
        return [projected_on(start, self.space()) for start in config.INITIAL_SETTINGS]

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return {**settings, **dict(self.fixed), **(INDUCTIVE_FORM if inductive else {})}

    def drop_unused(self, settings: Settings) -> Settings:
        useless = config.ONLY_MLP if settings.get("encoder", "linear") == "linear" else config.ONLY_LINEAR
        return {key: value for key, value in settings.items() if key not in useless}

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        shared = context.link_inputs if self.links else context.feature_inputs
        shared.seconds = 0.0
        settings = self.full_settings(settings)
        model = AltOptConfig.from_settings(settings).model(seed, shared)
        data = context.dataset
        X = out_links(data) if self.links else data.X
        model.fit(X, graph=data.graph, **shown(data, split, self.validation))
        return Fitted(model.transduction_, settings, of_trace(model), shared.seconds)

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
            data.X[others], edges=edges_beyond(data, split.train, names), ids=names[others]
        )
        return Fitted(labels, settings, {})


def edges_beyond(data: Dataset, train: Array, names: Array) -> Any:
    """The edges that a fit on the training nodes did not see, by the nodes' names."""
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


def of_trace(model: AltOpt) -> dict[str, Any]:
    """What a fit of ours leaves on record."""
    validated = [entry["validation"] for entry in model.trace_]
    facts: dict[str, Any] = {"n_rounds": model.n_iter_ - 1}
    if None not in validated:
        best = int(np.argmax(validated))
        facts["best_round"] = best
        facts["seconds_to_best"] = round(sum(entry["seconds"] for entry in model.trace_[: best + 1]), 4)
    return facts


def of_own_labels(model: AltOpt, y: Array) -> dict[str, Any]:
    """What a fit says of itself, from its training labels, beside the truth, which it never sees."""
    if not hasattr(model, "leave_one_out_"):
        return {}
    found, hidden = model.leave_one_out_, ~model.labelled_
    codes = np.searchsorted(model.classes_, y[hidden])
    return {
        "plan": model.choice_["plan"],
        "leave_one_out": round(found.accuracy, 6),
        "interval": [round(end, 6) for end in found.interval],
        "temperature": model.temperature_ and round(model.temperature_, 4),
        "true_accuracy": round(accuracy(model.transduction_, y, hidden), 6),
        "calibration_error": round(calibration_error(model.label_distributions_[hidden], codes), 6),
    }


@dataclass(frozen=True)
class DefaultMethod:
    """AltOpt() as anyone gets it, or with parts named: no validation label, nothing tuned."""

    name: str = "AltOpt()"
    make: Callable[[int], AltOpt] = lambda seed: AltOpt(random_state=seed)
    validation: str = "none"
    tuned_by: str | None = None

    def space(self, *, inductive: bool = False) -> SearchSpace:
        return {}

    def initial_settings(self) -> list[Settings]:
        return []

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return {}

    def drop_unused(self, settings: Settings) -> Settings:
        return settings

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data, model = context.dataset, self.make(seed)
        model.fit(data.X, graph=data.graph, **shown(data, split, self.validation))
        return Fitted(model.transduction_, {}, of_trace(model) | of_own_labels(model, np.asarray(data.y)))

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        raise InputError(f"{self.name} is compared in the transductive tables only.")


@dataclass(frozen=True)
class FixedPlanMethod(DefaultMethod):
    """One of the plans that AltOpt() compares, or another graph view, whatever the labels say."""

    plan: str = "usual"

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data: Any = context.dataset
        n, d = data.X.shape
        usual = AltOpt().default_candidate(n, d, len(split.train))
        plans = [usual, *alternatives(usual, data.graph, len(split.train)), without_graph(usual)]
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
        model.fit(data.X, graph=data.graph, **shown(data, split, self.validation))
        return Fitted(model.transduction_, {}, of_trace(model))


@dataclass(frozen=True)
class BaselineMethod:
    """A peer, tuned once per data set, its best epoch by validation labels."""

    kind: type[Baseline]
    name: str
    validation: str = "keep the best epoch"
    tuned_by: str | None = "data set"
    fixed: tuple[tuple[str, Any], ...] = ()

    def space(self, *, inductive: bool = False) -> SearchSpace:
        return self.kind.search_space(inductive=inductive)

    def initial_settings(self) -> list[Settings]:
        """As it comes, and on features read in another way: a short search must not miss what a graph needs."""
        usual = projected_on(self.kind().settings(), self.space())
        return [usual, *(usual | {way: not usual[way]} for way in ("scale_rows", "root") if way in usual)]

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return settings | dict(self.fixed)

    def drop_unused(self, settings: Settings) -> Settings:
        return settings

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        settings = self.full_settings(settings)
        data, model = context.dataset, self.kind(**settings)
        model.fit(data.X, graph=data.graph, seed=seed, **shown(data, split, self.validation))
        return Fitted(model.transduction_, settings, of_epochs(model))

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """Trained on the training nodes and the edges among them; validation and test nodes see the whole graph.

        The last epoch counts: validation nodes are not in the graph that is trained on.
        """
        data, y = context.dataset, np.asarray(context.dataset.y)
        part = data.only(split.train)
        model = self.kind(**settings).fit(part.X, part.y, graph=part.graph, seed=seed)
        found = model.apply(data.X, data.graph, hide(y, split.train))
        return Fitted(model.classes_[found.argmax(axis=1)], settings, of_epochs(model))


def of_epochs(model: Baseline) -> dict[str, Any]:
    """What a peer's fit leaves on record."""
    facts: dict[str, Any] = {}
    if hasattr(model, "best_epoch_"):
        facts["best_epoch"] = int(model.best_epoch_)
    if hasattr(model, "epoch_seconds_"):
        facts["n_epochs"] = len(model.epoch_seconds_)
        facts["epoch_seconds"] = float(np.median(model.epoch_seconds_))
    return facts


OTHER_VIEWS: dict[str, Any] = {"squared Laplacian": SquaredLaplacianView, "two hops": TwoHopView}
PLANS = ("usual", "tighter", "freer", "ties", "ties and surroundings", "features alone", *OTHER_VIEWS)
OURS, DEFAULT, RECIPE = AltOptMethod(), DefaultMethod(), DefaultMethod("fixed recipe", fixed_recipe)
DEFAULT_SQUARED = DefaultMethod(
    "AltOpt(graph_view=SquaredLaplacianView)",
    lambda seed: AltOpt(graph_view=SquaredLaplacianView, random_state=seed),
)
AS_PRINTED = AltOptMethod(
    "ALT-OPT as printed",
    fixed=(
        ("feature_weight", 0.5),
        ("label_weight", 5.0),
        ("temperature", 0.1),
        ("n_pseudo", 100),
        ("n_steps", 10),
        ("inputs", "plain"),
        ("encoder", "mlp"),
        ("loss", "mse"),
        ("weight_decay", 5e-5),
        ("total_epochs", 500),
    ),
    tuned_by=None,
)
NORMALISED = AltOptMethod("ALT-OPT-N", fixed=(("variant", "N"),))
SQUARED = AltOptMethod("ALT-OPT-H", fixed=(("variant", "H"),))
SQUARED_LINKS = AltOptMethod("ALT-OPT-H on links", links=True, fixed=(("variant", "H"),))
LINKS = AltOptMethod("ALT-OPT on links", links=True)
ALL: tuple[Method, ...] = (
    OURS,
    DEFAULT,
    RECIPE,
    DEFAULT_SQUARED,
    AS_PRINTED,
    NORMALISED,
    SQUARED,
    SQUARED_LINKS,
    LINKS,
    *(FixedPlanMethod(f"always {plan}", plan=plan) for plan in PLANS),
    *(
        BaselineMethod(kind, name, "none" if name == "LP" else "keep the best epoch")
        for name, kind in (BASELINES | HETEROPHILY).items()
    ),
    *(
        BaselineMethod(
            BASELINES[name],
            f"{name}, usual settings",
            "none" if name == "LP" else "keep the best epoch",
            None,
        )
        for name in ("APPNP", "GCN", "SGC", "MLP", "SIGN", "C&S", "GAT", "LP")
    ),
    *(
        BaselineMethod(BASELINES[name], f"{name}, no validation labels", "none", None)
        for name in ("LP", "SGC", "C&S", "APPNP")
    ),
    *(
        BaselineMethod(
            BASELINES[name],
            f"{name} on 0/1 words, no validation labels",
            "none",
            None,
            fixed=(("scale_rows", False),),
        )
        for name in ("SGC", "C&S", "APPNP")
    ),
)
METHODS = {method.name: method for method in ALL}


def find_method(name: str) -> Method:
    if name not in METHODS:
        raise InputError(f"No method is called {name!r}. There are {', '.join(METHODS)}.")
    return METHODS[name]
