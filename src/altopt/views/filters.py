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

SERIES_RTOL = 1e-10  # error of the series, relative to the largest value of r
MAX_TERMS = 512  # of the series, each a product with A_tilde


@dataclass(frozen=True)
class FilterView(QuadraticForm):
    """r(L~) = sum_k c_k T_k(L~ - I) with Chebyshev's T_k: L~ - I = -A_tilde has its spectrum in [-1, 1].

        T_0 F = F,    T_1 F = -A_tilde F,    T_k+1 F = -2 A_tilde T_k F - T_k-1 F

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    series : tuple of float
        c_0, c_1, ...
    bounds : (float, float)
        The least and the largest value of r on [0, 2].
    weight : float

    Examples
    --------
    >>> A_tilde = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> FilterView(A_tilde, series=(1.0, 1.0), bounds=(0.0, 2.0)).residual(np.array([[1.0], [3.0]]))  # r(l) = l
    array([[-2.],
           [ 2.]])
    """

    A_tilde: NormalizedAdjacency
    series: tuple[float, ...]
    bounds: tuple[float, float]
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        previous, term = F, self.A_tilde.step(F, scale=-1.0)
        total = np.asarray(self.series[0] * F)
        for k, c in enumerate(self.series[1:], start=1):
            total += c * term
            if k + 1 < len(self.series):
                previous, term = term, self.A_tilde.step(term, scale=-2.0, rest=-previous)
        return total

    def curvature(self) -> Curvature:
        low, high = self.bounds
        return Curvature(lower=low, upper=high, step_scale=high)

    def half_hessian(self) -> Any:
        previous, term = sp.eye_array(self.A_tilde.n_nodes, format="csr"), -self.A_tilde.matrix
        total = self.series[0] * previous
        for c in self.series[1:]:
            total = total + c * term
            previous, term = term, -2.0 * (self.A_tilde.matrix @ term) - previous
        return sp.csr_array(total)


@dataclass(frozen=True)
class SpectralFilter(ViewSettings):
    """r(l) = (n_0 + n_1 l + n_2 l^2 + ...) / (d_0 + d_1 l + ...), a filter of the graph's frequencies l.

    What it is for: setting the cost of each frequency, from 0 (neighbours agree) to 2 (neighbours are opposed).
    (0, 1) is GraphView, (0, 0, 1) SquaredLaplacianView; (0, 1) / (1, 4) saturates, so that high frequencies cost
    hardly more than middle ones. Polynomials are applied exactly, quotients by a Chebyshev series to a relative
    error of 1e-10.

    Parameters
    ----------
    numerator : tuple of float
        n_0, n_1, ..., each 0 or more.
    denominator : tuple of float
        d_0, d_1, ..., each 0 or more, d_0 above 0.

    Examples
    --------
    >>> graph = Graph(np.array([[0], [1]]))  # two nodes, one edge: frequencies 0 and 2
    >>> view = SpectralFilter((0.0, 0.0, 1.0)).view(graph, NormalizedAdjacency(graph.adjacency))
    >>> view.residual(np.array([[1.0], [-1.0]]))  # r(2) = 4
    array([[ 4.],
           [-4.]])
    """

    numerator: tuple[float, ...]
    denominator: tuple[float, ...] = (1.0,)

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> FilterView:
        return FilterView(A_tilde, tuple(self._series().coef.tolist()), self._bounds())

    def _quotient(self) -> tuple[Polynomial, Polynomial]:
        coefficients = (*self.numerator, *self.denominator)
        valid = self.numerator and self.denominator and all(0 <= c < np.inf for c in coefficients)
        if not valid or not self.denominator[0] > 0:
            raise InputError(
                "SpectralFilter needs finite coefficients of 0 or more, the denominator's first above 0, but has "
                f"{self.numerator!r} / {self.denominator!r}."
            )
        return Polynomial(self.numerator), Polynomial(self.denominator)

    def _series(self) -> Chebyshev:
        """r as a series on [0, 2], with as many terms as SERIES_RTOL needs."""
        numerator, denominator = self._quotient()
        if denominator.trim().degree() == 0:
            return (numerator / self.denominator[0]).convert(kind=Chebyshev, domain=[0, 2])
        points = np.linspace(0, 2, 4001)
        values = numerator(points) / denominator(points)
        degree = 8
        while degree <= MAX_TERMS:
            series = Chebyshev.interpolate(lambda x: numerator(x) / denominator(x), degree, domain=[0, 2])
            if np.max(np.abs(series(points) - values)) <= SERIES_RTOL * max(float(values.max()), 1e-300):
                return series
            degree *= 2
        raise InputError(
            f"SpectralFilter {self.numerator!r} / {self.denominator!r} changes too fast near 0 for a series of "
            f"{MAX_TERMS} terms. Lower the denominator's later coefficients against its first."
        )

    def _bounds(self) -> tuple[float, float]:
        """The least and the largest value of r on [0, 2], at its ends or where its slope is zero."""
        numerator, denominator = self._quotient()
        slope = (numerator.deriv() * denominator - numerator * denominator.deriv()).trim()
        critical = np.asarray(slope.roots(), dtype=complex)
        # rounding may move a critical point off the real line, so a fine grid is looked at besides
        points = np.clip(np.concatenate([np.linspace(0, 2, 2001), critical.real]), 0.0, 2.0)
        values = numerator(points) / denominator(points)
        slack = 1e-6 * float(values.max())
        return max(float(values.min()) - slack, 0.0), float(values.max()) + slack


@dataclass(frozen=True)
class HighPassView(QuadraticForm):
    """D_A = tr(F' (I + A_tilde) F): neighbours should carry different labels.

    What it is for: heterophilous graphs, whose edges mostly join nodes of different classes. F that changes sign
    along every edge costs nothing.

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    weight : float

    Examples
    --------
    >>> view = HighPassView(NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> view.distance(np.array([[1.0], [1.0]]))
    4.0
    >>> view.distance(np.array([[1.0], [-1.0]]))
    0.0
    """

    A_tilde: NormalizedAdjacency
    weight: float = 1.0

    def residual(self, F: Array) -> Array:
        return self.A_tilde.step(F, scale=1.0, diagonal=1.0)

    def curvature(self) -> Curvature:
        return Curvature(lower=0.0, upper=2.0, step_scale=1.0)

    def half_hessian(self) -> Any:
        return sp.eye_array(self.A_tilde.n_nodes, format="csr") + self.A_tilde.matrix
