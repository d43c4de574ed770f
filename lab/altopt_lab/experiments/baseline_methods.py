"""Baselines as methods that are compared."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from altopt.datasets.splits import Split, hide
from altopt_lab import provenance
from altopt_lab.baselines import SearchSpace
from altopt_lab.baselines.baseline import Baseline
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Fitted, Method, Settings, projected_on, visible_labels
from altopt_lab.experiments.protocols import FIXED_ON


@dataclass(frozen=True)
class BaselineMethod(Method):
    """A peer, tuned once per data set, its best epoch by validation labels."""

    depends_on: ClassVar[str] = provenance.PEERS

    kind: type[Baseline]
    name: str
    validation: str = "keep the best epoch"
    tuned_by: str | None = "data set"
    fixed: tuple[tuple[str, Any], ...] = ()

    def space(self, *, inductive: bool = False) -> SearchSpace:
        return self.kind.search_space(inductive=inductive)

    def fixed_on(self, dataset: str) -> Settings:
        known = {field.name for field in fields(self.kind)}
        return {key: value for key, value in FIXED_ON.get(dataset, {}).items() if key in known}

    def initial_settings(self) -> list[Settings]:
        """As it comes, and on features read in another way: a short search must not miss what a graph needs."""
        usual = projected_on(self.kind().settings(), self.space())
        return [usual, *(usual | {way: not usual[way]} for way in ("scale_rows", "root") if way in usual)]

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        return settings | dict(self.fixed)

    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        settings = self.full_settings(settings)
        data, model = context.dataset, self.kind(**settings)
        model.fit(data.X, graph=data.graph, seed=seed, **visible_labels(data, split, self.validation))
        return Fitted(model.transduction_, settings, epoch_facts(model))

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """Trained on the training nodes and the edges among them; validation and test nodes see the whole graph.

        The last epoch counts: validation nodes are not in the graph that is trained on.
        """
        data, y = context.dataset, np.asarray(context.dataset.y)
        part = data.only(split.train)
        model = self.kind(**settings).fit(part.X, part.y, graph=part.graph, seed=seed)
        distributions = model.apply(data.X, data.graph, hide(y, split.train))
        return Fitted(model.classes_[distributions.argmax(axis=1)], settings, epoch_facts(model))


def epoch_facts(model: Baseline) -> dict[str, Any]:
    """The best epoch of a fit, the number of epochs and the time of one."""
    facts: dict[str, Any] = {}
    if hasattr(model, "best_epoch_"):
        facts["best_epoch"] = int(model.best_epoch_)
    if hasattr(model, "epoch_seconds_"):
        facts["n_epochs"] = len(model.epoch_seconds_)
        facts["epoch_seconds"] = float(np.median(model.epoch_seconds_))
    return facts
