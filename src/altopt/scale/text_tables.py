"""Text tables (.csv, .tsv) to Parquet, a block at a time: ids and labels stay text, all other columns are numbers."""

from pathlib import Path
from typing import Any

from altopt.errors import InputError
from altopt.graph.file_formats import SAMPLED, one_line, separator_of, whole_numbers
from altopt.graph.tables import choose
from altopt.io.files import disk_errors
from altopt.scale.dataset import Dataset

BLOCK = 1 << 24  # bytes of text at a time


def header(file: Path) -> list[str]:
    """The names of the columns of a text table."""
    with opened(file, None) as reader:
        return list(reader.schema.names)


def opened(file: Path, convert: Any) -> Any:
    """A text table as a reader of record batches."""
    import pyarrow as pa
    from pyarrow import csv

    with file.open("rb") as content:
        beginning = content.read(SAMPLED)
    if beginning[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{file} is UTF-16, as some spreadsheets export it; save it as UTF-8.")
    parsing = csv.ParseOptions(delimiter=separator_of(beginning), newlines_in_values=b'"' in beginning)
    try:
        return csv.open_csv(file, csv.ReadOptions(block_size=BLOCK), parsing, convert)
    except (pa.ArrowException, OSError) as error:
        raise unreadable(file, error) from error


def unreadable(file: Path, error: Exception) -> InputError:
    return InputError(
        f"{file} cannot be read as CSV: {one_line(error)}. A fit past memory takes columns of numbers, and text in ids "
        "and labels alone: encode or drop others."
    )


def to_parquet(
    given: Dataset, ids: tuple[str, ...], text: tuple[str, ...], numbers: tuple[str, ...], folder: Path
) -> bool:
    """Write a dataset of text tables as Parquet files in `folder`; returns whether all ids are whole numbers."""
    import pyarrow as pa
    from pyarrow import csv
    from pyarrow.parquet import ParquetWriter

    folder.mkdir(parents=True, exist_ok=True)
    kinds = dict.fromkeys((*ids, *text), pa.string()) | dict.fromkeys(numbers, pa.float64())
    schema = pa.schema(list(kinds.items()))
    convert = csv.ConvertOptions(
        column_types=kinds, include_columns=list(kinds), strings_can_be_null=True, null_values=[""]
    )
    whole = True
    for k, file in enumerate(given.files):
        choose(header(file), tuple(kinds), (), file)
        try:
            with (
                opened(file, convert) as reader,
                disk_errors(folder),
                ParquetWriter(folder / f"{k:05d}.parquet", schema) as writer,
            ):
                for batch in reader:
                    whole = whole and all(whole_numbers(batch.column(name)) is not None for name in ids)
                    writer.write_batch(batch)
        except pa.ArrowException as error:
            raise unreadable(file, error) from error
    return whole
