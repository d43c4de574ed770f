"""The laws of views: what a view of your own must meet, checked in one call that says what is wrong."""

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.checks.require import require
from altopt.checks.toy import ToyProblem, toy_problem
from altopt.views import View, ViewChoice

DIFFERENCE = 1e-5  # step of the differences that stand for derivatives
EXACT = 1e-8  # tolerance where only rounding may differ


def check_graph_view(choice: ViewChoice, n_nodes: int = 24, seed: int = 0) -> None:
    """Check what `AltOpt(graph_view=choice)` takes, on a small random graph.

    The graph is weighted and directed, and one node has no edges. Besides the laws of `check_view`: renumbering
    the nodes renumbers the residual, the view is called "graph", and settings announce the attributes of the
    view that they make.

    Parameters
    ----------
    choice : subclass of View, or ViewSettings
    n_nodes : int
    seed : int

    Raises
    ------
    InputError
        With one sentence that says which law is broken.

    Examples
    --------
    >>> from altopt.checks import check_graph_view
    >>> from altopt.views import TwoHopView
    >>> check_graph_view(TwoHopView)
    """
    check_choice(choice, "graph", lambda problem: problem.graph_view(choice), toy_problem(n_nodes, seed=seed))


def check_feature_view(choice: ViewChoice, n_nodes: int = 12, seed: int = 0) -> None:
    """Check what `AltOpt(feature_view=choice)` takes, on random encoder outputs P; see `check_graph_view`.

    Examples
    --------
    >>> from altopt.checks import check_feature_view
    >>> from altopt.views import FeatureView
    >>> check_feature_view(FeatureView)
    """
    check_choice(
        choice, "features", lambda problem: problem.feature_view(choice, 0.7), toy_problem(n_nodes, seed=seed)
    )


def check_label_view(choice: ViewChoice, n_nodes: int = 12, seed: int = 0) -> None:
    """Check what `AltOpt(label_view=choice)` takes, on random labels of some nodes; see `check_graph_view`.

    Examples
    --------
    >>> from altopt.checks import check_label_view
    >>> from altopt.views import RobustLabels
    >>> check_label_view(RobustLabels(0.3))
    """
    check_choice(
        choice, "labels", lambda problem: problem.label_view(choice, 2.0), toy_problem(n_nodes, seed=seed)
    )


def check_choice(
    choice: ViewChoice, name: str, view_of: Callable[[ToyProblem], View], problem: ToyProblem
) -> None:
    view = view_of(problem)
    check_view(view, problem.F)
    require(view.name == name, view, f"name is {view.name!r}, but the view is used as {name!r}")
    for attribute, announced, actual in (
        ("quadratic", choice.quadratic, view.quadratic),
        ("squared", choice.squared, view.squared),
        ("needs_confidence", choice.needs_confidence, view.needs_confidence),
        ("zero", choice.zero, view.zero),
    ):
        complaint = f"{attribute} is {announced}, but that of the view it makes is {actual}"
        require(announced == actual, choice, complaint)
    order = np.random.default_rng(0).permutation(len(problem.F))
    shuffled = problem.renumbered(order)
    residual = view_of(shuffled).residual(shuffled.F)
    same = np.allclose(residual, view.residual(problem.F)[order], atol=EXACT)
    require(same, view, "residual changes with the numbering of nodes")


def check_view(view: View, F: Array) -> None:
    """Check that a view keeps the contract of `altopt.views.View` at F.

    Half gradient and half Hessian are compared with differences, `curvature` with the half Hessian, and what the
    view says of itself (`quadratic`, `squared`, `pull()`, `coupling()`) with both.

    Parameters
    ----------
    view : View
    F : array of shape (n_nodes, n_classes)
        Where the view is looked at. The check forms a dense n c x n c matrix: keep it small.

    Raises
    ------
    InputError
        With one sentence that says which law is broken.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt.checks import check_view
    >>> from altopt.views import FeatureView
    >>> check_view(FeatureView(np.array([[0.9, 0.1], [0.5, 0.5]])), np.zeros((2, 2)))
    """
    require(isinstance(view, View), view, "it is not a subclass of altopt.views.View")
    for attribute in ("name", "quadratic"):
        require(hasattr(view, attribute), view, f"the class attribute {attribute} is missing")
    require(view.name in ("features", "graph", "labels"), view, "name must be features, graph or labels")
    check_residual(view, F)
    H = half_hessian(view, F)
    check_curvature(view, F, H)
    if view.quadratic:
        check_quadratic(view, F, H)
        check_coupling(view, F)
    check_pull(view, F)
    check_squared(view, F)
    zero = view.distance(F) == 0.0 and not view.residual(F).any()
    require(zero or not view.zero, view, "zero is True, but distance or residual is not 0")


def check_residual(view: View, F: Array) -> None:
    start = F.copy()
    residual = view.residual(F)
    require((start == F).all(), view, "residual writes to F")
    finite = residual.shape == F.shape and np.isfinite(residual).all()
    require(finite, view, "residual is not finite, n x c")
    gradient = half_gradient(view, F)
    slack = 1e-5 * (1.0 + float(np.abs(gradient).max()))
    same = np.allclose(residual, gradient, atol=slack)
    require(same, view, "residual is not half the gradient of distance")


def check_curvature(view: View, F: Array, H: Array) -> None:
    n, c = F.shape
    lower, upper, step_scale = (np.repeat(np.broadcast_to(bound, n), c) for bound in view.curvature())
    slack, symmetric = slack_of(H), (H + H.T) / 2
    least = np.linalg.eigvalsh(symmetric - np.diag(lower)).min()
    require(least > -slack, view, f"half the Hessian falls below diag(lower) by {-least:.2g}")
    most = np.linalg.eigvalsh(symmetric - np.diag(upper)).max()
    require(most < slack, view, f"half the Hessian passes diag(upper) by {most:.2g}")
    safe = (step_scale >= upper / 2 - slack).all()
    require(safe, view, "step_scale is below upper / 2: a step could raise the distance")


def check_quadratic(view: View, F: Array, H: Array) -> None:
    matrix = view.half_hessian()
    require(sp.issparse(matrix), view, "half_hessian is not a scipy sparse matrix")
    every_column = np.kron(matrix.toarray(), np.eye(F.shape[1]))
    same = np.allclose(every_column, H, atol=10 * slack_of(H))
    require(same, view, "half_hessian is not residual's derivative")
    moved = view.residual(F) - view.residual(np.zeros_like(F))
    affine = np.allclose(moved, matrix @ F, atol=EXACT * (1.0 + float(np.abs(moved).max())))
    require(affine, view, "quadratic is True, but residual is not affine in F")


def check_coupling(view: View, F: Array) -> None:
    coupling = view.coupling()
    if coupling is not None:
        difference = np.eye(len(F)) - coupling.as_dense() - view.half_hessian().toarray()
        require(np.allclose(difference, 0.0, atol=EXACT), view, "half_hessian is not I - coupling()")


def check_pull(view: View, F: Array) -> None:
    pull = view.pull()
    if pull is None:
        return
    require(view.quadratic, view, "a view with a pull() must be quadratic")
    at_zero = -view.residual(np.zeros_like(F))
    same = np.allclose(dense_rows(pull.nodes, pull.rows, F.shape), at_zero, atol=EXACT)
    require(same, view, "pull() is not minus residual at F = 0")
    diagonal = np.diag(np.broadcast_to(view.curvature().lower, len(F)))
    same = np.allclose(view.half_hessian().toarray(), diagonal, atol=EXACT)
    require(same, view, "a view with a pull() must have half_hessian = diag(lower)")


def check_squared(view: View, F: Array) -> None:
    if not view.squared:
        return
    pull = view.pull()
    require(pull is not None, view, "a squared view needs a pull()")
    if pull is not None:
        target = dense_rows(pull.nodes, pull.rows, F.shape)
        nodes = slice(None) if pull.nodes is None else pull.nodes
        square = float(np.sum((F[nodes] - target[nodes]) ** 2))
        require(
            np.isclose(view.distance(F), square), view, "squared is True, but distance is not ||F - T||^2"
        )


def dense_rows(nodes: Array | None, rows: Array, shape: tuple[int, ...]) -> Array:
    """An array of this shape with `rows` at `nodes` (all nodes where None), zero elsewhere."""
    out = np.zeros(shape)
    out[slice(None) if nodes is None else nodes] = rows
    return out


def slack_of(H: Array) -> float:
    """How far differences may be from the truth."""
    return 1e-6 * (1.0 + float(np.abs(H).max()))


def half_gradient(view: View, F: Array) -> Array:
    """Half the gradient of `distance` at F, by differences."""
    slope = np.empty_like(F)
    for place in np.ndindex(F.shape):
        up, down = F.copy(), F.copy()
        up[place] += DIFFERENCE
        down[place] -= DIFFERENCE
        slope[place] = (view.distance(up) - view.distance(down)) / (2 * DIFFERENCE)
    return slope / 2


def half_hessian(view: View, F: Array) -> Array:
    """The derivative of `residual` at F by differences, n c x n c; F[i, k] is number i c + k."""
    H = np.empty((F.size, F.size))
    for column, place in enumerate(np.ndindex(F.shape)):
        up, down = F.copy(), F.copy()
        up[place] += DIFFERENCE
        down[place] -= DIFFERENCE
        H[:, column] = (view.residual(up) - view.residual(down)).ravel() / (2 * DIFFERENCE)
    return H
