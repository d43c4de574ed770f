"""scikit-learn's handwritten digits, which come without a graph."""

import numpy as np

from altopt.datasets.dataset import Dataset


def digits() -> Dataset:
    """1,797 images of handwritten digits, 8 x 8 grey values each; a `Dataset` without a graph.

    >>> digits().y[:4].tolist()
    [0, 1, 2, 3]
    """
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    note = "Handwritten digits that come with scikit-learn; no graph, so AltOpt builds the k-NN graph of X."
    return Dataset("digits", X.astype(np.float32), y, None, None, note)
