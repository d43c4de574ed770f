"""How held-out labels are read: folds that lack a class, and what the labels of a fold are worth."""

import numpy as np

from altopt.selection.calibration import TemperedShares
from altopt.selection.held_out import HeldOut, judge


def where_nothing_can_be_learnt(counts, n_rest=400):
    """Labels and scores of fits that know the class shares of their labels alone: those without a fold have fewer of
    one class."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], counts)
    fold = codes.copy()
    fold[[0, -1]] = 1, 0

    def by_shares(k, n):
        left = np.bincount(codes[fold != k], minlength=2)
        return left / left.sum() + rng.normal(0, 0.002, (n, 1)) * [1, -1]

    scores = np.stack([by_shares(k, 1)[0] for k in fold])
    both = np.bincount(codes) / len(codes)
    return HeldOut(
        codes=codes,
        fold=fold,
        scores=scores,
        counts=np.bincount(codes),
        n_rest=n_rest,
        rest=both + rng.normal(0, 0.002, (n_rest, 1)) * [1, -1],
        rest_by_folds=[by_shares(k, n_rest) for k in range(2)],
        rest_kinds=np.zeros(n_rest),
        isolated=np.zeros(len(codes), bool),
        rate_of_features=None,
        class_prior=None,
        classes=np.array(["a", "b"]),
        seed=0,
    )


def test_a_fold_that_lacks_labels_of_a_class_is_not_wrong_on_that_class_for_it():
    held = where_nothing_can_be_learnt((5, 5))
    assert np.mean(held.scores.argmax(axis=1) == held.codes) <= 0.2
    assert 0.3 < judge(held).accuracy.rate < 0.7


def test_scores_of_labels_drawn_at_random_are_read_as_they_are():
    held = where_nothing_can_be_learnt((30, 10))
    assert held.read_with(TemperedShares(1.0)).scores is held.scores
