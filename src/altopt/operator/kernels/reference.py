"""The kernels as readable loops and numpy: the definition of right that every implementation is tested against."""

from typing import Any

import numpy as np

from altopt.arrays import Array


def step(
    matrix: Any, X: Array, scale: Array, diagonal: Array | None = None, rest: Array | None = None
) -> Array:
    """out_i = scale_i * (sum over a row's entries of a_ij X_j) + diagonal_i X_i + rest_i, for a CSR matrix."""
    out = np.zeros((matrix.shape[0], X.shape[1]), dtype=X.dtype)
    for i in range(matrix.shape[0]):
        for entry in range(matrix.indptr[i], matrix.indptr[i + 1]):
            out[i] += matrix.data[entry] * X[matrix.indices[entry]]
        out[i] *= scale[i]
        if diagonal is not None:
            out[i] += diagonal[i] * X[i]
        if rest is not None:
            out[i] += rest[i]
    return out


def most_certain_per_class(w: Array, label: Array, candidates: Array, n_most: int) -> Array:
    """The `n_most` candidates of highest w for each label, as sorted node numbers; ties go to the lower number."""
    nodes = np.flatnonzero(candidates)
    order = np.lexsort((nodes, -w[nodes], label[nodes]))
    by_class = label[nodes][order]
    rank = np.arange(len(order)) - np.searchsorted(by_class, by_class)
    return np.sort(nodes[order[rank < n_most]])


def cross_entropy(x: Array, targets: Array) -> tuple[float, Array]:
    """sum_ik T_ik (log sum_l e^x_il - x_ik) for soft targets T, and its gradient sum(T_i) softmax(x_i) - T_i."""
    shifted = x - x.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=1))
    mass = targets.sum(axis=1)
    value = float(mass @ log_total - np.sum(targets * shifted))
    return value, np.exp(shifted - log_total[:, None]) * mass[:, None] - targets


def softmax_regression(X: Array, W: Array, b: Array, targets: Array) -> tuple[float, Array, Array]:
    """The cross entropy of soft targets at logits X W' + b (W: one row a class), and its gradients in W and b."""
    value, gradient = cross_entropy(X @ W.T + b, targets)
    return value, gradient.T @ X, gradient.sum(axis=0)


def dropout(x: Array, rate: float, seed: int, counter: int, relu: bool) -> Array:
    """x, or max(x, 0) with `relu`, divided by 1 - rate where random32 >= rate 2^32, else zero. NaN stays NaN."""
    threshold = round(rate * 2**32)
    scale = np.float32(1 / (1 - rate)) if threshold < 2**32 else np.float32(0)
    kept = random32(x.size, seed, counter).reshape(x.shape) >= threshold
    value = np.where(x < 0, np.float32(0), x) if relu else x
    with np.errstate(invalid="ignore", over="ignore"):  # infinity times zero is NaN, in torch too
        return np.asarray(value * np.where(kept, scale, np.float32(0)))


def dropout_backward(out: Array, gradient: Array, rate: float) -> Array:
    """The gradient before ReLU and dropout, from the one after: zero where the output is not positive."""
    scale = np.float32(1 / (1 - rate)) if rate < 1 else np.float32(0)
    return np.where(out <= 0, np.float32(0), gradient * scale)


CHUNK = 16384  # random numbers that share a key


def random32(n: int, seed: int, counter: int) -> Array:
    """n random 32-bit numbers of a seed and a counter; each depends on its position alone (counter-based)."""
    numbers = np.empty(n, dtype=np.uint32)
    stream = key_of(seed, counter)
    for chunk, start in enumerate(range(0, n, CHUNK)):
        key = key_of(stream, chunk)
        i = np.arange(min(CHUNK, n - start), dtype=np.uint32)
        numbers[start : start + CHUNK] = mix32(mix32(i + np.uint32(key % 2**32)) ^ np.uint32(key >> 32))
    return numbers


def key_of(stream: int, n: int) -> int:
    """The n-th key of a stream (SplitMix64)."""
    golden = 0x9E3779B97F4A7C15
    return mix64((mix64((stream + golden) % 2**64) + golden * n) % 2**64)


def mix64(z: int) -> int:
    """A bijection of 64-bit numbers that spreads every bit (SplitMix64's finaliser)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
    return z ^ (z >> 31)


def mix32(h: Array) -> Array:
    """The same for 32-bit numbers."""
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x21F0AAAD)
    h = (h ^ (h >> np.uint32(15))) * np.uint32(0x735A2D97)
    return np.asarray(h ^ (h >> np.uint32(15)))
