"""What a view of F must be able to say, and the objective that adds the views up."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from altopt.arrays import SMALL_BLOCK_ROWS, Array, row_blocks
from altopt.operator import NormalizedAdjacency
from altopt.operator.kernels.backend import Stage


class Curvature(NamedTuple):
    """How steeply a view's half gradient can change, per node (or one number for all nodes).

    diag(lower) <= half the Hessian <= diag(upper), and pace >= upper / 2: dividing the half gradient by the
    pace gives a step that never raises the view's distance. For quadratic views pace is, or bounds, the
    diagonal of half the Hessian.
    """

    lower: Array | float
    upper: Array | float
    pace: Array | float


@runtime_checkable
class View(Protocol):
    """One view's say on F: how far F is, where to move, and how far is safe."""

    name: ClassVar[str]  # "features", "graph" or "labels": the part of the objective it is
    quadratic: ClassVar[bool]  # half the Hessian does not depend on F

    @property
    def weight(self) -> float:
        """How much this view counts; the graph's is 1 in the paper."""

    def distance(self, F: Array) -> float:
        """D(F)."""

    def residual(self, F: Array) -> Array:
        """Half the gradient of D at F."""

    def curvature(self) -> Curvature:
        """Bounds on half the Hessian of D."""

    def half_hessian(self) -> Any:
        """Half the Hessian as an n x n sparse matrix, the same for each column of F; quadratic views only."""


def made_from(choice: Any, *given: Any, graph: Any = None) -> View:
    """The view that `choice` stands for: a view class, or settings with a method `view`.

    A class is called with what is given: P and weight; A_tilde; Y, labelled and weight. Settings are asked for
    view(...) of the same, a graph view's with the Graph before A_tilde: it knows the edges' direction.
    """
    if isinstance(choice, type) or not hasattr(choice, "view"):
        return choice(*given)  # type: ignore[no-any-return]
    return choice.view(*given) if graph is None else choice.view(graph, *given)  # type: ignore[no-any-return]


class Pull(NamedTuple):
    """A view's minus half gradient at F = 0: `rows` of it at `nodes`, all nodes where None."""

    nodes: Array | None
    rows: Array


@dataclass(frozen=True)
class System:
    """H F = rhs with H = diag(diagonal) - coupling * A_tilde: the form in which one pass makes one step."""

    A_tilde: NormalizedAdjacency
    coupling: float
    diagonal: Array
    pulls: Sequence[tuple[float, Pull]]  # with their weights; rhs is their sum

    def enter_rhs(self, stage: Stage, factor: Array | float = 1.0) -> Any:
        """factor rhs as a block of the stage; `factor`: one number, or one for each node."""
        factor = np.broadcast_to(factor, len(self.diagonal))
        # a pull on all nodes makes the block, the others are added to it
        (weight, first), *rest = sorted(self.pulls, key=lambda pull: pull[1].nodes is not None)
        rhs = stage.enter(first.rows, weight * factor)
        for weight, pull in rest:
            nodes = np.arange(len(factor)) if pull.nodes is None else pull.nodes
            for rows in row_blocks(len(nodes), SMALL_BLOCK_ROWS):
                at = nodes[rows]
                stage.add_rows(rhs, at, (weight * factor[at])[:, None] * pull.rows[rows])
        return rhs


@dataclass(frozen=True)
class Objective:
    """lambda1 * D_X(P, F) + D_A(F) + lambda2 * D_Y(Y_L, F_L), for whatever views are put in."""

    views: Sequence[View]

    @property
    def quadratic(self) -> bool:
        return all(view.quadratic for view in self.views)

    def parts(self, F: Array, roughness: float | None = None) -> dict[str, float]:
        """Each view's weighted distance, by the view's name; `roughness` is tr(F' L~ F) where it is known."""
        known = None if roughness is None else [hasattr(view, "couples_by") for view in self.views]
        return {
            view.name: view.weight
            * (roughness if known and known[k] and roughness is not None else view.distance(F))
            for k, view in enumerate(self.views)
        }

    def value(self, F: Array) -> float:
        return sum(self.parts(F).values())

    def residual(self, F: Array) -> Array:
        """Half the gradient: zero exactly at the minimiser; for quadratic views H F - rhs."""
        first, *rest = self.views
        total = first.weight * first.residual(F)
        for view in rest:
            total += view.weight * view.residual(F)
        return total

    def curvature(self, n_nodes: int) -> Curvature:
        """The views' bounds added up, one number per node."""
        each = [(view.weight, view.curvature()) for view in self.views]
        lower, upper, pace = (
            np.sum([w * np.broadcast_to(bound[k], n_nodes) for w, bound in each], axis=0) for k in range(3)
        )
        return Curvature(lower, upper, pace)

    def system(self, n_nodes: int) -> System | None:
        """H F = rhs in a form made for speed, where the views allow it.

        Exactly one view must couple the nodes, by I - A_tilde: it has `couples_by`. The others act on each node
        by itself, with a pull: their curvature bounds meet, and they have `pull()`.
        """
        coupling: list[Any] = [view for view in self.views if hasattr(view, "couples_by")]
        others: list[Any] = [view for view in self.views if not hasattr(view, "couples_by")]
        if len(coupling) != 1 or not all(view.quadratic and hasattr(view, "pull") for view in others):
            return None
        weight = coupling[0].weight
        diagonal = np.full(n_nodes, weight)
        for view in others:
            diagonal += view.weight * np.asarray(view.curvature().lower)
        pulls = [(view.weight, view.pull()) for view in others]
        if not any(pull.nodes is None for _, pull in pulls):
            return None
        return System(coupling[0].couples_by, weight, diagonal, pulls)

    def half_hessian(self) -> Any:
        """H as a sparse matrix."""
        return sum(view.weight * view.half_hessian() for view in self.views)
