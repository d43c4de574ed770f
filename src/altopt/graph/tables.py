"""Tables in memory: their columns, matching rows by node id, and writing predictions."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.file_formats import PathLike, one_line
from altopt.graph.ids import as_array, as_ids, comes_from, describe_missing, lookup
from altopt.io.files import replacing


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
    absent = [repr(name) for name in required if name not in names]
    if absent:
        present = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
        raise InputError(
            f"{where} has no column {' and no column '.join(absent)}; it has {present or 'no columns'}."
        )
    return [name for name in dict.fromkeys((*required, *optional)) if name in names]


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
        else from_arrow(table.column(j), what)
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
    return from_arrow(series.to_arrow(), what)


def from_arrow(column: Any, what: str) -> Array:
    """A column's values; `what` names it in a refusal."""
    import pyarrow as pa

    try:
        if not pa.types.is_nested(column.type):
            return _values(column)
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise InputError(f"{what} holds {column.type}, which cannot be read ({one_line(error)}).") from error
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
