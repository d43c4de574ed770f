"""Kernels over rows: softmax with certainty, softmax regression, the most certain nodes of each class."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, allocate, certainty, shares, softmax
from altopt.operator.kernels import reference
from altopt.operator.kernels.dispatch import native
from altopt.operator.kernels.product import step
from altopt.threads import kernel_threads

MULTITHREAD_MIN_SIZE = 100_000  # numbers below which one thread is done before others have woken up


class SoftmaxRows(NamedTuple):
    """Rows turned into class distributions."""

    S: Array  # n x c; empty where it was not kept
    w: Array  # certainty of each row
    label: Array  # column of each row's largest entry


def softmax_rows(F: Array, temperature: float, *, of_shares: bool, keep: bool = True) -> SoftmaxRows:
    """S = softmax(F / temperature) by rows, its certainty and its largest column in one pass.

    Parameters
    ----------
    F : array of shape (n, c)
        Scores.
    temperature : float
        Divides F before the softmax.
    of_shares : bool
        Whether F's rows are first divided by their sums.
    keep : bool
        Whether S is kept; False leaves it empty and saves its memory.

    Examples
    --------
    >>> S, w, label = softmax_rows(np.array([[0.0, 0.0], [0.0, 50.0]]), 1.0, of_shares=False)
    >>> S.round(6).tolist(), w.round(6).tolist(), label.tolist()
    ([[0.5, 0.5], [0.0, 1.0]], [0.0, 1.0], [0, 1])
    """
    compiled = native()
    if compiled is None or F.dtype not in (np.float32, np.float64):
        S = softmax(shares(F) if of_shares else F, temperature)
        return SoftmaxRows(S, certainty(S), S.argmax(axis=1).astype(np.int32))
    F = np.ascontiguousarray(F)
    kept = allocate(F.shape, F.dtype) if keep else None
    w, label = np.empty(len(F)), np.empty(len(F), dtype=np.int32)
    compiled.softmax_rows(F, kept, w, label, temperature, of_shares, threads_for_size(F.size))
    return SoftmaxRows(np.empty((0, F.shape[1])) if kept is None else kept, w, label)


def cross_entropy(x: Array, targets: Array) -> tuple[float, Array]:
    """Cross entropy of soft targets at logits x, and its gradient in x, which may overwrite x."""
    compiled = native()
    if compiled is None:
        return reference.cross_entropy(x, targets)
    return float(compiled.cross_entropy(x, targets, kernel_threads())), x


def softmax_regression(
    X: Any, W: Array, b: Array, targets: Array, X_transposed: Any = None
) -> tuple[float, Array, Array]:
    """Cross entropy of soft targets at logits X W' + b (W: one row a class), and its gradients in W and b, in float64.

    The compiled kernel reads X once, where X has long rows and there are few classes. Else there are two products
    with X; a sparse X is multiplied faster with its transpose, in CSR form too, at hand.
    """
    compiled = native()
    if compiled is not None and fits_in_one_pass(X, len(W)):
        gradient_W, gradient_b = np.empty(W.shape), np.empty(b.shape)
        W, b = W.astype(np.float32), b.astype(np.float32)
        n_threads = threads_for_size(X.size)
        value = compiled.softmax_regression(X, W, b, targets, gradient_W, gradient_b, n_threads)
        return float(value), gradient_W, gradient_b
    logits = np.asarray(product(X, W.T.astype(X.dtype)), dtype=np.float32)
    logits += b.astype(np.float32)
    value, gradient = cross_entropy(logits, targets)
    back = X.T if X_transposed is None else X_transposed
    gradient_W = np.asarray(product(back, gradient.astype(X.dtype, copy=False)), dtype=np.float64).T
    return value, gradient_W, gradient.sum(axis=0, dtype=np.float64)


def product(X: Any, block: Array) -> Array:
    """X times a block of the same type, by the compiled kernel where X is a CSR matrix."""
    return step(X, block) if sp.issparse(X) and X.format == "csr" else np.asarray(X @ block)


def fits_in_one_pass(X: Any, n_classes: int) -> bool:
    """Whether X is dense and its rows so long that one pass over X is faster than two BLAS products."""
    dense = isinstance(X, np.ndarray) and X.dtype == np.float32 and X.flags.c_contiguous
    return dense and X.shape[1] >= 16 * n_classes


def most_certain_per_class(w: Array, label: Array, candidates: Array, n_classes: int, n_most: int) -> Array:
    """The `n_most` candidates of highest w for each label, as sorted node numbers; ties go to the lower number.

    >>> w, label = np.array([0.9, 0.2, 0.5, 0.5]), np.array([0, 0, 1, 1])
    >>> most_certain_per_class(w, label, np.ones(4, dtype=bool), 2, 1)
    array([0, 2])
    """
    compiled = native()
    if compiled is None:
        return reference.most_certain_per_class(w, label, candidates, n_most)
    out = np.empty(min(len(w), n_classes * n_most), dtype=np.int64)
    n = compiled.most_certain_per_class(
        np.ascontiguousarray(w, dtype=np.float64),
        np.ascontiguousarray(label, dtype=np.int32),
        np.ascontiguousarray(candidates),
        n_classes,
        n_most,
        out,
    )
    return out[:n]


def threads_for_size(size: int) -> int:
    return kernel_threads() if size > MULTITHREAD_MIN_SIZE else 1
