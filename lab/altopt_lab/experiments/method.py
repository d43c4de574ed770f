"""The contract of a method that is compared: its search space, and how it is fitted on a split."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, hide
from altopt.errors import InputError
from altopt_lab import provenance
from altopt_lab.baselines import SearchSpace
from altopt_lab.experiments.context import DatasetContext

Settings = dict[str, Any]


@dataclass
class Fitted:
    """The outcome of a fit.

    Parameters
    ----------
    labels : array of shape (n_nodes,)
        The predicted class of every node.
    settings : dict
        What the fit went by.
    facts : dict
        What else goes on record.
    shared_seconds : float
        Spent earlier, on inputs that several runs share.
    """

    labels: Array
    settings: Settings
    facts: dict[str, Any] = field(default_factory=dict)
    shared_seconds: float = 0.0


class Method(ABC):
    """One row of a table.

    Attributes
    ----------
    name : str
    validation : str
        What validation labels are used for in a fit; "none" where they are not used.
    tuned_by : str or None
        When settings are chosen: "cell", for each data set and rate; "data set", once for each; None, never.
    depends_on : str
        Whose sources a fit depends on, by `provenance.code`.
    """

    depends_on: ClassVar[str] = provenance.OURS

    name: str
    validation: str
    tuned_by: str | None

    def space(self, *, inductive: bool = False) -> SearchSpace:
        """The choices for each setting that is tuned."""
        return {}

    def fixed_on(self, dataset: str) -> Settings:
        """What the protocol of a data set fixes, in this method's settings: the sizes of its network, say."""
        return {}

    def initial_settings(self) -> list[Settings]:
        """Settings that a search tries first."""
        return []

    def full_settings(self, settings: Settings, *, inductive: bool = False) -> Settings:
        """The settings of a fit as its record has them: those chosen, and those that are fixed."""
        return settings

    def drop_unused(self, settings: Settings) -> Settings:
        """Without the settings that have no effect beside the others."""
        return settings

    @abstractmethod
    def fit(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """Fit on the training labels of a split, with the whole graph in sight."""

    def fit_inductively(self, context: DatasetContext, split: Split, settings: Settings, seed: int) -> Fitted:
        """Fit on the training nodes and the edges among them; predict with the whole graph."""
        raise InputError(f"{self.name} is compared in the transductive tables only.")


def projected_on(settings: Settings, space: SearchSpace) -> Settings:
    """A point of the space: these settings where it has them, else its first choice.

    >>> projected_on({"dropout": 0.5, "heads": 8}, {"dropout": (0.0, 0.5), "n_steps": (10, 20)})
    {'dropout': 0.5, 'n_steps': 10}
    """
    return {
        key: settings[key] if settings.get(key, ...) in choices else choices[0]
        for key, choices in space.items()
    }


def visible_labels(dataset: Dataset, split: Split, validation: str) -> dict[str, Any]:
    """The labels that a fit sees, as its arguments: training labels, and validation labels where they are used."""
    y = np.asarray(dataset.y)
    validation_set = None if validation == "none" else (split.validation, y[split.validation])
    return {"y": hide(y, split.train), "validation": validation_set}
