"""A table in any form as named columns: of pandas, polars or pyarrow, or an array of mixed values."""

from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph import tables
from altopt.graph.file_formats import in_one, of_values
from altopt.graph.ids import comes_from

NOT_NUMBERS = (
    str,
    date,
    time,
    timedelta,
    np.datetime64,
    type(None),
)  # what makes an array of objects a table


@dataclass(frozen=True)
class Frame:
    """The columns of a table, nothing of them decided yet.

    Attributes
    ----------
    names : list of str
    columns : list of pyarrow arrays
    ids : array of the rows' ids, or None
    text : names of columns that are text whatever they look like
    named : bool
        False where the columns of an array are numbered: then they are matched by position.
    origin : str
        The file or argument, for messages.
    read : tuple of TableReader and matrix, or None
        What was made of these columns already.
    """

    names: list[str]
    columns: list[Any]
    ids: Array | None = None
    text: frozenset[str] = frozenset()
    named: bool = True
    origin: str = "X"
    read: Any = None

    @property
    def n_rows(self) -> int:
        return len(self.columns[0]) if self.columns else 0 if self.ids is None else len(self.ids)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.names)


def is_frame(X: Any) -> bool:
    """Whether X is a table, or an array of objects that are not all numbers."""
    if isinstance(X, Frame) or tables.is_table(X):
        return True
    if isinstance(X, list | tuple):
        return any(
            isinstance(row, list | tuple) and any(isinstance(v, NOT_NUMBERS) for v in row) for row in X
        )
    return (
        isinstance(X, np.ndarray)
        and X.ndim == 2
        and X.dtype == object
        and any(isinstance(v, NOT_NUMBERS) for v in X.ravel().tolist())
    )


def as_frame(X: Any, origin: str = "X") -> Frame:
    """The table X as a Frame; its rows' ids are the index of a DataFrame, unless that is a plain count."""
    if isinstance(X, Frame):
        return X
    if not tables.is_table(X):
        return of_array(X, origin)
    X = X.collect() if hasattr(X, "collect") else X  # a polars LazyFrame
    pandas = comes_from(X, "pandas")
    given = list(X.schema.names if comes_from(X, "pyarrow") else X.columns)
    named = all(isinstance(name, str) for name in given)
    names = [str(name) for name in given]
    tables.choose(names, (), (), origin)  # refuses names that stand twice
    ids = X.index.to_numpy() if pandas and not is_default_index(X.index) else None
    columns = [pandas_column(X.iloc[:, j]) for j in range(len(names))] if pandas else arrow_columns(X)
    return Frame(names, columns, ids, named=named, origin=origin)


def is_default_index(index: Any) -> bool:
    """Whether an index only counts the rows, and so carries no ids."""
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def of_array(X: Any, origin: str) -> Frame:
    """The columns of a two-dimensional array of any values, numbered."""
    if not isinstance(X, np.ndarray):
        rows = list(X)
        widths = {len(row) if isinstance(row, list | tuple | np.ndarray) else -1 for row in rows}
        if len(widths) != 1 or -1 in widths:
            raise InputError(f"{origin} as a list must hold rows of one length; these have {sorted(widths)}.")
        X = np.empty((len(rows), widths.pop()), dtype=object)
        X[:] = rows
    columns = [of_values(X[:, j].tolist()) for j in range(X.shape[1])]
    return Frame([str(j) for j in range(X.shape[1])], columns, named=False, origin=origin)


def arrow_columns(table: Any) -> list[Any]:
    """The columns of a polars or pyarrow table."""
    if comes_from(table, "polars"):
        return [
            of_values(series.to_list())
            if str(series.dtype) in ("Object", "Int128", "UInt128")
            else in_one(series.to_arrow())
            for series in table.iter_columns()
        ]
    return [in_one(table.column(j)) for j in range(table.num_columns)]


def pandas_column(series: Any) -> Any:
    import pyarrow as pa

    if hasattr(series, "sparse"):
        series = series.sparse.to_dense()
    try:
        return in_one(pa.array(series, from_pandas=True))
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return of_values(series.tolist())
