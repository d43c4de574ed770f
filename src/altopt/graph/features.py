"""X: read in any form, checked once."""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_feature_names, validate_data

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError, InputTypeError
from altopt.graph import tables
from altopt.graph.ids import comes_from
from altopt.graph.matrices import checked_csr


def read_features(
    estimator: BaseEstimator, X: Any, *, reset: bool, missing: bool, by_name: bool = True
) -> tuple[Any, Any]:
    """X as a finite float matrix with the columns of the fit, and the ids that its rows carry or None.

    With `reset` the estimator records the columns; otherwise their number is compared, and with `by_name` their names.
    NaN stays where it may be `missing`.
    """
    with _in_words():
        if by_name:
            _check_feature_names(estimator, X, reset=reset)
        X, row_ids = read_X(X)
        return check_features(estimator, X, reset, missing), row_ids


@contextmanager
def _in_words() -> Iterator[None]:
    """Errors of numpy and scikit-learn about X as InputError."""
    try:
        with np.errstate(all="ignore"):  # what does not fit float64 is found and named
            yield
    except InputError:
        raise
    except (ValueError, OverflowError) as error:
        raise InputError(_sentence(error)) from error
    except TypeError as error:  # a TypeError still, as scikit-learn's callers expect
        raise InputTypeError(_sentence(error)) from error


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"X cannot be read: {text if len(text) < 400 else text[:400] + ' ...'}"


def read_X(X: Any) -> tuple[Any, Any]:
    """X as a dense or CSR array, and the row ids it carries (a DataFrame's own index) or None."""
    row_ids = None
    if comes_from(X, "torch"):
        X = X.detach().cpu()
        X = (
            sp.coo_array((X.coalesce().values().numpy(), X.coalesce().indices().numpy()), X.shape)
            if (X.is_sparse)
            else X.numpy()
        )
    elif tables.is_table(X):
        if comes_from(X, "pandas") and not is_default_index(X.index):
            row_ids = X.index.to_numpy()
        X = numbers_of_table(X)
    if sp.issparse(X):
        return checked_csr(X, "X"), row_ids
    if isinstance(X, np.ndarray):
        return X, row_ids
    return np.asarray(X), row_ids


def is_default_index(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def numbers_of_table(table: Any) -> Array:
    """The columns of a table as a matrix; a column that is not numeric is refused by name."""
    columns = tables.columns(table)
    for name, column in columns.items():
        if column.dtype.kind not in "biuf" and not all(
            isinstance(v, numbers.Real) or v is None for v in column
        ):
            raise InputError(
                f"X's column {name!r} must hold numbers, but holds {column.tolist()[0]!r}. "
                "Encode it (for example one-hot) or drop it."
            )
    return np.column_stack([column.astype(np.float64) for column in columns.values()])


def require_finite(X: Any, missing: bool = False) -> None:
    """Refuse infinity in X, and NaN unless `missing` values are allowed, naming the first entry."""
    valid = not_infinite if missing else np.isfinite
    if sp.issparse(X):
        bad = np.flatnonzero(~valid(X.data))
        if len(bad):
            row = int(np.searchsorted(X.indptr, bad[0], side="right") - 1)
            raise InputError(bad_number(X.data[bad[0]], row, int(X.indices[bad[0]])))
        return
    if X.dtype.kind not in "fc":
        return
    for rows in row_blocks(X.shape[0]):
        block = np.asarray(X[rows])
        if not np.isfinite(block.sum(dtype=np.float64)):
            where = np.argwhere(~valid(block))
            if len(where):
                row, column = where[0]
                raise InputError(bad_number(block[row, column], rows.start + int(row), int(column)))


def check_features(estimator: BaseEstimator, X: Any, reset: bool, missing: bool) -> Any:
    """X as a finite float matrix with as many columns as at the fit; NaN stays where it may be `missing`.

    With `reset` the estimator records the number of columns. A memory map is left on disk.
    """
    if X.ndim != 2:
        raise InputError(
            f"X must have rows (nodes) and columns (features), but its shape is {X.shape}: Expected 2D array, got "
            f"{X.ndim}D array instead. Reshape your data: X.reshape(-1, 1) is a single feature, X.reshape(1, -1) a "
            "single node."
        )
    if not reset and X.shape[1] != estimator.n_features_in_:
        raise InputError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input: as many columns as at the fit."
        )
    if X.dtype.kind == "c":
        raise InputError(f"X must hold real numbers, but holds {X.dtype}. Complex data not supported.")
    if isinstance(X, np.memmap) and X.size and X.dtype.kind == "f":
        if reset:
            estimator.n_features_in_ = X.shape[1]
    else:
        if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
            require_finite(X, missing)
        X = validate_data(
            estimator,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            reset=reset,
            skip_check_array=False,
            ensure_all_finite="allow-nan" if missing else True,
        )
    # entries that a sparse X does not store are zero, not missing
    require_finite(X, missing and not sp.issparse(X))
    return X


def not_infinite(values: Array) -> Array:
    return ~np.isinf(values)


def bad_number(value: Any, row: int, column: int) -> str:
    number = "NaN" if np.isnan(value) else "inf"
    return (
        f"X must hold finite numbers, but has {number} in row {row}, column {column}. "
        "Fill in NaN and inf before fitting (0 carries no information), or give X as a table (pandas, polars or "
        "pyarrow), whose missing values are filled in; NaN may stay where the encoder takes it, such as "
        "HistGradientBoostingClassifier with RawInputs."
    )
