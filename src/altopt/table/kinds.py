"""Telling the kind of a column of a table from its type and values."""

from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.defaults import DEFAULTS
from altopt.table.columns import (
    DATE_FORMATS,
    DECIMAL_COMMA,
    NUMBER,
    CategoryColumn,
    Column,
    DateColumn,
    DroppedColumn,
    NumberColumn,
    TextColumn,
    Unreadable,
    as_days,
    as_numbers,
    as_text,
    dates_in_text,
    is_string,
    words_of,
)

FEW = 20  # rows below which no column is taken for the names of rows
NAMES = 0.95  # distinct values among the rows from which on text without spaces names them
SPAN = {"year": 366.0, "week": 14.0}  # days that dates must span for a place in a cycle to mean anything


def column_of(name: str, values: Any, text: bool) -> Column:
    """How a column is read, found from the rows of the fit. `text`: as text, whatever it looks like."""
    from pyarrow import types

    kind = values.type
    if text:
        return text_column(name, values)
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        raise Unreadable(f"holds {kind}; give each row one number, text or date")
    if types.is_dictionary(kind):
        return category_column(name, values)
    if types.is_date(kind) or types.is_timestamp(kind):
        return date_column(name, values, "iso")
    if not is_string(kind):
        return number_column(name, values)
    trimmed = as_text(values)
    present = trimmed.drop_null()
    if not len(present):
        return DroppedColumn(name, 1.0, "it has no value")
    if numeric(present):
        return number_column(name, trimmed)
    written = date_format(present)
    if written is not None:
        return date_column(name, trimmed, written)
    return named_column(name, trimmed, present)


def named_column(name: str, trimmed: Any, present: Any) -> Column:
    """Text that is neither number nor date: names of rows, free text or categories."""
    import pyarrow.compute as pc

    n, n_distinct = len(present), pc.count_distinct(present).as_py()
    n_spaces = pc.sum(pc.count_substring(present, " ")).as_py()
    if n >= FEW and n_distinct >= NAMES * n and n_spaces < 0.5 * n:
        return DroppedColumn(name, missing_share(trimmed), "each row has a value of its own: a name of it")
    if n_spaces >= n and n_distinct > max(FEW, 0.1 * n):
        return text_column(name, trimmed)
    return category_column(name, trimmed)


def numeric(present: Any) -> bool:
    """Whether text holds numbers only; "007" is none."""
    import pyarrow.compute as pc

    code = pc.any(pc.match_substring_regex(present, r"^[+-]?0\d")).as_py()
    return not code and any(
        pc.all(pc.match_substring_regex(present, pattern)).as_py() for pattern in (NUMBER, DECIMAL_COMMA)
    )


def date_format(present: Any) -> str | None:
    """How the dates of a text column are written; None where it holds others."""
    import pyarrow.compute as pc

    if not pc.all(pc.match_substring_regex(present, r"^\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")).as_py():
        return None
    for written in DATE_FORMATS:
        try:
            dates_in_text(present, written)
            return written
        except Unreadable:
            continue
    return None


def missing_share(values: Any) -> float:
    return float(values.null_count) / max(len(values), 1)


def number_column(name: str, values: Any) -> Column:
    from pyarrow import types

    numbers = as_numbers(values)
    present = numbers[~np.isnan(numbers)]
    missing = 1.0 - len(present) / max(len(numbers), 1)
    if not len(present):
        return DroppedColumn(name, 1.0, "it has no value")
    low, high = present.min(), present.max()
    if low == high and not missing:
        return DroppedColumn(name, 0.0, f"it is {low:g} in every row")
    if types.is_integer(values.type) and counts_rows(present, low, high):
        return DroppedColumn(name, missing, "it counts the rows: a name of each")
    two = np.all((present == low) | (present == high))
    fill = (high if 2 * np.sum(present == high) > len(present) else low) if two else np.median(present)
    return NumberColumn(name, missing, float(fill), types.is_boolean(values.type))


def counts_rows(numbers: Array, low: float, high: float) -> bool:
    """Whether these are consecutive whole numbers, each once."""
    n = len(numbers)
    return n >= FEW and high - low == n - 1 and len(np.unique(numbers)) == n


def category_column(name: str, values: Any) -> Column:
    import pyarrow.compute as pc

    text = as_text(values)
    missing = missing_share(text)
    counts = pc.value_counts(text.drop_null())
    levels = np.array(counts.field("values").to_pylist(), dtype=object)
    number = counts.field("counts").to_numpy(zero_copy_only=False)
    order = np.argsort(levels.astype(str), kind="stable")
    levels, number = levels[order], number[order]
    if not len(levels):
        return DroppedColumn(name, 1.0, "it has no value")
    if len(levels) == 1 and not missing:
        return DroppedColumn(name, 0.0, f"it is {levels[0]!r:.40} in every row")
    rare = number < min(DEFAULTS.rare_category, len(text) / FEW)
    if rare.sum() < 2:
        rare[:] = False
    return CategoryColumn(name, missing, levels[~rare], levels[rare])


def date_column(name: str, values: Any, written: str) -> Column:
    days = as_days(values, written)
    present = days[~np.isnan(days)]
    missing = 1.0 - len(present) / max(len(days), 1)
    if not len(present):
        return DroppedColumn(name, 1.0, "it has no value")
    span = float(np.ptp(present))
    if not span and not missing:
        return DroppedColumn(name, 0.0, "it is the same date in every row")
    cycles = [cycle for cycle, least in SPAN.items() if span >= least]
    cycles += ["day"] if (present != np.floor(present)).any() else []
    return DateColumn(name, missing, float(np.median(present)), written, tuple(cycles))


def text_column(name: str, values: Any) -> Column:
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = words_of(values)
    missing = sum(not text for text in words) / max(len(words), 1)
    vectorizer = TfidfVectorizer(
        sublinear_tf=True, min_df=2 if len(words) >= FEW else 1, max_features=DEFAULTS.max_words
    )
    try:
        vectorizer.fit(words)
    except ValueError:  # of scikit-learn: no word is left
        return DroppedColumn(name, missing, "no word of it stands in two rows")
    names = np.array(vectorizer.get_feature_names_out().tolist(), dtype=object)
    return TextColumn(name, missing, names, np.asarray(vectorizer.idf_, np.float64))
