"""D_A by contrast: neighbours are positive pairs and attract, random pairs are negative and repel."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.settings import check_number
from altopt.views.quadratic import QuadraticForm
from altopt.views.view import Curvature, ViewSettings


@dataclass(frozen=True)
class ContrastiveView(QuadraticForm):
    """D_A = tr(F' (I - A_tilde) F) + negatives ||s'F||^2 with s = D^1/2 1 / ||D^1/2 1||.

    With negative pairs sampled in proportion to degree, as is usual, their expected term has this closed form: a
    penalty on the one direction in which all nodes agree. No pair is ever sampled. A_tilde s = s: the first part is 0
    on s and at most 2 elsewhere, so that half the Hessian reaches max(2, negatives).

    Parameters
    ----------
    A_tilde : NormalizedAdjacency
    negatives : float
        Weight of negative pairs, relative to positive ones.
    weight : float

    Examples
    --------
    >>> pair = NormalizedAdjacency(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(ContrastiveView(pair, negatives=3.0).distance(np.array([[1.0], [1.0]])), 6)  # neighbours agree: 3 x 2
    6.0
    """

    A_tilde: NormalizedAdjacency
    negatives: float = 1.0
    weight: float = 1.0

    @cached_property
    def s(self) -> Array:
        root = np.sqrt(self.A_tilde.degrees)[:, None]
        return np.asarray(root / max(float(np.linalg.norm(root)), 1e-300))

    def residual(self, F: Array) -> Array:
        s = self.s.astype(F.dtype, copy=False)
        return self.A_tilde.step(F, scale=-1.0, rest=F + self.negatives * s * (s.T @ F))

    def curvature(self) -> Curvature:
        upper = max(2.0, self.negatives)
        return Curvature(lower=0.0, upper=upper, step_scale=max(upper / 2, 1.0 + self.negatives))

    def half_hessian(self) -> Any:
        eye = sp.eye_array(self.A_tilde.n_nodes, format="csr")
        return sp.csr_array(eye - self.A_tilde.matrix + self.negatives * sp.csr_array(self.s @ self.s.T))


@dataclass(frozen=True)
class Contrast(ViewSettings):
    """Neighbours should carry the same label, and not everyone: tr(F' L F) with a penalty on agreement of all.

    What it is for: graphs so well connected that with the Laplacian alone one class would spread over all of them.

    Parameters
    ----------
    negatives : float, default 1
        Weight of negative pairs, relative to positive ones.

    Examples
    --------
    >>> graph = Graph([(0, 1), (1, 2)])
    >>> Contrast(2.0).view(graph, NormalizedAdjacency(graph.adjacency)).negatives
    2.0
    """

    negatives: float = 1.0

    def __post_init__(self) -> None:
        check_number(self, "negatives", least=0)

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> ContrastiveView:
        return ContrastiveView(A_tilde, self.negatives)
