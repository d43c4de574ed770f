"""Labels from datasets: positions and class numbers of the labelled nodes, by the rules of the fit in memory."""

from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.tables import from_arrow
from altopt.graph.validation import UNKNOWN, known_labels, read_y
from altopt.scale.id_tables import tables_within
from altopt.scale.sources import Sources


def read_labels(
    sources: Sources, n_nodes: int, parts: list[Path], work: Path, limit: float
) -> dict[str, Any]:
    """Write `labelled.i64` and `labels.i32` into `work`; returns the classes."""
    place = f"{sources.labels.name}, column {sources.names.label!r},"
    positions, labels = given_labels(sources, n_nodes, parts, work, limit)
    if not len(labels):
        raise InputError(f"{place} holds no label at all. Give at least two classes.")
    classes, codes = read_y(labels, len(labels))
    known = codes != UNKNOWN
    positions, codes = positions[known], codes[known]
    order = np.argsort(positions, kind="stable")
    positions, codes = positions[order], codes[order]
    repeated = positions[1:] == positions[:-1]
    differ = np.flatnonzero(repeated & (codes[1:] != codes[:-1]))
    if len(differ):
        k = int(differ[0])
        node = id_of(int(positions[k]), parts)
        a, b = (classes.tolist()[code] for code in sorted(codes[k : k + 2]))
        raise InputError(
            f"{sources.labels.name} gives node {node!r} two labels, {a!r} and {b!r}. Decide on one."
        )
    first = np.concatenate([[True], ~repeated])
    positions[first].astype(np.int64).tofile(work / "labelled.i64")
    codes[first].astype(np.int32).tofile(work / "labels.i32")
    return {"classes": classes.tolist()}


def given_labels(
    sources: Sources, n_nodes: int, parts: list[Path], work: Path, limit: float
) -> tuple[Array, Array]:
    """Positions and labels of the rows that have one."""
    import pyarrow.parquet as pq

    table, names = sources.labels, sources.names
    if table.kind == "array":
        labels = np.concatenate([np.asarray(array).reshape(-1) for array in table.arrays])
        if len(labels) != n_nodes:
            raise InputError(
                f"{table.name} has {len(labels):,} entries for {n_nodes:,} nodes; give each one, -1 where unknown."
            )
        return np.arange(n_nodes), labels
    if sources.id_kind == "positions":
        found = pq.read_table(list(map(str, table.files)), columns=[names.node, names.label])
        positions = np.asarray(found.column(names.node).cast("int64").to_numpy())
        outside = positions[(positions < 0) | (positions >= n_nodes)].tolist()
        if outside:
            raise InputError(
                f"{table.name}, column {names.node!r}, names node {outside[0]}, which is not among the {n_nodes:,} "
                f"nodes ({len(set(outside)):,} missing in all): add it there or drop it here."
            )
    else:
        with tables_within(limit, work / "spill", sources.id_kind, parts) as tables:
            tables.place_labels(table, names.node, names.label, work / "labels.parquet")
        found = pq.read_table(work / "labels.parquet")
        positions = np.asarray(found.column("pos").to_numpy())
    column = found.column(1)
    column = typed(column) if sources.text_labels else column
    return positions, from_arrow(column, f"{table.name}, column {names.label!r},")


def known_in(column: Any) -> tuple[int, set[Any]]:
    """How many labels a column has, and which classes."""
    values = from_arrow(column, "the labels")
    known = values[known_labels(values)].tolist()
    return len(known), set(known)


def typed(column: Any) -> Any:
    """Labels of a text table as numbers where all of them are, as in memory."""
    import pyarrow as pa

    for kind in (pa.int64(), pa.float64()):
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            continue
    return column


def id_of(position: int, parts: list[Path]) -> Any:
    """The id at a position, for a message."""
    import pyarrow.parquet as pq

    for part in parts:
        ids = pq.read_table(part).column(0)
        if position < len(ids):
            return ids[position].as_py()
        position -= len(ids)
    return position
