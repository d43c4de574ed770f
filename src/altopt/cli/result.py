"""Result: the accuracies and times of one method on one data set."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Result:
    """One method on one data set, over all splits."""

    dataset: str
    method: str
    how: str  # what the method was given
    settings: dict[str, str]
    splits: str
    seeds: tuple[int, ...]  # one a split, of the split and of the fit on it
    accuracies: tuple[float, ...]  # a split each
    seconds: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))

    @property
    def sd(self) -> float:
        return float(np.std(self.accuracies))

    @property
    def mean_seconds(self) -> float:
        return float(np.mean(self.seconds))
