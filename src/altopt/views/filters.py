"""D_A = tr(F' r(L~) F): any filter r of the graph's frequencies that is not negative on [0, 2]."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.polynomial import Chebyshev, Polynomial

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature, ViewSettings

CLOSE = 1e-10  # how far the series may be from r, relative to its largest value
LONGEST = 512  # terms of the series, each a product with A_tilde


@dataclass(frozen=True)
class FilterView(QuadraticForm):
    """r(L~) = sum_k c_k T_k(L~ - I) with Chebyshev's T_k: L~ - I = -A_tilde has its spectrum in [-1, 1].

    T_0 F = F,  T_1 F = -A_tilde F,  T_k+1 F = -2 A_tilde T_k F - T_k-1 F.
    """

    A_tilde: NormalizedAdjacency
    series: tuple[float, ...]  # c_0, c_1, ...
    bounds: tuple[float, float]  # of r on [0, 2]
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        before, here = F, self.A_tilde.step(F, scale=-1.0)
        total = np.asarray(self.series[0] * F)
        for k, c in enumerate(self.series[1:], start=1):
            total += c * here
            if k + 1 < len(self.series):
                before, here = here, self.A_tilde.step(here, scale=-2.0, rest=-before)
        return total

    def curvature(self) -> Curvature:
        low, high = self.bounds
        return Curvature(lower=low, upper=high, step_scale=high)

    def half_hessian(self) -> Any:
        before, here = sp.eye_array(self.A_tilde.n_nodes, format="csr"), -self.A_tilde.matrix
        total = self.series[0] * before
        for c in self.series[1:]:
            total = total + c * here
            before, here = here, -2.0 * (self.A_tilde.matrix @ here) - before
        return sp.csr_array(total)


@dataclass(frozen=True)
class SpectralFilter(ViewSettings):
    """r(l) = (n_0 + n_1 l + n_2 l^2 + ...) / (d_0 + d_1 l + ...), all coefficients 0 or more, d_0 above 0.

    What it is for: saying how much each frequency l of the graph, from 0 (smooth) to 2 (neighbours opposed), costs.
    (0, 1) is the Laplacian view, (0, 0, 1) the squared one, (0, 1) / (1, 4) charges rough F hardly more than
    half-rough F. Polynomials are applied exactly, quotients by a Chebyshev series that is as good as exact.
    """

    numerator: tuple[float, ...]
    denominator: tuple[float, ...] = (1.0,)

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> FilterView:
        series = self._series()
        return FilterView(A_tilde, tuple(series.coef.tolist()), self._bounds())

    def _quotient(self) -> tuple[Polynomial, Polynomial]:
        given = (*self.numerator, *self.denominator)
        fine = self.numerator and self.denominator and all(0 <= c < np.inf for c in given)
        if not fine or not self.denominator[0] > 0:
            raise InputError(
                "SpectralFilter needs finite coefficients of 0 or more, the denominator's first above 0, but has "
                f"{self.numerator!r} / {self.denominator!r}."
            )
        return Polynomial(self.numerator), Polynomial(self.denominator)

    def _series(self) -> Chebyshev:
        """r as a series on [0, 2], long enough."""
        top, bottom = self._quotient()
        if bottom.trim().degree() == 0:
            return (top / self.denominator[0]).convert(kind=Chebyshev, domain=[0, 2])
        places = np.linspace(0, 2, 4001)
        truth = top(places) / bottom(places)
        degree = 8
        while degree <= LONGEST:
            series = Chebyshev.interpolate(lambda x: top(x) / bottom(x), degree, domain=[0, 2])
            if np.max(np.abs(series(places) - truth)) <= CLOSE * max(float(truth.max()), 1e-300):
                return series
            degree *= 2
        raise InputError(
            f"SpectralFilter {self.numerator!r} / {self.denominator!r} changes too fast near 0 for a series of "
            f"{LONGEST} terms. Lower the denominator's later coefficients against its first."
        )

    def _bounds(self) -> tuple[float, float]:
        """The least and the largest value of r on [0, 2], at its ends or where its slope is zero."""
        top, bottom = self._quotient()
        turns = np.asarray((top.deriv() * bottom - top * bottom.deriv()).trim().roots(), dtype=complex)
        # rounding may move a turn off the real line; r is looked at densely besides
        places = np.clip(np.concatenate([np.linspace(0, 2, 2001), turns.real]), 0.0, 2.0)
        values = top(places) / bottom(places)
        slack = 1e-6 * float(values.max())
        return max(float(values.min()) - slack, 0.0), float(values.max()) + slack


@dataclass(frozen=True)
class HighPassView(QuadraticForm):
    """D_A = tr(F' (I + A_tilde) F): neighbours should carry different labels.

    What it is for: graphs whose edges mostly join unlike nodes. Its least is at F that changes sign along edges.
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        return self.A_tilde.step(F, scale=1.0, diagonal=1.0)

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=2.0, step_scale=1.0)

    def half_hessian(self) -> Any:
        return sp.eye_array(self.A_tilde.n_nodes, format="csr") + self.A_tilde.matrix
