"""C&S (Huang et al., 2021): a perceptron's answers, corrected by its errors on training nodes, then smoothed."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from altopt.arrays import Array, shares
from altopt.graph.validation import UNKNOWN
from altopt_lab.baselines.baseline import ZERO_TO_ONE, EpochCallback, GraphData, SearchSpace, ValidationSet
from altopt_lab.baselines.geometric import layers, with_our_product
from altopt_lab.baselines.mlp import MLP
from altopt_lab.baselines.products import Propagation


@dataclass(kw_only=True, eq=False)
class CorrectAndSmooth(MLP):
    """PyTorch Geometric's CorrectAndSmooth on an MLP.

    Only labels that `fit` was given in y are propagated. Validation labels choose the MLP's epoch and nothing else.

    Parameters
    ----------
    n_steps : int
        Of each propagation.
    correct_alpha, smooth_alpha : float
        Weight of the neighbours when errors, and when corrected scores, are propagated.
    autoscale : bool
        Scale the corrections by the size of the errors.
    **settings
        Those of `Network`.

    Examples
    --------
    >>> from altopt.datasets import communities
    >>> from altopt.datasets.splits import hide
    >>> data = communities(n_nodes=200, n_classes=2, seed=0)
    >>> model = CorrectAndSmooth(n_epochs=30).fit(data.X, hide(data.y, range(20)), data.graph)
    >>> bool((model.transduction_ == data.y).mean() > 0.9)
    True
    """

    method: ClassVar[str] = "C&S"
    needs_labels: ClassVar[bool] = True
    n_steps: int = 50
    correct_alpha: float = 0.8
    smooth_alpha: float = 0.8
    autoscale: bool = True

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {
            **super().search_space(),
            "n_steps": (10, 20, 50),
            "correct_alpha": ZERO_TO_ONE,
            "smooth_alpha": ZERO_TO_ONE,
            "autoscale": (True, False),
        }

    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        return self._corrected(super()._learn(data, validation, seed, on_epoch), data)

    def _score(self, data: GraphData) -> Array:
        return self._corrected(super()._score(data), data)

    def _corrected(self, P: Array, data: GraphData) -> Array:
        process = layers().CorrectAndSmooth(
            self.n_steps, self.correct_alpha, self.n_steps, self.smooth_alpha, self.autoscale
        )
        with_our_product(process.prop1)
        with_our_product(process.prop2)
        labelled = np.flatnonzero(data.codes != UNKNOWN)
        targets, nodes = torch.from_numpy(data.codes[labelled]), torch.from_numpy(labelled)
        A = Propagation(data.graph.adjacency, self_loops=False)
        with torch.no_grad():
            corrected = process.correct(torch.from_numpy(P).float(), targets, nodes, A)
            corrected = corrected.nan_to_num_()  # a perceptron without any error has nothing to spread: 0 / 0
            return shares(process.smooth(corrected, targets, nodes, A).double().numpy())
