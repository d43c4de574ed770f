"""How fast Chebyshev steps on all nodes converge, for a push that is better off with them."""

import math
from collections.abc import Iterator

import numpy as np

from altopt.arrays import Array


class Pace:
    """How fast Chebyshev steps on all nodes converge.

    The spectrum of diag(H)^-1 H lies in [1 - rho, 1 + rho], rho = coupling / min diag(H).

    Examples
    --------
    >>> pace = Pace(np.array([2.0, 3.0]), 1.0)
    >>> pace.rho, pace.steps(1e-9)
    (0.5, 19)
    """

    def __init__(self, diagonal: Array, coupling: float) -> None:
        self.rho = coupling / float(np.min(diagonal, initial=np.inf))
        apart = 1.0 - self.rho
        # the part of a residual below which rounding decides
        self.floor = 64 * float(np.finfo(np.float64).eps) / apart if apart > 0 else np.inf

    @property
    def useful(self) -> bool:
        """Whether the steps converge, and to something that is worth them."""
        return 0 <= self.rho < 1 and self.floor < 0.1

    def steps(self, share: float) -> float:
        """Steps that take a residual of size 1 to this share, about."""
        if not self.useful:
            return np.inf
        root = math.sqrt((1 + self.rho) / (1 - self.rho))
        return 2 + math.ceil(math.log(2 / share) / math.log((root + 1) / max(root - 1, 1e-12)))

    def coefficients(self) -> Iterator[tuple[float, float]]:
        """(step_size, momentum) of each step."""
        ratio, size, momentum = self.rho, 1.0, 0.0
        while True:
            yield size, momentum
            following = self.rho / (2 - self.rho * ratio)
            size = 2 * following / self.rho if self.rho > 0 else 1.0
            ratio, momentum = following, following * ratio
