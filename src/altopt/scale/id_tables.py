"""Node ids as positions, by DuckDB within a memory limit: distinct ids in order, edges and labels joined with them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from altopt.errors import DiskError, InputError, require_extra
from altopt.graph.file_formats import one_line
from altopt.graph.placement import MAX_WEIGHT, MIN_WEIGHT, WEIGHTS
from altopt.scale.dataset import Dataset, family, identifier, quoted

THREAD_MEMORY = 256e6  # bytes a thread of DuckDB should have
GROUP = 122_880  # rows of a group of ids: what is read to find one


@dataclass(frozen=True)
class IdTables:
    """Queries about ids; `kind` is whole or text, `parts` are the files of ids in the order of positions."""

    connection: Any
    kind: str
    parts: list[Path]

    @property
    def type(self) -> str:
        return "BIGINT" if self.kind == "whole" else "VARCHAR"

    def run(self, query: str) -> list[Any]:
        """The rows of a small answer."""
        with in_words():
            return list(self.connection.execute(query).fetchall())

    def copy(self, query: str, to: Path, options: str = "") -> None:
        """The answer as a Parquet file."""
        self.run(f"COPY ({query}) TO {quoted(str(to))} (FORMAT parquet{options})")

    def column(self, name: str) -> str:
        """A column of ids, in their type."""
        return f"{identifier(name)}::{self.type}"

    def known(self) -> str:
        """The table of ids and positions."""
        tables, before = [], 0
        for part in self.parts:
            file = f"read_parquet({quoted(str(part))}, file_row_number=true)"
            tables.append(f"SELECT id, file_row_number + {before} AS pos FROM {file}")
            before += int(self.run(f"SELECT count(*) FROM read_parquet({quoted(str(part))})")[0][0])
        return f"({' UNION ALL '.join(tables)})"

    def number(self, table: Dataset, columns: tuple[str, ...], to: Path) -> None:
        """Every distinct id of some columns, sorted by value."""
        ids = " UNION ALL ".join(f"SELECT {self.column(name)} AS id FROM {table.sql}" for name in columns)
        self.copy(f"SELECT DISTINCT id FROM ({ids}) ORDER BY id", to, f", ROW_GROUP_SIZE {GROUP}")

    def add_unknown(self, table: Dataset, column: str, to: Path) -> bool:
        """Ids of a column that have no position yet, in the order of their rows; False where there are none."""
        rows = table.sql.replace("])", "], file_row_number=true, filename=true)")
        place = f"list_position([{', '.join(quoted(str(file)) for file in table.files)}], filename)"
        found = f"SELECT {self.column(column)} AS id, {place} AS part, file_row_number AS row FROM {rows}"
        missing = f"SELECT l.* FROM ({found}) l ANTI JOIN {self.known()} n ON l.id = n.id"
        self.copy(
            f"SELECT id FROM ({missing}) GROUP BY id ORDER BY min(part::BIGINT * 1099511627776 + row)",
            to,
            f", ROW_GROUP_SIZE {GROUP}",
        )
        if self.run(f"SELECT count(*) FROM read_parquet({quoted(str(to))})")[0][0]:
            return True
        to.unlink()
        return False

    def refuse_repeated(self, what: str) -> None:
        """Refuse ids that stand in two rows."""
        found = self.run(f"SELECT id FROM {self.known()} GROUP BY id HAVING count(*) > 1 ORDER BY id LIMIT 1")
        if found:
            raise InputError(f"{what} names node {found[0][0]!r} more than once; name each node once.")

    def refuse_missing(self, table: Dataset, columns: tuple[str, ...]) -> None:
        """Refuse rows without an id."""
        for name in columns:
            if table.has_nulls(name):
                n = self.run(f"SELECT count(*) FROM {table.sql} WHERE {identifier(name)} IS NULL")[0][0]
                if n:
                    raise InputError(
                        f"{table.name}, column {name!r}, has no id in {n:,} rows; fill them in or drop them."
                    )

    def refuse_unknown(self, table: Dataset, columns: tuple[str, ...], nodes: str) -> None:
        """Refuse ids that have no position; `nodes` says where the nodes are listed."""
        for name in columns:
            column = f"SELECT {self.column(name)} AS id FROM {table.sql}"
            absent = f"SELECT DISTINCT e.id FROM ({column}) e ANTI JOIN {self.known()} n ON e.id = n.id"
            first, count = self.run(f"SELECT min(id), count(*) FROM ({absent})")[0]
            if count:
                raise InputError(
                    f"{table.name}, column {name!r}, names node {first!r}, which is not among the rows of {nodes} "
                    f"({count:,} missing in all): add it there or drop it here."
                )

    def refuse_bad_weights(self, table: Dataset, ends: tuple[str, str], weight: str) -> None:
        """Refuse weights that are missing, negative or out of range, naming the first such edge."""
        value = f"{identifier(weight)}::DOUBLE"
        fine = f"coalesce({value} = 0 OR ({value} >= {MIN_WEIGHT!r} AND {value} <= {MAX_WEIGHT!r}), false)"
        columns = ", ".join(map(identifier, (*ends, weight)))
        for a, b, w in self.run(f"SELECT {columns} FROM {table.sql} WHERE NOT {fine} LIMIT 1"):
            raise InputError(f"in {table.name} the edge from {a!r} to {b!r} has weight {w}; {WEIGHTS}")

    def place_edges(self, table: Dataset, ends: tuple[str, str], weight: str | None, to: Path) -> None:
        """Edges by the positions of their ends; an edge whose end is unknown is left out."""
        source, target = (self.column(name) for name in ends)
        more = f", {identifier(weight)}::FLOAT AS weight" if weight else ""
        edges = f"SELECT {source} AS a, {target} AS b{more} FROM {table.sql}"
        kept = "s.pos::INTEGER AS source, t.pos::INTEGER AS target" + (
            ", e.weight AS weight" if weight else ""
        )
        joins = f"JOIN {self.known()} s ON e.a = s.id JOIN {self.known()} t ON e.b = t.id"
        self.copy(f"SELECT {kept} FROM ({edges}) e {joins}", to, ", COMPRESSION uncompressed")

    def place_labels(self, table: Dataset, node: str, label: str, to: Path) -> None:
        """Labels by the positions of their nodes, where there is a label."""
        numbers = family(table.schema.field(label).type) in ("whole", "fractional")
        rows = f"SELECT {self.column(node)} AS id, {identifier(label)} AS label FROM {table.sql}"
        self.copy(
            f"SELECT n.pos::BIGINT AS pos, l.label FROM ({rows}) l JOIN {self.known()} n ON l.id = n.id "
            f"WHERE l.label IS NOT NULL{' AND l.label <> -1' if numbers else ''} ORDER BY n.pos",
            to,
        )


@contextmanager
def tables_within(memory: float, temporary: Path, kind: str, parts: list[Path]) -> Iterator[IdTables]:
    """A session of DuckDB that keeps to a limit and spills into `temporary`."""
    duckdb = require_extra("duckdb", "scale", "Reading a graph past memory")
    threads = max(min(os.cpu_count() or 1, int(memory // THREAD_MEMORY)), 1)
    connection = duckdb.connect()
    try:
        connection.execute(
            f"SET memory_limit = '{int(memory / 1e6)}MB'; SET threads = {threads}; "
            f"SET temp_directory = {quoted(str(temporary))}; SET preserve_insertion_order = false; "
            "SET enable_progress_bar = false"
        )
        yield IdTables(connection, kind, parts)
    finally:
        connection.close()


@contextmanager
def in_words() -> Iterator[None]:
    """Errors of DuckDB as sentences."""
    import duckdb

    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise InputError(
            f"the ids do not fit the memory: {one_line(error)}. Give more with --memory."
        ) from error
    except duckdb.ConversionException as error:
        raise InputError(
            f"ids cannot be read as 64-bit whole numbers: {one_line(error)}. Write them as text in all files."
        ) from error
    except duckdb.Error as error:
        if "No space left" in str(error):
            raise DiskError(
                f"The disk is full: {one_line(error)}. Free some space, or name another place."
            ) from error
        raise InputError(f"the tables cannot be read: {one_line(error)}. Check the files.") from error
