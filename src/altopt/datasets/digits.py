"""scikit-learn's handwritten digits, which come without a graph."""

import numpy as np

from altopt.datasets.dataset import Dataset


def digits() -> Dataset:
    """1,797 images of 8 x 8 grey values and the digit each shows."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    note = "Handwritten digits that come with scikit-learn; no graph, so AltOpt builds the k-NN graph of X."
    return Dataset("digits", X.astype(np.float32), y, None, None, note)
