"""y, validation labels and sample weights: read in any form, checked once."""

import numbers
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import DataConversionWarning

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.graph.ids import comes_from

UNKNOWN = -1
MAX_WEIGHT = 1e30


def read_y(y: Any, n_rows: int, classes: Any = None) -> tuple[Array, Array]:
    """The classes in order, and each node's class number or -1 where its label is unknown."""
    values = without_empty(as_column(y))
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
    refuse_half_characters(declared)
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
        n_minus = sum(value in (UNKNOWN, str(UNKNOWN)) for value in values[~known].tolist())
        hint = f" -1 was read as unknown ({n_minus:,} entries): call that class 0, say." if n_minus else ""
        only = f"{present.tolist()[0]!r}"
        raise InputError(
            f"y must hold at least two classes, but its labelled nodes are all of one class ({only}).{hint}"
        )
    codes = np.full(n_rows, UNKNOWN, dtype=np.int64)
    codes[known] = np.searchsorted(declared, labels)
    return declared.astype(object) if wants_objects(values, declared) else declared, codes


def without_empty(values: Array) -> Array:
    """The labels with None in place of text that is empty or blank, which is no class; a warning counts them."""
    if values.dtype.kind not in "OU":
        return values
    empty = np.fromiter((isinstance(v, str) and not v.strip() for v in values.tolist()), bool, len(values))
    if not empty.any():
        return values
    warnings.warn(
        f"{int(empty.sum()):,} entries of y are empty text; they count as unknown. Mark unknown labels with None.",
        UserWarning,
        stacklevel=5,
    )
    values = values.astype(object)
    values[empty] = None
    return values


def refuse_half_characters(classes: Array) -> None:
    """Refuse text that is no text: a surrogate without its other half, which no file can hold."""
    for name in classes.tolist() if classes.dtype.kind == "U" else ():
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"y holds the label {name!r}, which is no text that could be stored: {error.reason}. Name it otherwise."
            ) from error


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
        return bool(value != value or value == UNKNOWN)
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
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise InputError(f"validation must be a pair (nodes, labels), but is {validation!r:.80}.")
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


def read_sample_weight(sample_weight: Any, codes: Array) -> tuple[Array | None, Array]:
    """Weights of all nodes, 1 on average over the labelled ones, and the classes: of weight 0, as if unknown."""
    if sample_weight is None:
        return None, codes
    weights = np.asarray(sample_weight)
    if weights.dtype.kind not in "biuf":
        raise InputError(
            f"sample_weight must hold numbers, but holds {weights.dtype}. Give one number a node."
        )
    if weights.shape != codes.shape:
        raise InputError(
            f"sample_weight has the shape {weights.shape}, but there are {len(codes):,} nodes. Give one number a node; "
            "those of unlabelled nodes are not used."
        )
    weights, labelled = weights.astype(np.float64), codes != UNKNOWN
    wrong = labelled & ~(np.isfinite(weights) & (weights >= 0) & (weights <= MAX_WEIGHT))
    if wrong.any():
        node = int(np.argmax(wrong))
        raise InputError(
            f"sample_weight is {weights[node]} at node {node}. Weights must be numbers from 0 to {MAX_WEIGHT:g}."
        )
    codes = np.where(weights > 0, codes, UNKNOWN)
    labelled = codes != UNKNOWN
    if len(np.unique(codes[labelled])) < 2:
        raise InputError(
            "sample_weight leaves labels of fewer than two classes above zero. Give others a weight above 0."
        )
    return np.where(labelled, weights / weights[labelled].mean(), 0.0), codes
