"""What each labelled node would be called without its own label: exact for F, unbiased for the encoder."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from altopt.arrays import Array, shares, working_dtype
from altopt.defaults import DEFAULTS, Defaults
from altopt.drawing.charts import Series, bars, interval
from altopt.drawing.html import Html, element, join
from altopt.selection.estimate import is_wide
from altopt.selection.held_out import Verdict
from altopt.solvers import ConjugateGradient
from altopt.views import Objective

UNIT_BLOCK_SIZE = 2**22  # numbers in a block of unit vectors that are solved for together, which are 8 to 64
LEAST_SHARE = 1e-3  # of a class, added to its share of F, which may be zero
MAX_BARS = 30  # classes that are drawn
# why there is no LeaveOneOut; the name of the attribute or method that was asked for comes first
NOT_HELD_BACK = (
    "needs held-out labels, and this fit held none out. Fit with cross_fit=True and the squared feature and "
    "label views."
)
OUT_OF_DATE = "is out of date: the model was updated after fitting. Call fit() again."


class Margins(NamedTuple):
    """Labelled nodes, their labels, and the predictions from all other evidence.

    Parameters
    ----------
    nodes : array
        Ids.
    given, predictions : array
        Labels.
    margin : array of float
        How well the given class stands: by `margins`, or, where labels are ranked, by `log_support`.

    Examples
    --------
    >>> labels = Margins(np.array([4, 7]), np.array(["a", "b"]), np.array(["a", "a"]), np.array([0.5, -0.2]))
    >>> labels.subset(labels.margin < 0).nodes.tolist()
    [7]
    """

    nodes: Array
    given: Array
    predictions: Array
    margin: Array

    def subset(self, mask: Array) -> "Margins":
        return Margins(*(column[mask] for column in self))


@dataclass(frozen=True, repr=False)
class LeaveOneOut:
    """Leave-one-out results of a fit: one entry for each evaluated label, above 2,000 labels a sample of them.

    F of a node without its own label is exact for the encoder output that was used,

        F_i^(-i) = (F_i - lambda2 g_ii y_i) / (1 - lambda2 g_ii),        G = H^-1

    and that output comes from an encoder that never saw the labels of the node's fold.

    Parameters
    ----------
    evaluated : Margins
        The evaluated labels.
    scores : array (n_evaluated, n_classes)
        F without the own label.
    accuracy : float
        On the unlabelled nodes, estimated from these predictions: weighted as the labels were drawn, less what
        the choice among candidates flatters, and with what the labels of a fold are worth.
    interval : (float, float)
        A 95 % interval of that accuracy.
    calibration_error : float
        Expected calibration error of the probabilities at the fitted temperature.
    all_labelled : Margins
        All labelled nodes, those beyond the sample with g_ii approximated; the margin is `log_support`.
    draw : str
        How the labels are taken to have been drawn, and what class shares were assumed.
    auc, auc_interval : float, (float, float)
        ROC AUC, the mean over classes against the rest; NaN below three labels of a class.
    average_precision, average_precision_interval : float, (float, float)
        The same for the average precision.
    probabilities, weights : array (n_evaluated, n_classes), (n_evaluated,)
        Class probabilities without the own label, and how much each label counts in the estimates.
    variance_factor : float
        By how much the variance of a rate of these labels exceeds that of independent draws.
    recall : dict {class: (value, low, high)}
        The share of each class's labels that was predicted, with its limits; NaN where none could be held out.

    Attributes
    ----------
    nodes, given, predictions, margin : array (n_evaluated,)
        Columns of `evaluated`: ids, given labels, predicted labels, and the share of the given class minus the largest
        other; below zero, the rest of the evidence contradicts the label.

    Examples
    --------
    >>> labels = Margins(np.array([4, 7]), np.array(["a", "b"]), np.array(["a", "a"]), np.array([0.5, -0.2]))
    >>> result = LeaveOneOut(labels, np.eye(2), 0.5, (0.1, 0.9), 0.1, labels)
    >>> result.margin.tolist()
    [0.5, -0.2]
    >>> result.suspicious()
    [(7, 'b', 'a', -0.2)]
    """

    evaluated: Margins
    scores: Array
    accuracy: float
    interval: tuple[float, float]
    calibration_error: float
    all_labelled: Margins
    draw: str = ""
    auc: float = float("nan")
    auc_interval: tuple[float, float] = (0.0, 1.0)
    average_precision: float = float("nan")
    average_precision_interval: tuple[float, float] = (0.0, 1.0)
    recall: dict[Any, tuple[float, float, float]] = field(default_factory=dict)
    probabilities: Array = field(default_factory=lambda: np.empty((0, 0)))
    weights: Array = field(default_factory=lambda: np.empty(0))
    variance_factor: float = 1.0

    @property
    def nodes(self) -> Array:
        return self.evaluated.nodes

    @property
    def given(self) -> Array:
        return self.evaluated.given

    @property
    def predictions(self) -> Array:
        return self.evaluated.predictions

    @property
    def margin(self) -> Array:
        return self.evaluated.margin

    def __repr__(self) -> str:
        low, high = self.interval
        between = f"interval=({low:.3f}, {high:.3f})"
        return f"LeaveOneOut(accuracy={self.accuracy:.3f}, {between}, {len(self.nodes):,} labels)"

    def __str__(self) -> str:
        return self.in_words()

    def _repr_html_(self) -> Html:
        known = [(name, found[0]) for name, found in self.recall.items() if not np.isnan(found[0])][:MAX_BARS]
        if np.isnan(self.accuracy):
            return element("p", self.in_words())
        label = "The share of each class's held-out labels that was predicted correctly."
        values = Series("found", [value for _, value in known])
        return join(
            element("p", self.in_words()),
            interval(self.accuracy, self.interval, self.in_words()),
            bars([name for name, _ in known], [values], label) if known else None,
        )

    def in_words(self) -> str:
        """The accuracy as a sentence, its interval first where a single number would say too much.

        >>> nothing = Margins(np.array([]), np.array([]), np.array([]), np.array([]))
        >>> LeaveOneOut(nothing, np.eye(2), 0.82, (0.75, 0.88), 0.1, nothing).in_words()
        'About 82 of 100 unlabelled nodes are right (95 % interval: 75 to 88).'
        """
        low, high = (f"{100 * limit:.0f}" for limit in self.interval)
        if np.isnan(self.accuracy):
            return "No label could be held out, so the accuracy is not known."
        if is_wide(self.interval):
            return f"Between {low} and {high} of 100 unlabelled nodes are right: so few labels cannot tell closer."
        return f"About {100 * self.accuracy:.0f} of 100 unlabelled nodes are right (95 % interval: {low} to {high})."

    def suspicious(self, outvoted: bool = True) -> list[tuple[Any, Any, Any, float]]:
        """(node, given, suggested, margin) of labels that are outvoted, or of all, the most suspicious first."""
        labels = self.all_labelled
        if outvoted:
            labels = labels.subset(labels.given != labels.predictions)
        order = np.argsort(labels.margin, kind="stable")
        return list(zip(*(column[order].tolist() for column in labels)))


def concluded(
    verdict: Verdict, scores: Array, exact: Array, ids: Array, codes: Array, classes: Array
) -> LeaveOneOut:
    """The result for evaluated nodes of these ids and classes; `scores` is F without the own label."""
    support = log_support(shares(scores), codes)
    all_labelled = Margins(ids, classes[codes], classes[scores.argmax(axis=1)], support)
    margin = margins(shares(scores[exact]), codes[exact])
    evaluated = all_labelled.subset(exact)._replace(predictions=classes[verdict.predicted], margin=margin)
    return LeaveOneOut(
        evaluated=evaluated,
        scores=scores[exact],
        accuracy=verdict.accuracy.value,
        interval=verdict.accuracy.interval,
        calibration_error=verdict.calibration_error,
        all_labelled=all_labelled,
        draw=verdict.draw.sentence,
        auc=verdict.auc.value,
        auc_interval=verdict.auc.interval,
        average_precision=verdict.average_precision.value,
        average_precision_interval=verdict.average_precision.interval,
        recall=dict(zip(classes.tolist(), verdict.recall)),
        probabilities=verdict.probabilities,
        weights=verdict.weights,
        variance_factor=verdict.variance_factor,
    )


def empty_leave_one_out(ids: Array, classes: Array) -> LeaveOneOut:
    """The result where no label can be held out: nothing is known."""
    labels = classes[:0]
    nothing = Margins(ids[:0], labels, labels, np.empty(0))
    return LeaveOneOut(
        evaluated=nothing,
        scores=np.empty((0, len(classes))),
        accuracy=float("nan"),
        interval=(0.0, 1.0),
        calibration_error=float("nan"),
        all_labelled=nothing,
    )


def exact_sample(key: Array, n_nodes: int, seed: int, defaults: Defaults = DEFAULTS) -> Array:
    """Which of the labels are evaluated exactly, as a mask: all, or a seeded sample in the order of their keys."""
    n_labels = len(key)
    n_exact = max(defaults.exact_min, min(defaults.exact_labels, int(defaults.exact_work / n_nodes)))
    mask = np.ones(n_labels, dtype=bool)
    if n_labels > n_exact:
        mask[:] = False
        drawn = np.random.default_rng(seed).choice(n_labels, n_exact, replace=False)
        mask[np.argsort(key, kind="stable")[drawn]] = True
    return mask


def solved_inverse_diagonal(
    objective: Callable[[Array], Objective],
    nodes: Array,
    n_nodes: int,
    dtype: Any,
    rtol: float = DEFAULTS.exact_rtol,
    step: Callable[[int, Callable[[], Array]], Array] = lambda first, solve: solve(),
) -> Array:
    """g_ii of G = H^-1 for each of the nodes, from block solves H G = E, E unit vectors.

    `objective` makes the sum of the views for a right-hand side: lambda1 P + lambda2 M Y = E. `step` is given the
    first label of each block and what solves for it. Conjugate gradients that start at zero find g_ii to the square of
    their error in F.
    """
    g, width = np.empty(len(nodes)), block_width(n_nodes)

    def solve(block: Array) -> Array:
        E = np.zeros((n_nodes, len(block)), dtype=dtype)
        E[block, np.arange(len(block))] = 1.0
        G = ConjugateGradient(rtol=rtol).solve(objective(E), np.zeros_like(E)).F
        return np.asarray(G[block, np.arange(len(block))])

    for first in range(0, len(nodes), width):
        g[first : first + width] = step(first, partial(solve, nodes[first : first + width]))
    return g


def block_width(n_nodes: int) -> int:
    """How many unit vectors are solved for together."""
    return int(min(64, max(8, UNIT_BLOCK_SIZE // n_nodes)))


def unit_block_bytes(n_nodes: int, n_classes: int, defaults: Defaults = DEFAULTS) -> float:
    """Bytes of the blocks of unit vectors that conjugate gradients keep at once.

    Five in F's precision where the views fuse. Where candidates are compared, one of them has no graph view and is
    solved view by view: two in F's precision and eight in float64.
    """
    itemsize = working_dtype(n_nodes, n_classes).itemsize
    compared = n_nodes * n_classes < defaults.large
    return float(n_nodes * block_width(n_nodes) * (2 * itemsize + 8 * 8 if compared else 5 * itemsize))


def series_diagonal(objective: Objective, nodes: Array, n_nodes: int) -> tuple[Array, Array]:
    """g_ii by the Neumann series up to walks of length two, and a bound on its relative error.

    With H = diag(d) - c A_tilde, S = c diag(d)^-1/2 A_tilde diag(d)^-1/2 and its spectrum in [-rho, rho]:

        g_ii = (1 + (S^2)_ii + ...) / d_i,      the rest at most  (S^2)_ii rho / (1 - rho),      rho = c / min(d)

    Without a graph view H is diagonal and g_ii = 1 / d_i. NaN and inf where the views have no such system.
    """
    bounds = objective.curvature(n_nodes)
    if objective.quadratic and np.array_equal(bounds.lower, bounds.upper):
        return 1.0 / np.asarray(bounds.lower)[nodes], np.zeros(len(nodes))
    system = objective.system(n_nodes)
    if system is None:
        return np.full(len(nodes), np.nan), np.full(len(nodes), np.inf)
    d, c, A = system.diagonal, system.coupling, system.A_tilde
    # a_ij^2 = A_ij^2 / (degree_i degree_j): A_tilde itself would take much memory
    inverse = np.zeros_like(A.degrees)
    np.divide(1.0, A.degrees, out=inverse, where=A.degrees > 0)
    squares = inverse[nodes] * (A.adjacency[nodes].power(2) @ (inverse / d))
    returning, rho = c**2 * squares / d[nodes], c / float(np.min(d))
    error = returning * rho / (1.0 - rho) if rho < 1.0 else np.full(len(nodes), np.inf)
    return np.asarray((1.0 + returning) / d[nodes]), error


def without_own_label(F: Array, Y: Array, g: Array, label_weight: float) -> Array:
    """F_i^(-i) = (F_i - lambda2 g_ii y_i) / (1 - lambda2 g_ii): row i as a solve without label i would give it."""
    own = (label_weight * g)[:, None]
    return np.asarray((F - own * Y) / (1.0 - own))


def margins(shares: Array, codes: Array) -> Array:
    """Share of the given class minus the largest other.

    >>> margins(np.array([[0.75, 0.25]]), np.array([1])).tolist()
    [-0.5]
    """
    rows = np.arange(len(codes))
    others = shares.copy()
    others[rows, codes] = -np.inf
    return np.asarray(shares[rows, codes] - others.max(axis=1))


def log_support(shares: Array, codes: Array) -> Array:
    """Log of the share of the given class, each class scaled to have on the mean as much as it has labels.

    A wrong label is told by how little is left for it, not by how much another class has: where two classes are often
    taken for each other the other one leads at many right labels too, but the given one still has a part.

    >>> shares, codes = np.array([[0.8, 0.2], [0.6, 0.4], [0.01, 0.99], [0.6, 0.4]]), np.array([0, 0, 0, 1])
    >>> log_support(shares, codes).round(1).tolist()
    [0.2, -0.1, -4.1, -1.6]
    """
    shares = shares + LEAST_SHARE
    scale = np.bincount(codes, minlength=shares.shape[1]) / shares.sum(axis=0)
    return np.asarray(np.log(shares[np.arange(len(codes)), codes] * scale[codes]))
