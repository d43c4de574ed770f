"""The contract of a view: its distance from F, half the gradient of that, and bounds on half its Hessian."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency


class Curvature(NamedTuple):
    """Bounds on half the Hessian of a view.

        diag(lower) <= half the Hessian <= diag(upper),      step_scale >= upper / 2

    The step F - residual(F) / step_scale then never raises the view's distance. Bounds must be true but need not be
    tight: `lower=0` is right for every convex view, and a larger `upper` only costs steps.

    Parameters
    ----------
    lower, upper : float or array of shape (n_nodes,)
        One number for all nodes, or one for each.
    step_scale : float or array of shape (n_nodes,)
        What a step divides the residual by. For quadratic views it is, or bounds, the diagonal of half the Hessian.

    Examples
    --------
    >>> Curvature(lower=0.0, upper=2.0, step_scale=1.0)  # of the graph's Laplacian
    Curvature(lower=0.0, upper=2.0, step_scale=1.0)
    """

    lower: Array | float
    upper: Array | float
    step_scale: Array | float


class Pull(NamedTuple):
    """The right-hand side that a view gives to the linear system: minus its residual at F = 0.

    Parameters
    ----------
    nodes : array of int, or None
        The nodes it acts on; None for all of them.
    rows : array of shape (len(nodes), n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.views import LabelView
    >>> LabelView(Y=np.array([[0.0, 1.0]]), labelled=np.array([False, True])).pull()
    Pull(nodes=array([1]), rows=array([[0., 1.]]))
    """

    nodes: Array | None
    rows: Array


class View(ABC):
    """One term of the objective: a distance D(F) between F and one source of evidence.

    Subclass it with `distance`, `residual` and `curvature`, and with `half_hessian` if D is quadratic. Solvers know
    nothing else of a view. `coupling` and `pull` are offered by views that a fused step can serve.
    `altopt.checks.check_view` holds a view to this contract.

    Attributes
    ----------
    name : str
        "features", "graph" or "labels": the part of the objective it is.
    quadratic : bool
        Whether half the Hessian does not depend on F.
    squared : bool
        Whether D(F) = ||F - T||^2 on the nodes it covers, where T is P or Y.
    needs_confidence : bool
        Whether the constructor takes the confidence weights w as third argument.
    zero : bool
        Whether D is 0 for every F, so that the view has no effect.
    weight : float
        How much the view counts: lambda1 for features, lambda2 for labels, 1 for the graph.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(frozen=True)
    ... class LogCosh(View):  # sum log cosh(F - P): squared near P, straight far from it
    ...     name, quadratic = "features", False
    ...     P: np.ndarray
    ...     weight: float = 1.0
    ...
    ...     def distance(self, F):
    ...         return float(np.sum(np.log(np.cosh(F - self.P))))
    ...
    ...     def residual(self, F):
    ...         return np.tanh(F - self.P) / 2
    ...
    ...     def curvature(self):
    ...         return Curvature(lower=0.0, upper=0.5, step_scale=0.25)
    >>> from altopt.checks import check_feature_view
    >>> check_feature_view(LogCosh)
    """

    name: ClassVar[str]
    quadratic: ClassVar[bool]
    squared: ClassVar[bool] = False
    needs_confidence: ClassVar[bool] = False
    zero: ClassVar[bool] = False
    weight: float = 1.0

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
        name = type(self).__name__
        if self.quadratic:
            raise TypeError(f"{name} is quadratic, but does not define half_hessian.")
        raise TypeError(f"{name} is not quadratic: half its Hessian changes with F.")

    def coupling(self) -> NormalizedAdjacency | None:
        """A_tilde, if half the Hessian is I - A_tilde; None otherwise."""
        return None

    def pull(self) -> Pull | None:
        """Minus the residual at F = 0, if half the Hessian is diag(lower); None otherwise."""
        return None


class ViewSettings(ABC):
    """Settings of a view that is made once the data are known.

    Subclass it with a frozen dataclass of numbers and a method `view`. The class attributes are those of the view.

    Attributes
    ----------
    quadratic, squared, needs_confidence, zero : bool
        As in `View`.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.views import RobustLabels
    >>> RobustLabels(reach=0.3).view(np.array([[1.0, 0.0]]), np.array([True]), 2.0).weight
    2.0
    """

    quadratic: ClassVar[bool] = True
    squared: ClassVar[bool] = False
    needs_confidence: ClassVar[bool] = False
    zero: ClassVar[bool] = False

    @abstractmethod
    def view(self, *args: Any, **kwargs: Any) -> View:
        """The view of (graph, A_tilde), (P, weight) or (Y, labelled, weight); with w where it needs confidence."""


ViewChoice = type[View] | ViewSettings  # what AltOpt(graph_view=...) takes


def view_from(choice: ViewChoice, *given: Any, graph: Graph | None = None) -> View:
    """The view of a class or of settings.

    Parameters
    ----------
    choice : subclass of View, or ViewSettings
    *given
        What the view is of: A_tilde; P and weight, with w where it needs confidence; Y, labelled and weight.
    graph : Graph, optional
        For graph views: settings are given it before A_tilde, because it knows the direction of edges.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.views import FeatureView, view_from
    >>> view_from(FeatureView, np.eye(2), 0.5).weight
    0.5
    """
    if isinstance(choice, ViewSettings):
        return choice.view(*given) if graph is None else choice.view(graph, *given)
    return choice(*given)


def as_view_choice(value: Any, setting: str) -> ViewChoice:
    """The value itself, if it is a subclass of View or an instance of ViewSettings."""
    if isinstance(value, ViewSettings) or (isinstance(value, type) and issubclass(value, View)):
        return value
    raise InputError(
        f"{setting} must be a subclass of altopt.views.View or an instance of altopt.views.ViewSettings, "
        f"but is {value!r}."
    )
