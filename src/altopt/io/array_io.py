"""A matrix, dense or sparse, as named arrays that can be stored, and back."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError

CSR_PARTS = ("data", "indices", "indptr", "shape")
WHOLE = (np.dtype(np.int32), np.dtype(np.int64))


def to_arrays(X: Any, name: str) -> dict[str, Array]:
    if not sp.issparse(X):
        return {name: np.asarray(X)}
    X = sp.csr_array(X)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    return {f"{name}.{key}": value for key, value in parts.items()}


def from_arrays(arrays: dict[str, Array], name: str) -> Any:
    """The inverse of `to_arrays`."""
    if name in arrays:
        return arrays[name]
    data, indices, indptr, shape = (required(arrays, f"{name}.{key}") for key in CSR_PARTS)
    if shape.dtype.kind not in "iu" or shape.shape != (2,):
        raise InputError(f"The stored array {name}.shape is not two whole numbers.")
    return checked_csr(data, indices, indptr, tuple(shape.tolist()), f"The stored matrix {name}")


def required(arrays: dict[str, Array], name: str) -> Array:
    """The array of this name."""
    if name not in arrays:
        raise InputError(f"The stored array {name} is missing.")
    return arrays[name]


def finite(arrays: dict[str, Array], name: str, shape: tuple[int | None, ...]) -> Array:
    """The array of this name, of finite floats; a size that is None may be any."""
    found = required(arrays, name)
    right = found.ndim == len(shape) and all(b in (None, a) for a, b in zip(found.shape, shape))
    if not right or found.dtype not in (np.float32, np.float64) or not np.isfinite(found).all():
        sizes = " x ".join("any" if size is None else f"{size:,}" for size in shape)
        raise InputError(f"The stored array {name} is not {sizes} finite numbers.")
    return found


def rows_of(arrays: dict[str, Array], name: str) -> Array:
    """The array of this name, a matrix of floats as inputs keep them."""
    found = required(arrays, name)
    if found.ndim != 2 or found.dtype not in (np.float16, np.float32):
        raise InputError(f"The stored array {name} is not a matrix of float16 or float32.")
    return found


def checked_csr(
    data: Array, indices: Array, indptr: Array, shape: tuple[int, ...], what: str
) -> sp.csr_array:
    """A matrix whose indices all lie inside it: scipy and compiled code do not look."""
    whole = indices.dtype in WHOLE and indptr.dtype in WHOLE and data.dtype.kind in "biuf"
    flat = data.ndim == indices.ndim == indptr.ndim == 1
    if not whole or not flat or len(shape) != 2 or min(shape) < 0:
        raise InputError(f"{what} is no sparse matrix.")
    fits = len(indptr) == shape[0] + 1 and len(data) == len(indices)
    if not fits or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise InputError(f"{what} has an indptr that does not rise from 0 to its {len(data):,} entries.")
    if len(indices) and (indices.min() < 0 or indices.max() >= shape[1]):
        raise InputError(f"{what} has entries outside of its {shape[1]:,} columns.")
    return sp.csr_array((data, indices, indptr), shape=shape)


def with_prefix(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Those whose names begin with `prefix`, under the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
