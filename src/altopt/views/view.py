"""The contract of a view: how far F is from what one source of evidence says, and where to move it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.operator import NormalizedAdjacency


class Curvature(NamedTuple):
    """Bounds on half the Hessian of a view, per node or one number for all nodes.

        diag(lower) <= half the Hessian <= diag(upper),      step_scale >= upper / 2

    F - residual(F) / step_scale never raises the view's distance. For quadratic views step_scale is, or bounds,
    the diagonal of half the Hessian.
    """

    lower: Array | float
    upper: Array | float
    step_scale: Array | float


class Pull(NamedTuple):
    """A view's minus half gradient at F = 0: `rows` of it at `nodes`, all nodes where None."""

    nodes: Array | None
    rows: Array


class View(ABC):
    """One term of the objective: its distance D(F), half its gradient, and bounds on half its Hessian."""

    name: ClassVar[str]  # "features", "graph" or "labels": the part of the objective it is
    quadratic: ClassVar[bool]  # half the Hessian does not depend on F
    squared: ClassVar[bool] = False  # D = ||F - T||^2 on the nodes it covers, T being P or Y
    needs_confidence: ClassVar[bool] = (
        False  # its constructor takes the confidence weights w as third argument
    )
    weight: float = 1.0  # the graph's is 1 in the paper

    @abstractmethod
    def distance(self, F: Array) -> float:
        """D(F)."""

    @abstractmethod
    def residual(self, F: Array) -> Array:
        """Half the gradient of D at F."""

    @abstractmethod
    def curvature(self) -> Curvature:
        """Bounds on half the Hessian of D."""

    def half_hessian(self) -> Any:
        """Half the Hessian as an n x n sparse matrix, the same for each column of F; quadratic views only."""
        missing = "half_hessian is missing" if self.quadratic else "half its Hessian changes with F"
        raise TypeError(f"{type(self).__name__} is {'' if self.quadratic else 'not '}quadratic: {missing}.")

    def coupling(self) -> NormalizedAdjacency | None:
        """A_tilde where half the Hessian is I - A_tilde, which a fused step applies; None for any other."""
        return None

    def pull(self) -> Pull | None:
        """Minus the half gradient at F = 0, where half the Hessian is diag(lower); None for any other."""
        return None


class ViewSettings(ABC):
    """What makes a view once the data are known: a frozen dataclass of numbers, `AltOpt(label_view=RobustLabels(0.3))`.

    The class attributes are those of the view that it makes.
    """

    quadratic: ClassVar[bool] = True
    squared: ClassVar[bool] = False
    needs_confidence: ClassVar[bool] = False

    @abstractmethod
    def view(self, *args: Any, **kwargs: Any) -> View:
        """view(graph, A_tilde), view(P, weight) or view(Y, labelled, weight): the view."""


ViewChoice = type[View] | ViewSettings  # what AltOpt(graph_view=...) takes


def view_from(choice: ViewChoice, *given: Any, graph: Any = None) -> View:
    """The view of a class or of settings.

    A class is called with what is given: P and weight; A_tilde; Y, labelled and weight. Settings are asked for
    view(...) of the same, a graph view's with the Graph before A_tilde: it knows the edges' direction.
    """
    if isinstance(choice, ViewSettings):
        return choice.view(*given) if graph is None else choice.view(graph, *given)
    if isinstance(choice, type) and issubclass(choice, View):
        return choice(*given)
    raise InputError(
        f"A view is given as a subclass of altopt.views.View or as altopt.views.ViewSettings, but is {choice!r}."
    )
