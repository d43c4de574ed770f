"""A matrix, dense or sparse, as named arrays that can be stored, and back."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array


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
    data, indices, indptr = (arrays[f"{name}.{key}"] for key in ("data", "indices", "indptr"))
    return sp.csr_array((data, indices, indptr), shape=tuple(arrays[f"{name}.shape"].tolist()))


def with_prefix(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    """Those whose names begin with `prefix`, under the rest of their names."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
