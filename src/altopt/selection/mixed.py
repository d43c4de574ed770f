"""A mixture of candidates without smoothing, put together from what its parts say."""

from dataclasses import dataclass, replace

import numpy as np

from altopt.arrays import Array, tempered
from altopt.selection.candidates import Candidate
from altopt.selection.cross_fit import Fold


@dataclass(frozen=True)
class Mixed:
    """What a mixture is made of."""

    parts: list[Candidate]
    weights: list[float]
    temperatures: list[float]

    def rows(self, each: list[Array]) -> Array:
        """The weighted mean of the parts' tempered rows."""
        mixed = zip(self.weights, each, self.temperatures)
        return np.asarray(sum(weight * tempered(P, T) for weight, P, T in mixed))

    def fold(self, folds: list[Fold]) -> Fold:
        """The mixture's fit without a fold, from its parts' fits."""
        F, P = (self.rows([getattr(fold, name) for fold in folds]) for name in ("F", "P"))
        known = [fold.with_all_labels for fold in folds if fold.with_all_labels is not None]
        return replace(folds[0], F=F, P=P, with_all_labels=self.rows(known) if known else None)
