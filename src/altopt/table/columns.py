"""How a column of a table is read as numbers: number, boolean, category, date, text, or not at all."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError

DAY = 86_400.0  # seconds
CYCLES = {"year": 365.2425, "week": 7.0, "day": 1.0}  # days
DATE_FORMATS = ("iso", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M")
NUMBER = r"^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$"
DECIMAL_COMMA = r"^[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?$"


class Unreadable(InputError):
    """Values that a column cannot hold; the message begins after the column's name."""


@dataclass(frozen=True)
class NumberColumn:
    """Numbers or booleans; the median, or the more frequent of two, stands for a missing one.

    Attributes
    ----------
    missing : float
        The share of the fit's rows without a value. Where it is above 0, a second column says which.
    fill : float
    boolean : bool
    """

    name: str
    missing: float
    fill: float
    boolean: bool = False

    @property
    def kind(self) -> str:
        return "boolean" if self.boolean else "number"

    @property
    def how(self) -> str:
        if not self.missing:
            return "as it is"
        return f"as it is; {self.fill:g} where it is missing, and a column that says so"

    @property
    def names(self) -> list[str]:
        return [self.name, *([f"{self.name}: missing"] if self.missing else [])]

    @property
    def typical(self) -> list[float]:
        """What stands for a node without a row."""
        return [self.fill, *([0.0] if self.missing else [])]

    def transform(self, column: Any) -> Array:
        values = as_numbers(column)
        absent = np.isnan(values)
        filled = np.where(absent, self.fill, values)
        return np.column_stack([filled, absent.astype(np.float64)]) if self.missing else filled[:, None]


@dataclass(frozen=True)
class CategoryColumn:
    """One column a category; rare ones share one, and a missing value has its own. Unseen ones later have none.

    Attributes
    ----------
    levels, rare : array of text
    """

    kind: ClassVar[str] = "category"

    name: str
    missing: float
    levels: Array
    rare: Array

    @property
    def _single(self) -> bool:
        """Whether one column tells all."""
        return len(self.levels) == 2 and not len(self.rare) and not self.missing

    @property
    def how(self) -> str:
        if self._single:
            return f"{self.levels[1]} or {self.levels[0]}"
        parts = [f"{len(self.levels):,} categories, a column each"]
        parts += [f"{len(self.rare):,} rare ones together"] if len(self.rare) else []
        parts += ["missing as one more"] if self.missing else []
        return "; ".join(parts)

    @property
    def names(self) -> list[str]:
        levels = self.levels[1:] if self._single else self.levels
        names = [f"{self.name}={level}" for level in levels.tolist()]
        names += [f"{self.name}: rare"] if len(self.rare) else []
        return names + ([f"{self.name}: missing"] if self.missing else [])

    @property
    def typical(self) -> list[float]:
        return [0.0] * len(self.names)

    def transform(self, column: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        values = as_text(column)
        known = pa.array([*self.levels.tolist(), *self.rare.tolist()], pa.large_string())
        code = pc.index_in(values, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False)
        code = np.minimum(code.astype(np.int64), len(self.levels))
        if self.missing:
            absent = values.is_null().to_numpy(zero_copy_only=False)
            code[absent] = len(self.levels) + bool(len(self.rare))
        if self._single:
            return (code == 1).astype(np.float64)[:, None]
        rows = np.flatnonzero(code >= 0)
        shape = (len(code), len(self.names))
        return sp.csr_array((np.ones(len(rows)), (rows, code[rows])), shape=shape)


@dataclass(frozen=True)
class DateColumn:
    """Days since 1970, and the place in a year, a week and a day where dates span several.

    Attributes
    ----------
    written : str
        How a date in text is written: "iso" or a format.
    cycles : tuple of str
        Names of CYCLES, each read as a sine and a cosine.
    """

    kind: ClassVar[str] = "date"

    name: str
    missing: float
    fill: float
    written: str
    cycles: tuple[str, ...]

    @property
    def how(self) -> str:
        parts = ["days", *(f"the time of the {cycle}" for cycle in self.cycles)]
        written = "" if self.written == "iso" else f", written as {self.written}"
        missing = "; the median where it is missing, and a column that says so" if self.missing else ""
        return ", ".join(parts) + written + missing

    @property
    def names(self) -> list[str]:
        parts = [f"{self.name}: {cycle}, {wave}" for cycle in self.cycles for wave in ("sine", "cosine")]
        return [self.name, *parts, *([f"{self.name}: missing"] if self.missing else [])]

    @property
    def typical(self) -> list[float]:
        return [self.fill, *([0.0] * (len(self.names) - 1))]

    def transform(self, column: Any) -> Array:
        days = as_days(column, self.written)
        absent = np.isnan(days)
        parts = [np.where(absent, self.fill, days)]
        for cycle in self.cycles:
            angle = 2 * np.pi * np.where(absent, 0.0, days) / CYCLES[cycle]
            parts += [np.where(absent, 0.0, np.sin(angle)), np.where(absent, 0.0, np.cos(angle))]
        return np.column_stack([*parts, *([absent.astype(np.float64)] if self.missing else [])])


@dataclass(frozen=True)
class TextColumn:
    """TF-IDF of the words that occur in more than one row.

    Attributes
    ----------
    words : array of text
    idf : array of float
        The weight of each: the logarithm of how few rows have it.
    """

    kind: ClassVar[str] = "text"

    name: str
    missing: float
    words: Array
    idf: Array

    @property
    def how(self) -> str:
        return f"TF-IDF of {len(self.words):,} words"

    @property
    def names(self) -> list[str]:
        return [f"{self.name}: {word}" for word in self.words.tolist()]

    @property
    def typical(self) -> list[float]:
        return [0.0] * len(self.words)

    def transform(self, column: Any) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.words.tolist(), sublinear_tf=True)
        vectorizer.idf_ = self.idf
        return sp.csr_array(vectorizer.transform(words_of(column)))


@dataclass(frozen=True)
class DroppedColumn:
    """A column that says nothing of a node: constant, empty, or another name of each row."""

    kind: ClassVar[str] = "dropped"

    name: str
    missing: float
    how: str

    @property
    def names(self) -> list[str]:
        return []

    @property
    def typical(self) -> list[float]:
        return []

    def transform(self, column: Any) -> Array:
        return np.zeros((len(column), 0))


Column = NumberColumn | CategoryColumn | DateColumn | TextColumn | DroppedColumn


def is_string(kind: Any) -> bool:
    from pyarrow import types

    return any(test(kind) for test in (types.is_string, types.is_large_string, types.is_string_view))


def as_numbers(column: Any) -> Array:
    """A column as float64, NaN where it is missing; numbers in text are read as such."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = column.dictionary_decode() if types.is_dictionary(column.type) else column
    if is_string(column.type):
        column = as_text(column)
        if pc.all(pc.match_substring_regex(column, DECIMAL_COMMA)).as_py():
            column = pc.replace_substring(column, ",", ".")
        odd = column.filter(pc.invert(pc.match_substring_regex(column, NUMBER)))
        if len(odd.drop_null()):
            raise Unreadable(f"holds the text {odd.drop_null()[0].as_py()!r:.60}, not numbers")
    elif types.is_duration(column.type):
        column = pc.cast(column, pa.duration("ms"), safe=False).cast(pa.int64()).cast(pa.float64())
        column = pc.divide(column, 1000.0)
    elif types.is_time(column.type):
        column = pc.cast(column.cast(pa.time64("us")), pa.int64()).cast(pa.float64())
        column = pc.divide(column, 3.6e9)  # hours
    elif types.is_boolean(column.type):
        column = column.cast(pa.int8())
    try:
        numbers: Array = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowException, OverflowError) as error:
        raise Unreadable(f"holds {column.type}, not numbers") from error
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise Unreadable(f"has no finite number in row {row + 1:,}: it is infinite")
    return numbers


def as_text(column: Any) -> Any:
    """A column as text without blanks around it, null where it is empty; whole numbers without a fraction."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = column.dictionary_decode() if types.is_dictionary(column.type) else column
    if types.is_floating(column.type):
        numbers = column.to_numpy(zero_copy_only=False).astype(np.float64)
        texts = [
            None if x != x else str(int(x)) if x == np.floor(x) and abs(x) < 2**63 else repr(x)
            for x in numbers.tolist()
        ]
        return pa.array(texts, pa.large_string())
    try:
        text = column.cast(pa.large_string())
    except pa.ArrowException:
        text = pa.array([None if v is None else str(v) for v in column.to_pylist()], pa.large_string())
    text = pc.utf8_trim_whitespace(text)
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.large_string()), text)


def words_of(column: Any) -> list[str]:
    """Each row's text, empty where it is missing."""
    words: list[str] = as_text(column).fill_null("").to_pylist()
    return words


def as_days(column: Any, written: str) -> Array:
    """Dates as days since 1970, NaN where missing."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import types

    column = column.dictionary_decode() if types.is_dictionary(column.type) else column
    if is_string(column.type):
        column = dates_in_text(column, written)
    elif not (types.is_date(column.type) or types.is_timestamp(column.type) or types.is_null(column.type)):
        raise Unreadable(f"holds {column.type}, not dates")
    instants = pc.cast(column, pa.timestamp("ms"), safe=False)
    seconds = pc.divide(instants.cast(pa.int64()).cast(pa.float64(), safe=False), 1000.0)
    days: Array = seconds.to_numpy(zero_copy_only=False) / DAY
    return days


def dates_in_text(column: Any, written: str) -> Any:
    """Text as instants, by a format; a text that is written otherwise is refused."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_text(column)
    try:
        if written == "iso":
            column = pc.replace_substring_regex(column, r"(Z|[+-]\d\d:?\d\d)$", "")
            return column.cast(pa.string()).cast(pa.timestamp("ms"))
        return pc.strptime(column.cast(pa.string()), format=written, unit="s")
    except pa.ArrowException as error:
        raise Unreadable(f"holds a date that is not written as {written}") from error
