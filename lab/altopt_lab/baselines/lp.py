"""LP (Zhou et al., 2003): label propagation, without features; PyTorch Geometric's LabelPropagation."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from altopt.arrays import Array, one_hot, shares
from altopt_lab.baselines.baseline import (
    ZERO_TO_ONE,
    Baseline,
    EpochCallback,
    GraphData,
    SearchSpace,
    ValidationSet,
)
from altopt_lab.baselines.geometric import layers, with_our_product
from altopt_lab.baselines.products import Propagation


@dataclass(kw_only=True, eq=False)
class LP(Baseline):
    """F <- alpha A_tilde F + (1 - alpha) Y from F = Y, `n_steps` times, held within [0, 1]; rows as shares.

    `hold` gives labelled nodes their label back after every step. A node that no label reaches gets the uniform
    distribution. Nothing is trained and nothing is random.

    Parameters
    ----------
    alpha : float
        Weight of the neighbours against the given labels.
    n_steps : int
    hold : bool
        Labelled nodes get their label back after every step.

    Examples
    --------
    Two labels at the ends of a path of four nodes:

    >>> import numpy as np
    >>> model = LP().fit(np.zeros((4, 1)), [0, -1, -1, 1], np.array([[0, 1, 2], [1, 2, 3]]))
    >>> model.transduction_
    array([0, 0, 1, 1])
    """

    method: ClassVar[str] = "LP"
    needs_labels: ClassVar[bool] = True
    alpha: float = 0.9
    n_steps: int = 50
    hold: bool = False

    @classmethod
    def search_space(cls, *, inductive: bool = False) -> SearchSpace:
        return {"alpha": (*ZERO_TO_ONE, 0.99), "n_steps": (10, 20, 50), "hold": (False, True)}

    def _learn(
        self, data: GraphData, validation: ValidationSet | None, seed: int, on_epoch: EpochCallback | None
    ) -> Array:
        return self._score(data)

    def _score(self, data: GraphData) -> Array:
        propagation = with_our_product(layers().LabelPropagation(self.n_steps, self.alpha))
        Y = torch.from_numpy(one_hot(data.codes, self.n_classes, np.float32))
        A = Propagation(data.graph.adjacency, self_loops=False)
        known = Y.sum(dim=1) > 0

        def after(F: torch.Tensor) -> torch.Tensor:
            F = F.clamp_(0.0, 1.0)
            if self.hold:
                F[known] = Y[known]
            return F

        with torch.no_grad():
            return shares(propagation(Y, A, post_step=after).double().numpy())
