"""Class priors of the whole graph, estimated from F, and column factors of F under which its labels follow them.

A class with wide features or a badly labelled region gets too many nodes or too few. Rows of F read as probabilities
say how many there should be: EM over the class priors (label shift, Saerens et al., 2002), regularised towards the
class shares of F's largest entries. The given labels cannot say it: they are often balanced by design.

The priors are estimated once, from the first F, whose encoder learned from the given labels alone. A later F follows
the priors that its pseudo labels kept to; estimated again it would confirm itself, and large classes would swallow
small ones.
"""

import numpy as np

from altopt.arrays import Array, shares, softmax
from altopt.defaults import DEFAULTS, Defaults

# twice as many steps of expectation and maximisation or bisections, or twice the largest factor by which these lower a
# temperature, change no label; nor does what tells a row from a uniform one, just above rounding
EM_STEPS, HALVINGS, SHARPEST, INFORMATIVE = 20, 12, 100.0, 1.001


def prior_trust(n_labels: int, n_classes: int, defaults: Defaults = DEFAULTS) -> float:
    """Weight of the estimated priors against the shares of F's largest entries; small with few labels."""
    share = min(1.0, n_labels / (defaults.prior_labels * n_classes))
    return float(share**defaults.prior_trust_exponent)


def estimate_priors(
    F: Array, temperature: float, label_shares: Array, defaults: Defaults = DEFAULTS
) -> Array:
    """Class priors of all nodes by rows of an F fitted to labels with these class shares."""
    S = informative_rows(F)
    if not len(S):
        return np.full(F.shape[1], 1.0 / F.shape[1])
    T = sharpened_temperature(S, temperature, defaults)
    return em_priors(S, T, defaults.prior_strength, label_shares)


def prior_factors(F: Array, priors: Array, trust: float, defaults: Defaults = DEFAULTS) -> Array:
    """Column factors of F under which classes have their prior share of the nodes, as far as priors are trusted."""
    S = informative_rows(F)
    if not len(S):
        return np.ones(F.shape[1], dtype=F.dtype)
    target = trust * priors + (1.0 - trust) * predicted_shares(S)
    return column_factors(S, target, defaults).astype(F.dtype)


def informative_rows(F: Array) -> Array:
    """Shares of rows, without uniform ones."""
    S = shares(F)
    return np.asarray(S[S.max(axis=1) > INFORMATIVE / F.shape[1]])


def em_priors(
    S: Array,
    temperature: float,
    strength: float,
    label_shares: Array,
    n_steps: int = EM_STEPS,
) -> Array:
    """The class priors that maximise the likelihood of rows read as posteriors softmax(S / temperature).

    Those posteriors hold under the class shares of the labels, which are divided out first. `strength` is the weight
    of the shares of largest entries, against 1 for all rows together.
    """
    likelihood = softmax(S, temperature) / np.maximum(label_shares, 1e-6)
    priors = first = predicted_shares(S)
    for _ in range(n_steps):
        posterior = likelihood * np.maximum(priors, 1e-6)
        priors = np.mean(posterior / posterior.sum(axis=1, keepdims=True), axis=0)
        priors = (priors + strength * first) / (1 + strength)
    return np.asarray(priors)


def sharpened_temperature(S: Array, temperature: float, defaults: Defaults = DEFAULTS) -> float:
    """The temperature, or a lower one at which the mean confidence of softmax(S / T) is `prior_confidence`.

    From vague rows EM finds extreme priors, one class with nearly all nodes. Sharper rows keep close to the shares of
    their largest entries.
    """

    def confident(T: float) -> bool:
        return bool(softmax(S, T).max(axis=1).mean() >= defaults.prior_confidence)

    if confident(temperature):
        return temperature
    low, high = temperature / SHARPEST, temperature
    for _ in range(HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if confident(middle) else (low, middle)
    return low


def column_factors(S: Array, target: Array, defaults: Defaults = DEFAULTS) -> Array:
    """Factors of the columns of S under which its largest entries fall on the classes in the target shares.

    Factors are bounded by `prior_max_factor` and its inverse; a class's first step is half of that, in logarithms, and
    each halves when its direction turns.
    """
    log_w, direction = np.zeros(len(target)), np.zeros(len(target))
    bound = np.log(defaults.prior_max_factor)
    step = np.full(len(target), bound / 2)
    for _ in range(defaults.prior_factor_steps):
        gap = target - predicted_shares(S * np.exp(log_w))
        turned = np.where(np.abs(gap) * len(S) < 1, 0.0, np.sign(gap))
        step = np.where(turned * direction < 0, step / 2, step)
        direction = turned
        log_w += step * direction
        log_w = np.clip(log_w - log_w.mean(), -bound, bound)
    return np.exp(log_w)


def validation_weights(
    classes: Array, predicted: Array, counts: Array, defaults: Defaults = DEFAULTS
) -> Array | None:
    """Weights of the validation nodes, of true `classes` and `predicted` ones; `counts` of all nodes' predictions.

    If every class has equally many, the set was stratified by design, and nodes are reweighted to the estimated class
    priors; otherwise None (all weigh the same).
    """
    per_class = np.bincount(classes, minlength=len(counts))
    if per_class.min() < per_class.max():
        return None
    priors = priors_from_confusion(
        classes, predicted, counts, defaults.confusion_count, defaults.confusion_steps
    )
    return class_weights(classes, priors)


def priors_from_confusion(
    classes: Array,
    predicted: Array,
    counts: Array,
    pseudo_count: float = DEFAULTS.confusion_count,
    n_steps: int = DEFAULTS.confusion_steps,
) -> Array:
    """Class priors of the whole graph, estimated from validation nodes that were sampled equally per class.

    EM for label shift (Saerens et al., 2002): `classes` are their true classes, `predicted` their predictions,
    `counts` how often each class is predicted on all nodes. Using `counts` directly would reward a model that predicts
    one class for everything. A few steps from uniform priors, so that what the data cannot tell stays uniform.
    """
    C = np.full((len(counts), len(counts)), pseudo_count)
    np.add.at(C, (classes, predicted), 1.0)
    C /= C.sum(axis=1, keepdims=True)
    priors = np.full(len(counts), 1.0 / len(counts))
    for _ in range(n_steps):
        priors *= C @ (counts / counts.sum() / (priors @ C))
    return np.asarray(priors)


def class_weights(codes: Array, priors: Array) -> Array:
    """A weight for each node, so that classes weigh as their priors; the mean is 1.

    >>> class_weights(np.array([0, 0, 1, 1]), np.array([0.75, 0.25])).tolist()
    [1.5, 1.5, 0.5, 0.5]
    """
    counts = np.bincount(codes, minlength=len(priors)).astype(float)
    share = np.where(counts > 0, priors, 0.0)
    weights = (share / np.maximum(share.sum(), 1e-12) / np.maximum(counts, 1.0))[codes]
    return np.asarray(weights * len(codes))


def predicted_counts(S: Array) -> Array:
    """The number of rows whose largest entry is in each column."""
    return np.bincount(S.argmax(axis=1), minlength=S.shape[1])


def predicted_shares(S: Array) -> Array:
    """The share of rows whose largest entry is in each column."""
    return predicted_counts(S) / len(S)
