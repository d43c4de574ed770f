"""Features from a file: a table of any columns, a table with a column of lists, or a matrix."""

from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.file_formats import PathLike, in_one, read_arrow
from altopt.graph.files import map_array, read_sparse
from altopt.graph.ids import unique_ids
from altopt.graph.tables import choose, from_arrow
from altopt.table.frame import Frame


def is_matrix_file(path: PathLike) -> bool:
    """Whether the rows of this file are numbered, not named."""
    return Path(path).suffix.lower() in (".npy", ".npz")


def read_rows(
    path: PathLike,
    node: str = "node",
    *,
    text: tuple[str, ...] = (),
    label: str | None = None,
    text_ids: bool = False,
) -> tuple[Array, Any, Array | None]:
    """Node ids, a row of features for each, and where `label` names a column, the labels in it.

    The features are a Frame; or a matrix, for an .npy file (mapped, not read), an .npz file (sparse) and a table with
    one column of lists, named features. Ids of .npy and .npz are positions.
    """
    if is_matrix_file(path):
        X = read_sparse(path) if Path(path).suffix.lower() == ".npz" else map_array(path)
        return np.arange(X.shape[0]), X, None
    required = (node, *text, *(() if label is None else (label,)))

    def wanted(names: list[str]) -> list[str]:
        chosen = set(choose(names, required, tuple(features_of(names)), path))
        return [name for name in names if name in chosen]

    table = read_arrow(path, wanted, (node,), text_ids)
    what = f"{path}, column {node!r},"
    ids = unique_ids(from_arrow(table.column(node), what), what)
    labels = None if label is None else from_arrow(table.column(label), f"{path}, column {label!r},")
    names = [name for name in features_of(table.schema.names) if name not in (node, label)]
    if not len(ids):
        raise InputError(f"{path} has no rows; give one for each node.")
    if not names:
        raise InputError(f"{path} has no feature beside {node!r}; add a column for each feature.")
    if names == ["features"] and is_list(table.schema.field("features").type):
        return ids, list_matrix(table.column("features"), ids, path), labels
    columns = [in_one(table.column(name)) for name in names]
    return ids, Frame(names, columns, ids, frozenset(text), origin=str(path)), labels


def is_list(kind: Any) -> bool:
    from pyarrow import types

    return any(test(kind) for test in (types.is_list, types.is_large_list, types.is_fixed_size_list))


def features_of(names: list[str]) -> list[str]:
    return [name for name in names if name and not name.startswith("__index_level_")]


def list_matrix(column: Any, ids: Array, path: PathLike) -> Array:
    """A column of lists of numbers, all of one length."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer, is_null

    kind = column.type.value_type
    if not any(test(kind) for test in (is_integer, is_floating, is_boolean, is_decimal, is_null)):
        raise InputError(
            f"{path}, column 'features', holds {kind}, not numbers; give each a column of its own."
        )
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    width = max(int(lengths.max()), 1)
    if (lengths != width).any():
        k = int(np.argmax(lengths != width))
        raise InputError(
            f"{path}, column 'features', has {lengths[k]} numbers for node {ids.tolist()[k]!r}; "
            f"give every node {width}."
        )
    X = np.empty((len(lengths), width), np.float32 if kind in (pa.float16(), pa.float32()) else np.float64)
    start = 0
    for chunk in column.chunks:
        flat = pc.list_flatten(chunk).cast("double", safe=False).to_numpy(zero_copy_only=False)
        X[start : start + len(chunk)] = flat.reshape(len(chunk), width)
        start += len(chunk)
    valid = np.isfinite(X).all(axis=1)
    if not valid.all():
        node = ids.tolist()[int(np.argmin(valid))]
        raise InputError(f"{path}, column 'features', has no finite number for node {node!r}; fill it in.")
    return X
