"""The paper's own method, its variants among them, under the search space of its appendix."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from altopt import AltOpt
from altopt.datasets.splits import Split
from altopt.encoders import MLPEncoder
from altopt.inputs import DiffusedInputs
from altopt.training.paper import Variant
from altopt_lab import provenance
from altopt_lab.baselines import SearchSpace
from altopt_lab.baselines.baseline import ZERO_TO_ONE
from altopt_lab.baselines.training import COMMON_SPACE
from altopt_lab.equal.graph_encoder import NodeNumbers, graph_encoder
from altopt_lab.experiments.altopt_methods import trace_facts, unseen_edges
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Fitted, Method, Settings, projected_on, visible_labels
from altopt_lab.experiments.protocols import FIXED_ON

SPACE: SearchSpace = {
    **COMMON_SPACE,
    "feature_weight": (0.1, 0.3, 0.5, 0.7, 1.0),
    "label_weight": (1.0, 3.0, 5.0, 7.0, 10.0),
    "restart": ZERO_TO_ONE,
    "n_pseudo": (100, 200, 500, 5000),
    "n_rounds": (1, 2, 3, 4, 5),
}
INDUCTIVE_SPACE: SearchSpace = {
    **COMMON_SPACE,
    "feature_weight": (*ZERO_TO_ONE, 1.0),
    "label_weight": tuple(float(k) for k in range(1, 11)),
}
# the middle of both grids of weights, k = 5 as in the appendix's example; the rest as of GCN and APPNP
USUAL: Settings = {
    "learning_rate": 0.01,
    "dropout": 0.5,
    "weight_decay": 5e-4,
    "scale_rows": True,
    "feature_weight": 0.5,
    "label_weight": 5.0,
    "restart": 0.1,
    "n_pseudo": 100,
    "n_rounds": 5,
}

ALONE: Settings = {
    "restart": 1.0,
    "n_pseudo": 0,
    "n_rounds": 1,
}  # inductive: own features, given labels, one update
N_EPOCHS = 500


@dataclass(frozen=True)
class PaperMethod(Method):
    """AltOpt.paper with tuned settings: an MLP on X', tau 0.1, K = 10, the best round by validation labels.

    Parameters
    ----------
    name : str
    variant : "mse", "ce", "H" or "N"
    fixed : tuple of (str, value)
        Settings that are not tuned.
    """

    depends_on: ClassVar[str] = provenance.PAPER

    name: str
    variant: Variant = "mse"
    fixed: tuple[tuple[str, Any], ...] = ()
    validation: str = "keep the best round"
    tuned_by: str | None = "cell"

    def space(self, *, inductive: bool = False) -> SearchSpace:
        space = INDUCTIVE_SPACE if inductive else SPACE
        return {key: choices for key, choices in space.items() if key not in dict(self.fixed)}

    def fixed_on(self, dataset: str) -> Settings:
        fixed = dict(FIXED_ON.get(dataset, {}))
        return {"total_epochs": fixed.pop("n_epochs"), **fixed} if fixed else {}

    def initial_settings(self) -> list[Settings]:
        return [projected_on(USUAL, self.space())]

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return USUAL | settings | dict(self.fixed) | (ALONE if inductive else {})

    def model(self, settings: Settings, seed: int, **parts: Any) -> AltOpt:
        """The estimator under these settings."""
        chosen = self.full_settings(settings)
        n_epochs = chosen.get("total_epochs", N_EPOCHS)
        trained = {key: chosen[key] for key in ("learning_rate", "weight_decay", "dropout")}
        encoder = MLPEncoder(
            hidden=(chosen.get("hidden", 64),) * (chosen.get("n_layers", 2) - 1),
            input_dropout=chosen["dropout"],
            loss="ce" if self.variant in ("ce", "N") else "mse",
            reduction="sum",
            **trained,
        )
        usual = {
            "encoder": encoder,
            "inputs": DiffusedInputs(scale_rows=chosen["scale_rows"]),
            "feature_weight": chosen["feature_weight"],
            "label_weight": chosen["label_weight"],
            "restart": chosen["restart"],
            "n_pseudo": chosen["n_pseudo"],
            "total_epochs": n_epochs,
        }
        return AltOpt.paper(self.variant, n_rounds=chosen["n_rounds"], random_state=seed, **(usual | parts))

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        data, chosen = context.dataset, self.full_settings(settings)
        model = self.model(chosen, seed, **self.parts(context, chosen))
        model.fit(data.X, graph=data.graph, **visible_labels(data, split, self.validation))
        return Fitted(model.transduction_, chosen, trace_facts(model))

    def parts(self, context: DatasetContext, chosen: Settings) -> dict[str, Any]:
        """The parts of the estimator that depend on the data set."""
        cache = context.feature_inputs
        if len(cache.made) > 1:  # X' of the large graphs takes a GB
            cache.made.clear()
        return {"inputs": cache.cached(DiffusedInputs(scale_rows=chosen["scale_rows"]))}

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """An MLP on the training nodes' own features; Eqs. 4-5 then label all others on the whole graph."""
        data, y = context.dataset, np.asarray(context.dataset.y)
        part, others = data.only(split.train), np.setdiff1d(np.arange(len(y)), split.train)
        chosen = self.full_settings(settings, inductive=True)
        n_epochs = chosen.get("total_epochs", N_EPOCHS)
        model = self.model(chosen, seed, n_warmup=n_epochs).fit(part.X, part.y, graph=part.graph)
        names = np.empty(len(y), dtype=np.int64)
        names[split.train], names[others] = np.arange(len(split.train)), np.arange(len(split.train), len(y))
        labels = np.empty_like(y)
        labels[split.train] = y[split.train]
        edges = unseen_edges(data, split.train, names)
        labels[others] = model.predict(data.X[others], edges=edges, ids=names[others])
        return Fitted(labels, chosen, {})


@dataclass(frozen=True)
class PaperMethodOnGraph(PaperMethod):
    """What the authors' released code has: a GCN in the MLP's place, tau 0.2, self-loops."""

    depends_on: ClassVar[str] = provenance.PAPER_ON_GRAPH

    def parts(self, context: DatasetContext, chosen: Settings) -> dict[str, Any]:
        encoder = graph_encoder(context.dataset, chosen, "ce" if self.variant == "ce" else "mse")
        return {"encoder": encoder, "inputs": NodeNumbers(), "self_loops": True, "temperature": 0.2}
