"""X, y and validation labels: read in any form, checked once."""

import numbers
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError
from altopt.graph import Graph, tables
from altopt.graph.ids import comes_from
from altopt.graph.matrices import checked_csr

UNKNOWN = -1


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
    if isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind == "f":
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
        "Fill in NaN and inf before fitting (0 carries no information); NaN may stay where the encoder takes it, "
        "such as HistGradientBoostingClassifier with RawInputs."
    )


def read_y(y: Any, n_rows: int, classes: Any = None) -> tuple[Array, Array]:
    """The classes in order, and each node's class number or -1 where its label is unknown."""
    values = as_column(y)
    if len(values) != n_rows:
        raise InputError(
            f"y has {len(values):,} entries but X has {n_rows:,} rows. Mark unknown labels with -1, None or NaN."
        )
    known = known_labels(values)
    labels = plain_labels(values[known], np.flatnonzero(known))
    if not len(labels):
        raise InputError(
            "y holds no label at all: every entry is -1, None or NaN. Give at least two classes."
        )
    present = np.unique(labels)
    declared = present if classes is None else np.unique(plain_labels(as_column(classes), None))
    if classes is not None:
        comparable = (
            declared.dtype.kind in "US" if present.dtype.kind in "US" else declared.dtype.kind not in "US"
        )
        undeclared = present[~np.isin(present, declared)] if comparable else present
        if len(undeclared):
            raise InputError(
                f"y holds the label {undeclared.tolist()[0]!r}, which classes= does not list. Add it or hide it."
            )
        empty = declared[~np.isin(declared, present)]
        if len(empty):
            listed = ", ".join(repr(c) for c in empty[:5].tolist())
            warnings.warn(
                f"{len(empty)} of the declared classes have no labelled node ({listed}): "
                "nothing can be learned about them.",
                UserWarning,
                stacklevel=4,
            )
    if len(declared) < 2 or len(present) < 2:
        raise InputError(
            f"y must hold at least two classes, but its labelled nodes are all of one class ({present.tolist()[0]!r})."
        )
    codes = np.full(n_rows, UNKNOWN, dtype=np.int64)
    codes[known] = np.searchsorted(declared, labels)
    return declared.astype(object) if wants_objects(values, declared) else declared, codes


def wants_objects(values: Array, classes: Array) -> bool:
    """Strings that came as Python objects go back as Python objects."""
    return values.dtype == object and classes.dtype.kind == "U"


def as_column(y: Any) -> Array:
    """y as a 1-D array whose entries keep their types."""
    if y is None:
        raise InputError(
            "AltOpt requires y to be passed, but the target y is None. Give one label per node, -1 where unknown."
        )
    if comes_from(y, "torch"):
        y = y.detach().cpu().numpy()
    elif comes_from(y, "pyarrow") and hasattr(y, "to_pylist"):
        y = y.to_pylist()
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif isinstance(y, (list, tuple)) and any(isinstance(v, str) or v is None for v in y):
        # numpy would turn ["a", -1] into text
        entries = np.empty(len(y), dtype=object)
        entries[:] = y
        y = entries
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one label per row.",
            DataConversionWarning,
            stacklevel=4,
        )
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"y must be one label per node (1-D), but has shape {values.shape}.")
    return values


def known_labels(values: Array) -> Array:
    """A mask of known labels: False where y is -1, None or NaN, also as text."""
    if values.dtype.kind in "iu":
        return np.asarray(values != UNKNOWN)
    if values.dtype.kind == "f":
        return np.asarray(~np.isnan(values) & (values != UNKNOWN))
    if values.dtype.kind in "US":
        return ~np.isin(values, np.array(["-1", "nan"], dtype=values.dtype.kind))
    if values.dtype == object:
        return np.fromiter((not is_unknown(v) for v in values), dtype=bool, count=len(values))
    return np.ones(len(values), dtype=bool)


def is_unknown(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        return bool(value != value or float(value) == UNKNOWN)
    return False


def plain_labels(labels: Array, rows: Array | None) -> Array:
    """Labels as a sortable array of text, whole numbers or bools; other types are refused."""
    if labels.dtype == object:
        if all(isinstance(v, str) for v in labels):
            labels = labels.astype(str)
        elif all(isinstance(v, numbers.Number) for v in labels):
            labels = np.array(labels.tolist())
        else:
            kinds = sorted({type(v).__name__ for v in labels})
            raise InputError(
                f"y mixes labels of types {', '.join(kinds)}. Use one type (text or whole numbers) for all labels."
            )
    if labels.dtype.kind == "f":
        fractional = np.flatnonzero(~(labels == np.round(labels)) | np.isinf(labels))
        if len(fractional):
            place = f" in row {rows[fractional[0]]}" if rows is not None else ""
            raise InputError(
                f"Unknown label type: y holds {labels[fractional[0]]}{place}. "
                "Labels are whole numbers or text; AltOpt classifies and does not fit continuous targets."
            )
    elif labels.dtype.kind not in "iubUS":
        raise InputError(
            f"Unknown label type: y holds {labels.dtype}. Labels are whole numbers, text or bools."
        )
    return labels


def read_validation(
    validation: tuple[Any, Any] | None, graph: Graph, labelled: Array, classes: Array
) -> tuple[Array, Array] | None:
    """Positions and class numbers of validation nodes; a node with a label in y is refused."""
    if validation is None:
        return None
    nodes, labels = validation
    positions = graph.positions(nodes)
    labels = np.asarray(labels)
    if len(labels) != len(positions):
        raise InputError(f"validation has {len(positions):,} nodes but {len(labels):,} labels.")
    overlap = labelled[positions]
    if overlap.any():
        raise InputError(
            f"validation names node {np.asarray(nodes)[overlap].tolist()[0]!r}, already labelled in y."
        )
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise InputError(
            f"validation holds the label {labels[unknown].tolist()[0]!r}, which is not among the classes."
        )
    return positions, np.searchsorted(classes, labels)
