"""Datasets: a file, a folder or a glob of many files of one table, checked by their metadata before they are read."""

import glob
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.file_formats import SAMPLED, one_line, refuse_absent
from altopt.graph.tables import choose

FORMATS = {".parquet": "parquet", ".csv": "text", ".tsv": "text", ".npy": "array"}
UNREADABLE = "*?["  # DuckDB takes these in a name for patterns


@dataclass(frozen=True)
class Dataset:
    """Files that hold one table, in the order of their names.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in range(3):
    ...         pq.write_table(pa.table({"node": [2 * k, 2 * k + 1]}), Path(folder) / f"part-{k}.parquet")
    ...     found = Dataset.open(folder)
    ...     found.kind, len(found.files), found.n_rows, found.columns
    ('parquet', 3, 6, ['node'])
    """

    name: str  # as it was given
    kind: str  # parquet, text or array
    files: tuple[Path, ...]

    @classmethod
    def open(cls, path: Any) -> "Dataset":
        """The files that a path names; every one is there, not empty and of the columns of the first."""
        files = files_of(path)
        kinds = {FORMATS[file.suffix.lower()] for file in files}
        if len(kinds) > 1:
            raise InputError(
                f"{path} holds files of several formats; name those of one, as in {path}/*.parquet."
            )
        for file in files:
            refuse_absent(file)
            if set(UNREADABLE) & set(str(file)):
                raise InputError(f"{file} has one of {' '.join(UNREADABLE)} in its name; rename it.")
        dataset = cls(str(path), kinds.pop(), files)
        dataset.check()
        return dataset

    def check(self) -> None:
        """Refuse a file that is cut off, or that has other columns than the first, and a dataset without rows."""
        if self.kind == "parquet":
            first = self.schema
            for file, about in self._footers:
                refuse_other_columns(file, about.schema.to_arrow_schema(), self.files[0], first)
        if self.kind == "array":
            shapes = {array.shape[1:] for array in self.arrays}
            if len(shapes) > 1:
                raise InputError(
                    f"{self.name} holds arrays of different shapes; write all with the same columns."
                )
        if self.n_rows == 0:
            raise InputError(f"{self.name} has no rows; write it again.")

    @cached_property
    def _footers(self) -> list[tuple[Path, Any]]:
        import pyarrow as pa
        from pyarrow.parquet import read_metadata

        footers = []
        for file in self.files:
            try:
                footers.append((file, read_metadata(file)))
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{file} cannot be read as Parquet: {one_line(error)}. It may be cut off: write it again."
                ) from error
        return footers

    @property
    def schema(self) -> Any:
        """The columns and their types, of Parquet files."""
        return self._footers[0][1].schema.to_arrow_schema()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.schema.names)

    @property
    def rows_of_files(self) -> list[int]:
        if self.kind == "array":
            return [len(array) for array in self.arrays]
        return [about.num_rows for _, about in self._footers]

    @property
    def n_rows(self) -> int | None:
        """Rows of all files, from their metadata; None for text, which has none."""
        return None if self.kind == "text" else sum(self.rows_of_files)

    @property
    def estimated_rows(self) -> int:
        """Rows of all files; of text, by the length of the first lines."""
        if self.n_rows is not None:
            return self.n_rows
        with self.files[0].open("rb") as file:
            lines = file.read(SAMPLED).splitlines(keepends=True)
        length = sum(map(len, lines[1:-1])) / max(len(lines) - 2, 1)
        return int(self.n_bytes / max(length, 1.0)) if len(lines) > 2 else len(lines)

    @property
    def n_bytes(self) -> int:
        return sum(file.stat().st_size for file in self.files)

    @cached_property
    def arrays(self) -> list[Array]:
        """The arrays of npy files, mapped."""
        found = []
        for file in self.files:
            try:
                found.append(np.load(file, mmap_mode="r", allow_pickle=False))
            except (ValueError, OSError, EOFError, SyntaxError) as error:
                raise InputError(
                    f"{file} is not a file written by numpy.save ({one_line(error)})."
                ) from error
            if found[-1].ndim not in (1, 2) or found[-1].dtype.kind not in "biuf":
                shape = f"{found[-1].dtype} of shape {found[-1].shape}"
                raise InputError(f"{file} must hold numbers in one or two dimensions; it holds {shape}.")
        return found

    def require(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> list[str]:
        """The columns that are there of those wanted; a required one that is not is refused."""
        return choose(self.columns, required, optional, self.name)

    def has_nulls(self, column: str) -> bool:
        """Whether the metadata leaves room for missing values in a column."""
        at = self.columns.index(column)
        for _, about in self._footers:
            for k in range(about.num_row_groups):
                if about.row_group(k).num_columns != len(self.columns):
                    return True  # nested columns: not one chunk each
                statistics = about.row_group(k).column(at).statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    return True
        return False

    def batches(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Record batches of some columns, in order, without a whole row group in memory."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        for file in self.files:
            try:
                with ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as table:
                    yield from table.iter_batches(rows, columns=columns, use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise InputError(
                    f"{file} cannot be read as Parquet: {one_line(error)}. It may be damaged: write it again."
                ) from error

    @property
    def sql(self) -> str:
        """The table, for DuckDB; where files differ in types, in those that hold the values of all."""
        files = ", ".join(map(quoted, map(str, self.files)))
        kinds = {tuple(sorted(map(str, about.schema.to_arrow_schema()))) for _, about in self._footers}
        return f"read_parquet([{files}]{', union_by_name=true' if len(kinds) > 1 else ''})"

    @property
    def key(self) -> str:
        """What the files are: names, sizes and times; another key means that something changed."""
        about = [(str(file.absolute()), file.stat().st_size, file.stat().st_mtime_ns) for file in self.files]
        return blake2b(repr(about).encode(), digest_size=16).hexdigest()


def files_of(path: Any) -> tuple[Path, ...]:
    """The files of a file, a folder (hidden ones and those that begin with an underscore apart) or a glob."""
    place, shown = Path(path), str(path)
    if place.is_dir():
        if (place / "_temporary").exists():
            raise InputError(
                f"{shown} is still being written: it holds _temporary. Wait for the job that writes it."
            )
        inside = [file for file in place.rglob("*") if not hidden(file.relative_to(place))]
        files = tuple(sorted(file for file in inside if file.suffix.lower() in FORMATS and not file.is_dir()))
        refuse_missing_parts(place, files)
        if not files:
            raise InputError(f"{shown} holds no file that ends in one of {', '.join(FORMATS)}.")
        return files
    if not place.exists() and set(UNREADABLE) & set(shown):
        files = tuple(sorted(Path(name) for name in glob.glob(shown, recursive=True)))
        if not files:
            raise InputError(f"{shown} matches no file; check the pattern.")
    else:
        refuse_absent(place)
        files = (place,)
    for file in files:
        if file.suffix.lower() not in FORMATS:
            raise InputError(f"{file} ends in none of {', '.join(FORMATS)}; a fit past memory reads these.")
    return files


def hidden(path: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts)


def refuse_missing_parts(folder: Path, files: tuple[Path, ...]) -> None:
    """Refuse a folder that lacks a file which its `_metadata`, where there is one, lists."""
    import pyarrow as pa
    from pyarrow.parquet import read_metadata

    if not (folder / "_metadata").is_file():
        return
    try:
        about = read_metadata(folder / "_metadata")
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{folder / '_metadata'} cannot be read as Parquet: {one_line(error)}.") from error
    present = {file.relative_to(folder).as_posix() for file in files}
    listed = {about.row_group(k).column(0).file_path for k in range(about.num_row_groups)}
    missing = sorted(name for name in listed - present if name)
    if missing:
        raise InputError(
            f"{folder / missing[0]} is not there, though _metadata lists it ({len(missing):,} missing in all). "
            "Copy the folder again."
        )


def refuse_other_columns(file: Path, schema: Any, first: Path, expected: Any) -> None:
    """Refuse a file whose columns, or the families of their types, differ from those of the first file."""
    if set(schema.names) != set(expected.names):
        lacking = [name for name in expected.names if name not in schema.names]
        more = [name for name in schema.names if name not in expected.names]
        said = f"has no column {lacking[0]!r}" if lacking else f"has a column {more[0]!r}"
        raise InputError(f"{file} {said}, unlike {first}; write all files with the same columns.")
    for name in expected.names:
        here, there = schema.field(name).type, expected.field(name).type
        if family(here) != family(there):
            raise InputError(
                f"{file}, column {name!r}, holds {here}, but {there} in {first}; write it alike in all files."
            )


def family(kind: Any) -> str:
    """whole, fractional, text or the type itself.

    >>> import pyarrow as pa
    >>> family(pa.int32()), family(pa.float64()), family(pa.dictionary(pa.int8(), pa.string())), family(pa.date32())
    ('whole', 'fractional', 'text', 'date32[day]')
    """
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind):
        return "whole"
    if types.is_floating(kind):
        return "fractional"
    text = (types.is_string, types.is_large_string, types.is_string_view)
    return "text" if any(test(kind) for test in text) else str(kind)


def quoted(text: str) -> str:
    """Text as DuckDB reads it; a name in double quotes is `identifier`."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
