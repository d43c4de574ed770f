"""Tables as people have them: columns of any kind, and how each is read as numbers."""

from altopt.table.frame import Frame, as_frame
from altopt.table.reader import ColumnReading, ColumnReadings, TableReader

__all__ = ["ColumnReading", "ColumnReadings", "Frame", "TableReader", "as_frame"]
