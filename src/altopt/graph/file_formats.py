"""Files of tables as pyarrow columns: Parquet, text with any separator, Excel."""

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from altopt.errors import InputError, require_extra
from altopt.io.files import is_utf8

PathLike = str | os.PathLike[str]
Wanted = Callable[[list[str]], list[str]]  # from the columns of a file to those that are read
SUFFIXES = (".parquet", ".csv", ".tsv", ".xlsx")
SEPARATORS = "\t;|, "  # of two that would do, the one that is no decimal mark
SAMPLED = 2**16  # bytes at the beginning of a file that tell its separator


def is_table_file(path: PathLike) -> bool:
    return Path(path).suffix.lower() in SUFFIXES


def read_arrow(path: PathLike, wanted: Wanted, ids: tuple[str, ...], text_ids: bool) -> Any:
    """The wanted columns of a file, as a pyarrow table.

    The ids (columns named in `ids`) of a text file are whole numbers if every one is written as Python writes it, else
    all of them are text: "007" stays "007". `text_ids=True` keeps them text in any case.
    """
    import pyarrow as pa

    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        listed = f"{', '.join(SUFFIXES[:-1])} and {SUFFIXES[-1]}"
        raise InputError(f"{path} ends in none of {listed}; give a table in one of these formats.")
    refuse_absent(path)
    try:
        if suffix == ".parquet":
            return read_parquet(path, wanted)
        if suffix == ".xlsx":
            return read_excel(path, wanted, ids if text_ids else ())
        return read_text(path, wanted, ids, text_ids)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 ({one_line(error)}); save it in that encoding.") from error
    except (pa.ArrowException, OSError) as error:
        kind = {".parquet": "Parquet", ".xlsx": "Excel"}.get(suffix, "CSV")
        raise InputError(f"{path} cannot be read as {kind}: {one_line(error)}.") from error


def refuse_absent(path: PathLike) -> None:
    """Refuse what is not an ordinary file with something in it."""
    if not is_utf8(os.fspath(path)):
        raise InputError(f"{os.fspath(path)!r} is not a name in UTF-8; rename the file.")
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} is not there; check the path.") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
        raise InputError(f"{os.fspath(path)!r} cannot be read: {one_line(error)}.") from error
    if stat.S_ISDIR(state.st_mode):
        raise InputError(f"{path} is a directory; name a file in it.")
    if not stat.S_ISREG(state.st_mode):
        raise InputError(f"{path} is not an ordinary file; write the table to one and name that.")
    if not state.st_size:
        raise InputError(f"{path} is empty; write it again.")


def one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


def read_parquet(path: PathLike, wanted: Wanted) -> Any:
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read(columns=wanted(file.schema_arrow.names))


def read_text(path: PathLike, wanted: Wanted, ids: tuple[str, ...], text_ids: bool) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    with open(path, "rb") as file:
        beginning = file.read(SAMPLED)
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is UTF-16, as some spreadsheets export it; save it as UTF-8.")
    parsing = csv.ParseOptions(delimiter=separator_of(beginning), newlines_in_values=b'"' in beginning)
    with csv.open_csv(path, parse_options=parsing) as file:
        names = wanted(file.schema.names)
    convert = csv.ConvertOptions(column_types=dict.fromkeys(ids, pa.string()), include_columns=names)
    try:
        table = csv.read_csv(path, parse_options=parsing, convert_options=convert)
    except pa.ArrowInvalid:  # types are inferred from the first block; a number may turn fractional later
        options = csv.ReadOptions(block_size=min(Path(path).stat().st_size + 1, 2**31 - 1))
        table = csv.read_csv(path, options, parse_options=parsing, convert_options=convert)
    for name in names:
        if table.schema.field(name).type == pa.string():
            column = table.column(name)
            column = pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
            table = table.set_column(names.index(name), name, column)
    whole = {} if text_ids else {name: whole_numbers(table.column(name)) for name in ids if name in names}
    if all(column is not None for column in whole.values()):
        for name, column in whole.items():
            table = table.set_column(names.index(name), name, column)
    return table


def separator_of(beginning: bytes) -> str:
    """What separates the columns of a text file: what stands as often in each of its first lines.

    >>> separator_of(b"node;x, in m\\n1;2,5\\n"), separator_of(b"node,full name\\na,b c d\\n")
    (';', ',')
    """
    lines = [
        outside_quotes(line) for line in beginning.decode("utf-8", "replace").splitlines()[:6] if line.strip()
    ]
    lines = lines[:-1] if len(lines) > 5 else lines  # the last may be cut off
    if not lines:
        return ","
    counts = {mark: [line.count(mark) for line in lines] for mark in SEPARATORS}
    even = [mark for mark in SEPARATORS if counts[mark][0] and len(set(counts[mark])) == 1]
    some = [mark for mark in SEPARATORS[:-1] if counts[mark][0]]
    marks = [mark for mark in even if mark != " "] or some or even or [","]
    return max(marks, key=lambda mark: counts[mark][0])


def outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])


def whole_numbers(column: Any) -> Any:
    """Text as integers, if writing them out again gives the same text; else None."""
    import pyarrow as pa

    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if numbers.cast(pa.string()).equals(column) else None


def read_excel(path: PathLike, wanted: Wanted, as_text: tuple[str, ...]) -> Any:
    """The first sheet of an Excel file, its first row the names."""
    import pyarrow as pa

    openpyxl = require_extra("openpyxl", "tables", f"Reading {path}")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception as error:  # zip, XML and openpyxl raise errors of their own
        raise InputError(f"{path} cannot be read as Excel: {one_line(error)}.") from error
    rows = [row for row in rows if any(value is not None for value in row)]
    if not rows:
        raise InputError(f"{path} has no rows in its first sheet; write the table there.")
    width = max((k + 1 for k, name in enumerate(rows[0]) if name is not None), default=0)
    names = ["" if name is None else str(name) for name in rows[0][:width]]
    columns = {}
    for name in wanted(names):
        k = names.index(name)
        values = [row[k] if k < len(row) else None for row in rows[1:]]
        columns[name] = of_values(
            [None if v is None else str(v) for v in values] if name in as_text else values
        )
    return pa.table(columns)


def of_values(values: Iterable[Any]) -> Any:
    """Python values as a pyarrow array: text where they are of several types, or of one that is not pyarrow's own."""
    import pyarrow as pa

    values = [None if is_missing(value) else value for value in values]
    try:
        column = pa.array(values, from_pandas=True)
        if not isinstance(column, pa.ChunkedArray) and not isinstance(column.type, pa.BaseExtensionType):
            return column
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    return pa.array([None if value is None else str(value) for value in values], pa.large_string())


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def in_one(column: Any) -> Any:
    """A pyarrow column in one piece, extension types as their values."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column  # of no chunk at all
    return of_values(column.to_pylist()) if isinstance(column.type, pa.BaseExtensionType) else column
