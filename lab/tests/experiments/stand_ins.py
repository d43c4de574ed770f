"""Small stand-ins for data sets and methods, so that the machinery around them is tested in a blink."""

from dataclasses import dataclass, field, replace

import numpy as np

from altopt.datasets import communities
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Fitted


@dataclass
class StandIn:
    """A method whose accuracy depends on its settings alone, and that counts its fits."""

    name: str = "stand-in"
    validation: str = "none"
    tuned_by: str = "data set"
    depends_on: str = "altopt"
    fits: list = field(default_factory=list)

    def space(self, *, inductive=False):
        return {"good": (0.1, 0.5, 0.9), "useless": (1, 2), "slow": (False, True)}

    def fixed_on(self, dataset):
        return {}

    def initial_settings(self):
        return [{"good": 0.1, "useless": 1, "slow": False}]

    def drop_unused(self, settings):
        return {key: value for key, value in settings.items() if key != "useless"}

    def fit(self, context, split, settings, seed):
        self.fits.append((settings, split.validation))
        y = np.asarray(context.dataset.y)
        rng = np.random.default_rng(seed)
        right = rng.random(len(y)) < settings["good"]
        return Fitted(np.where(right, y, -2), settings)

    fit_inductively = fit


def small_context(name="Cora", n_nodes=300):
    """A generated graph under a benchmark's name, large enough for 5 labels of each class and the rest to judge."""
    return DatasetContext(replace(communities(n_nodes=n_nodes, n_classes=3, seed=1), name=name))
