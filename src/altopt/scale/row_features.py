"""X from datasets of numbers: row after row into the panels of a Sheet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.tables import from_arrow
from altopt.scale.graph_folder import feature_sheet
from altopt.scale.sources import Sources
from altopt.table.files import list_matrix

BLOCK_BYTES = 1 << 25  # of X in memory at a time


def write_features(sources: Sources, folder: Path, n_nodes: int) -> dict[str, Any]:
    """Write X into a GraphFolder; returns the names of its columns."""
    table = sources.features
    if table is None:
        return {"names": []}
    names, at = feature_names(sources), 0
    sheet = feature_sheet(folder, n_nodes, len(names)).create()
    for block in feature_blocks(sources, max(BLOCK_BYTES // (8 * len(names)), 1)):
        if block.shape[1] != len(names):
            raise InputError(
                f"{table.name} has rows of {block.shape[1]} numbers; give every node {len(names)}."
            )
        with np.errstate(over="ignore"):
            numbers = block.astype(np.float32)
        refuse_not_finite(numbers, at, names, sources)
        sheet.write_rows(at, numbers)
        at += len(numbers)
    return {"names": names}


def feature_names(sources: Sources) -> list[str]:
    table, columns = sources.features, sources.feature_columns
    assert table is not None
    if table.kind == "array":
        if table.arrays[0].ndim != 2:
            raise InputError(
                f"{table.name} must hold a 2-D array of numbers; its shape is {table.arrays[0].shape}."
            )
        return [f"x{j}" for j in range(table.arrays[0].shape[1])]
    if holds_lists(sources):
        first = next(iter(feature_blocks(sources, 1)))
        return [f"x{j}" for j in range(first.shape[1])]
    return columns


def holds_lists(sources: Sources) -> bool:
    from altopt.table.files import is_list

    table, columns = sources.features, sources.feature_columns
    return table is not None and columns == ["features"] and is_list(table.schema.field("features").type)


def feature_blocks(sources: Sources, rows: int) -> Iterator[Array]:
    """Rows of X as they stand in the files."""
    import pyarrow as pa

    table = sources.features
    assert table is not None
    if table.kind == "array":
        for array in table.arrays:
            for first in range(0, len(array), rows):
                yield np.asarray(array[first : first + rows])
        return
    lists, node, place = holds_lists(sources), sources.names.node, table.name
    columns = sources.feature_columns
    for batch in table.batches([node, *columns], rows):
        by_name = dict(zip(batch.schema.names, batch.columns))
        if lists:
            ids = from_arrow(by_name[node], f"{place}, column {node!r},")
            yield list_matrix(pa.chunked_array([by_name["features"]]), ids, place)
        else:
            yield np.column_stack([numbers_of(by_name[name]) for name in columns])


def numbers_of(column: Any) -> Array:
    """A column of numbers, NaN where missing."""
    return np.asarray(column.cast("double").to_numpy(zero_copy_only=False))


def refuse_not_finite(block: Array, at: int, names: list[str], sources: Sources) -> None:
    """Refuse what is missing, infinite or too large for float32."""
    if np.isfinite(block.sum(dtype=np.float64)):
        return
    bad = np.argwhere(~np.isfinite(block))
    if len(bad):
        row, column = bad[0]
        assert sources.features is not None
        raise InputError(
            f"{sources.features.name}, column {names[column]!r}, has no finite number in row {at + row + 1:,}; a fit "
            "past memory fills nothing in: fill it in, or fit without --memory."
        )
