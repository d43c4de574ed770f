"""A matrix, dense or sparse, as named arrays that can be stored, and back."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.matrices import csr_of

CSR_PARTS = ("data", "indices", "indptr", "shape")


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
    return csr_of(data, indices, indptr, tuple(shape.tolist()), f"The stored matrix {name}")


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


def rows_of(arrays: dict[str, Array], name: str, width: int) -> Array:
    """The array of this name, a matrix of floats of this width, as inputs keep them."""
    found = required(arrays, name)
    if found.ndim != 2 or found.dtype not in (np.float16, np.float32) or found.shape[1] != width:
        raise InputError(
            f"The stored array {name} is not a matrix of float16 or float32 with {width:,} columns."
        )
    return found


def with_prefix(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Those whose names begin with `prefix`, under the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
