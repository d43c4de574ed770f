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

    def behind(self, other: "Result") -> bool:
        """Whether the other is more accurate on the same splits by more than two standard errors of the difference."""
        lead = np.array(other.accuracies) - np.array(self.accuracies)
        error = lead.std(ddof=1) / np.sqrt(len(lead)) if len(lead) > 1 else 0.0
        return bool(lead.mean() > 2 * error)
