"""Tables in Parquet or CSV: reading, writing, and matching rows by node id."""

import os
import stat
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.ids import as_array, as_ids, comes_from, describe_missing, lookup, unique_ids
from altopt.graph.matrices import checked_csr
from altopt.io.files import is_utf8, replacing

PathLike = str | os.PathLike[str]
ID_COLUMNS = ("source", "target", "node")
NUMBERS = (int, float, Decimal, type(None))


def is_table(value: object) -> bool:
    """Whether value is a pandas, polars or pyarrow table."""
    marks = (("pandas", "columns"), ("polars", "lazy"), ("pyarrow", "num_columns"))
    return any(comes_from(value, package) and hasattr(value, mark) for package, mark in marks)


def columns(
    table: Any, required: tuple[str, ...] = (), optional: tuple[str, ...] | None = None
) -> dict[str, Array]:
    """Columns of a pandas, polars or pyarrow table, all or some; a missing value is None, NaN among floats."""
    table = table.collect() if hasattr(table, "collect") else table  # a polars LazyFrame
    names = [str(name) for name in (table.schema.names if comes_from(table, "pyarrow") else table.columns)]
    wanted = choose(names, required, tuple(names) if optional is None else optional, "the table")
    place = {name: j for j, name in enumerate(names)}
    return {name: _column(table, place[name], name) for name in wanted}


def choose(
    names: list[str], required: tuple[str, ...], optional: tuple[str, ...], where: object
) -> list[str]:
    """The wanted ones of `names`, which must hold the required ones and none twice."""
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where} has two columns named {repeated!r}; rename one of them.")
    for name in required:
        if name not in names:
            present = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
            raise InputError(f"{where} has no column {name!r}; it has {present or 'no columns'}.")
    return [name for name in dict.fromkeys((*required, *optional)) if name in names]


def read_columns(
    path: PathLike, required: tuple[str, ...], optional: tuple[str, ...] = (), *, text_ids: bool = False
) -> dict[str, Array]:
    """Columns of a Parquet or CSV file.

    The ids of a CSV file are whole numbers if every one is written as Python writes it, else all of them are
    text: "007" stays "007". `text_ids=True` keeps them text in any case.
    """
    table = _read(path, lambda names: choose(names, required, optional, path), text_ids)
    return {name: _from_arrow(table.column(name), f"{path}, column {name!r},") for name in table.schema.names}


def read_edges(path: PathLike, *, text_ids: bool = False) -> dict[str, Array]:
    """Columns source, target and, where there is one, weight."""
    ends = read_columns(path, ("source", "target"), ("weight",), text_ids=text_ids)
    if "weight" in ends:
        require_numbers(ends["weight"], f"{path}, column 'weight',")
    return ends


def require_numbers(column: Array, what: str) -> None:
    """Refuse text and dates; what a column of numbers lacks is refused where its edge can be named."""
    if column.dtype.kind in "biuf":
        return
    odd = [value for value in column.tolist() if not isinstance(value, NUMBERS)]
    if odd or column.dtype.kind in "Mm":
        raise InputError(f"{what} must be numbers; got {(odd or column.tolist())[0]!r}.")


def read_labels(path: PathLike, *, text_ids: bool = False) -> tuple[Array, Array]:
    """The ids of column node and the labels of column label, None or NaN where unknown."""
    given = read_columns(path, ("node", "label"), text_ids=text_ids)
    return unique_ids(given["node"], f"{path}, column 'node',"), given["label"]


def read_features(path: PathLike, *, text_ids: bool = False) -> tuple[Array, Any, list[str]]:
    """Node ids, a row of features for each, and the features' names.

    A table has a column node beside numeric columns, or beside one list column named features. An .npy file
    is mapped, not read; an .npz file is a scipy.sparse matrix; the ids of both are positions.
    """
    suffix = Path(path).suffix.lower()
    if suffix in (".npy", ".npz"):
        X = read_sparse(path) if suffix == ".npz" else _map_array(path)
        return np.arange(X.shape[0]), X, [str(j) for j in range(X.shape[1])]
    table = _read(path, lambda names: choose(names, ("node",), tuple(_features(names)), path), text_ids)
    what = f"{path}, column 'node',"
    ids = unique_ids(_from_arrow(table.column("node"), what), what)
    names = _features(table.schema.names)
    if not len(ids):
        raise InputError(f"{path} has no rows; give one for each node.")
    if not names:
        raise InputError(f"{path} has no feature beside 'node'; add a numeric column for each feature.")
    if names == ["features"] and hasattr(table.schema.field("features").type, "value_type"):
        X = _list_matrix(table.column("features"), ids, path)
        return ids, X, [f"features_{j}" for j in range(X.shape[1])]
    return ids, _column_matrix(table, names, ids, path), names


def read_sparse(path: PathLike) -> Any:
    """The matrix of a file written by scipy.sparse.save_npz, in CSR form."""
    _refuse_absent(path)
    try:
        matrix = sparse.load_npz(path)
    except Exception as error:  # zip, numpy and scipy raise errors of their own
        message = f"{path} is not a file written by scipy.sparse.save_npz ({_line(error)})."
        raise InputError(message) from error
    return checked_csr(matrix, str(path))


def write_predictions(
    path: PathLike, ids: Any, labels: Any, confidence: Array, probabilities: Array, classes: Any
) -> None:
    """Write `node, label, confidence, p_<class>...` as Parquet or CSV; an interrupted write leaves no partial file."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    write = {".parquet": pa.parquet.write_table, ".csv": pa.csv.write_csv}.get(Path(path).suffix.lower())
    if write is None:
        raise InputError(f"{path} ends in neither .parquet nor .csv; name the output with one of them.")
    names = ["node", "label", "confidence", *(f"p_{name}" for name in as_array(classes).tolist())]
    values = [ids, labels, confidence, *np.asarray(probabilities).T]
    table = pa.table([to_arrow(column) for column in values], names=names)
    with replacing(path) as draft:
        write(table, draft)


def match(ids: Any, wanted: Any, what: str) -> NDArray[np.int64]:
    """The position in `ids` of every wanted id; `what` names the file or argument they come from."""
    ids, wanted = as_ids(ids, "the known ids"), as_ids(wanted, what)
    rows = lookup(ids, wanted)
    if len(rows) and rows.min() < 0:
        absent = describe_missing(ids, wanted, rows, f"among the {len(ids):,} known nodes")
        raise InputError(f"{what} names {absent}")
    return rows


def _column(table: Any, j: int, name: str) -> Array:
    what = f"the table, column {name!r},"
    if comes_from(table, "pandas"):
        return _from_pandas(table.iloc[:, j])
    return (
        _from_polars(table.to_series(j), what)
        if comes_from(table, "polars")
        else _from_arrow(table.column(j), what)
    )


def _from_pandas(series: Any) -> Array:
    missing = series.isna().to_numpy()
    if getattr(series.dtype, "kind", "O") == "O" or (missing.any() and series.dtype.kind in "iub"):
        values: Array = series.astype(object).to_numpy(copy=True)
        values[missing] = None
        return values
    return np.asarray(series.to_numpy())


def _from_polars(series: Any, what: str) -> Array:
    if str(series.dtype) in ("Object", "Int128", "UInt128"):  # pyarrow has no such integers
        return np.fromiter(series.to_list(), dtype=object)
    return _from_arrow(series.to_arrow(), what)


def _from_arrow(column: Any, what: str) -> Array:
    """A column's values; `what` names it in a refusal."""
    import pyarrow as pa

    try:
        if not pa.types.is_nested(column.type):
            return _values(column)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(f"{what} holds {column.type}, which cannot be read ({_line(error)}).") from error
    raise InputError(f"{what} holds {column.type}; give each row one number or text.")


def _values(column: Any) -> Array:
    import pyarrow as pa

    if isinstance(column.type, pa.BaseExtensionType):
        return np.fromiter(column.to_pylist(), dtype=object)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    if any(is_kind(column.type) for is_kind in text):  # one Python object for each distinct string
        coded = pa.chunked_array([column] if isinstance(column, pa.Array) else column.chunks, column.type)
        coded = coded.cast(pa.large_string()).combine_chunks().dictionary_encode()
        strings = np.array([*coded.dictionary.to_pylist(), None], dtype=object)
        decoded: Array = strings[coded.indices.fill_null(len(strings) - 1).to_numpy(zero_copy_only=False)]
        return decoded
    if column.null_count and not pa.types.is_floating(column.type):
        return np.fromiter(column.to_pylist(), dtype=object)
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    values: Array = column.to_numpy(zero_copy_only=False)
    return values


def to_arrow(values: Any) -> Any:
    import pyarrow as pa

    column = np.ascontiguousarray(as_array(values))
    if column.dtype.kind == "O" and not set(map(type, column.tolist())) <= {bool}:
        return pa.array([str(value) for value in column.tolist()], pa.string())
    return pa.array(column)


def _refuse_absent(path: PathLike) -> None:
    if not is_utf8(os.fspath(path)):
        raise InputError(f"{os.fspath(path)!r} is not a name in UTF-8; rename the file.")
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} is not there; check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        raise InputError(f"{os.fspath(path)!r} cannot be read: {_line(error)}.") from error
    if stat.S_ISDIR(state.st_mode):
        raise InputError(f"{path} is a directory; name a file in it.")
    if not stat.S_ISREG(state.st_mode):
        raise InputError(f"{path} is not an ordinary file; write the table to one and name that.")
    if not state.st_size:
        raise InputError(f"{path} is empty; write it again.")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def _read(path: PathLike, wanted: Callable[[list[str]], list[str]], text_ids: bool) -> Any:
    """The wanted columns of a file, as a pyarrow table."""
    import pyarrow as pa

    suffix = Path(path).suffix.lower()
    if suffix not in (".parquet", ".csv"):
        raise InputError(f"{path} ends in neither .parquet nor .csv; give a table in one of these formats.")
    _refuse_absent(path)
    try:
        return _read_parquet(path, wanted) if suffix == ".parquet" else _read_csv(path, wanted, text_ids)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({_line(error)}); save it in that encoding.") from error
    except (pa.ArrowException, OSError) as error:
        kind = "Parquet" if suffix == ".parquet" else "CSV"
        raise InputError(f"{path} cannot be read as {kind}: {_line(error)}.") from error


def _read_parquet(path: PathLike, wanted: Callable[[list[str]], list[str]]) -> Any:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read(columns=wanted(file.schema_arrow.names))


def _read_csv(path: PathLike, wanted: Callable[[list[str]], list[str]], text_ids: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    with open(path, "rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{path} is UTF-16, as some spreadsheets export it; save it as UTF-8.")
    with csv.open_csv(path) as file:
        names = wanted(file.schema.names)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(ID_COLUMNS, pa.string()), include_columns=names)
    try:
        table = csv.read_csv(path, convert_options=convert)
    except pa.ArrowInvalid:  # types are inferred from the first block; a number may turn fractional later
        block = min(Path(path).stat().st_size + 1, 2**31 - 1)
        table = csv.read_csv(path, csv.ReadOptions(block_size=block), convert_options=convert)
    ids = [name for name in ID_COLUMNS if name in names]
    for name in names:
        if table.schema.field(name).type == pa.string():
            column = table.column(name)
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(names.index(name), name, column)
    whole = {} if text_ids else {name: _whole(table.column(name)) for name in ids}
    if all(column is not None for column in whole.values()):
        for name, column in whole.items():
            table = table.set_column(names.index(name), name, column)
    return table


def _whole(column: Any) -> Any:
    """Text as integers, if writing them out again gives the same text; else None."""
    import pyarrow as pa

    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.cast(pa.string()).equals(column) else None


def _features(names: list[str]) -> list[str]:
    return [name for name in names if name != "node" and not name.startswith("__index_level_")]


def _map_array(path: PathLike) -> Array:
    _refuse_absent(path)
    try:
        X: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (
        ValueError,
        OSError,
        EOFError,
        TokenError,
        SyntaxError,
    ) as error:  # numpy parses a header as Python
        raise InputError(f"{path} is not a file written by numpy.save ({_line(error)}).") from error
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold a 2-D array of numbers; it holds {X.dtype} of shape {X.shape}.")
    return X


def _floats(kinds: Iterable[Any]) -> Any:
    import pyarrow as pa

    narrow = (pa.float16(), pa.float32())
    return np.float32 if all(kind in narrow for kind in kinds) else np.float64


def _refuse_missing(valid: Array, column: str, ids: Array, path: PathLike) -> None:
    if not valid.all():
        node = ids.tolist()[int(np.argmin(valid))]
        raise InputError(f"{path}, column {column!r}, has no finite number for node {node!r}; fill it in.")


def _refuse_text(kind: Any, column: str, path: PathLike) -> None:
    from pyarrow.types import is_boolean, is_decimal, is_floating, is_integer, is_null

    if not any(is_kind(kind) for is_kind in (is_integer, is_floating, is_boolean, is_decimal, is_null)):
        raise InputError(f"{path}, column {column!r}, holds {kind}, not numbers; encode it or leave it out.")


def _column_matrix(table: Any, names: list[str], ids: Array, path: PathLike) -> Array:
    kinds = [table.schema.field(name).type for name in names]
    for name, kind in zip(names, kinds):
        _refuse_text(kind, name, path)
    X = np.empty((table.num_rows, len(names)), _floats(kinds))
    for j, name in enumerate(names):
        X[:, j] = table.column(name).cast("double", safe=False).to_numpy()
        _refuse_missing(np.isfinite(X[:, j]), name, ids, path)
    return X


def _list_matrix(column: Any, ids: Array, path: PathLike) -> Array:
    import pyarrow.compute as pc

    _refuse_text(column.type.value_type, "features", path)
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    width = max(int(lengths.max()), 1)
    if (lengths != width).any():
        k = int(np.argmax(lengths != width))
        raise InputError(
            f"{path}, column 'features', has {lengths[k]} numbers for node {ids.tolist()[k]!r}; "
            f"give every node {width}."
        )
    X = np.empty((len(lengths), width), _floats([column.type.value_type]))
    start = 0
    for chunk in column.chunks:
        flat = pc.list_flatten(chunk).cast("double", safe=False).to_numpy(zero_copy_only=False)
        X[start : start + len(chunk)] = flat.reshape(len(chunk), width)
        start += len(chunk)
    _refuse_missing(np.asarray(np.isfinite(X).all(axis=1)), "features", ids, path)
    return X
