"""TableReader: the columns of a table as one numeric matrix, found at the fit and the same for later rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.table.columns import Column, Unreadable
from altopt.table.frame import Frame
from altopt.table.kinds import column_of

SPARSE_BELOW = 1 / 3  # share of numbers that are not 0 below which the matrix is sparse
WORDS_A_ROW = 10
MAX_WIDTH = 2**31
LISTED = 20  # columns that a message names


@dataclass(frozen=True)
class ColumnReading:
    """How one column was read.

    Attributes
    ----------
    name : str
    kind : str
        number, boolean, category, date, text or dropped.
    how : str
    missing : float
        The share of rows without a value.
    n_columns : int
        Numeric columns that it became.
    """

    name: str
    kind: str
    how: str
    missing: float
    n_columns: int


class ColumnReadings(list[ColumnReading]):
    """A list of ColumnReading that prints as a table."""

    def __str__(self) -> str:
        rows = [("column", "kind", "missing", "how")]
        rows += [(c.name, c.kind, f"{c.missing:.0%}" if c.missing else "", c.how) for c in self]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join(
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths)), row[3]]).rstrip()
            for row in rows
        )


@dataclass(frozen=True)
class TableReader:
    """The columns of a table, each by its kind, side by side in a matrix.

    Attributes
    ----------
    columns : tuple of Column
        One for each column of the table, in its order.
    named : bool
        Whether later tables are matched by the names of their columns; else by position.

    Examples
    --------
    >>> from altopt.table.frame import as_frame
    >>> import pyarrow as pa
    >>> reader = TableReader.fit(as_frame(pa.table({"age": [31, 35, None, 40], "plan": 2 * ["free", "gold"]})))
    >>> print(reader.readings)
    column  kind      missing  how
    age     number    25%      as it is; 35 where it is missing, and a column that says so
    plan    category           gold or free
    >>> reader.transform(as_frame(pa.table({"plan": ["gold", "other"], "age": [20, 30]})))
    array([[20.,  0.,  1.],
           [30.,  0.,  0.]])
    """

    columns: tuple[Column, ...]
    named: bool

    @classmethod
    def fit(cls, frame: Frame) -> "TableReader":
        """How each column of a table is read; all that cannot be read are named at once."""
        unknown = sorted(frame.text - set(frame.names))
        problems = [f"has no column {name!r} to read as text" for name in unknown]
        columns = []
        for name, values in zip(frame.names, frame.columns):
            try:
                columns.append(column_of(name, values, name in frame.text))
            except Unreadable as error:
                problems.append(f"column {name!r} {error}")
        refuse(frame.origin, problems)
        reader = cls(tuple(columns), frame.named)
        if not reader.names:
            reasons = "; ".join(f"{c.name!r}: {c.how}" for c in columns[:LISTED])
            raise InputError(
                f"{frame.origin} has no column that tells nodes apart ({reasons or 'it has none at all'}). Add one, "
                "or leave the features out: fit(None, y, graph=...)."
            )
        return reader

    @property
    def names(self) -> list[str]:
        """The names of the matrix's columns."""
        return [name for column in self.columns for name in column.names]

    @property
    def sparse(self) -> bool:
        """Whether most numbers of the matrix are 0: of categories one a row is not, of text a few are not."""
        stored = {"category": 1, "text": WORDS_A_ROW}
        widths = [(len(column.names), stored.get(column.kind, MAX_WIDTH)) for column in self.columns]
        return sum(min(pair) for pair in widths) < SPARSE_BELOW * sum(width for width, _ in widths)

    @property
    def readings(self) -> ColumnReadings:
        return ColumnReadings(
            ColumnReading(c.name, c.kind, c.how, float(c.missing), len(c.names)) for c in self.columns
        )

    @property
    def typical(self) -> Array:
        """The row that stands for a node without one."""
        return np.array([value for column in self.columns for value in column.typical])

    def transform(self, frame: Frame) -> Any:
        """The matrix of a table with the columns of the fit, in any order: dense, or CSR where most of it is 0."""
        values = self.matched(frame)
        blocks, problems = [], []
        for column, found in zip(self.columns, values):
            try:
                blocks.append(column.transform(found))
            except Unreadable as error:
                problems.append(f"column {column.name!r} {error}, as it held at the fit")
        refuse(frame.origin, problems)
        return side_by_side(blocks, self.sparse)

    def matched(self, frame: Frame) -> list[Any]:
        """The table's columns in the order of the fit; missing and unknown ones are named, all of them."""
        wanted = [column.name for column in self.columns]
        if not (self.named and frame.named):
            if len(frame.names) != len(wanted):
                raise InputError(
                    f"{frame.origin} has {len(frame.names)} features, but AltOpt is expecting {len(wanted)} features "
                    "as input: as many columns as at the fit."
                )
            return frame.columns
        place = dict(zip(frame.names, frame.columns))
        absent = [name for name in wanted if name not in place]
        extra = [name for name in frame.names if name not in set(wanted)]
        problems = [f"lacks {listed(absent)}, which the model was fitted on"] if absent else []
        problems += (
            [f"has {listed(extra)}, unknown to the model: leave {'it' if len(extra) == 1 else 'them'} out"]
            if extra
            else []
        )
        refuse(frame.origin, problems)
        return [place[name] for name in wanted]


def listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:LISTED])) + (", ..." if len(names) > LISTED else "")
    return f"the column{'' if len(names) == 1 else 's'} {shown}"


def refuse(origin: str, problems: list[str]) -> None:
    if problems:
        raise InputError(f"{origin}: {'; '.join(problems)}.")


def side_by_side(blocks: list[Any], sparse: bool) -> Any:
    """Blocks of columns as one matrix."""
    if sparse:
        return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
    return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])
