"""Edges, labels and matrices from files, by the names of their columns."""

from dataclasses import dataclass
from decimal import Decimal
from tokenize import TokenError

import numpy as np
from scipy import sparse

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.file_formats import PathLike, one_line, read_arrow, refuse_absent
from altopt.graph.ids import as_ids
from altopt.graph.matrices import checked_csr
from altopt.graph.tables import choose, from_arrow

NUMBERS = (int, float, Decimal, type(None))


@dataclass(frozen=True)
class ColumnNames:
    """What the columns of files are called."""

    node: str = "node"
    source: str = "source"
    target: str = "target"
    label: str = "label"
    weight: str = "weight"


NAMES = ColumnNames()


def read_columns(
    path: PathLike,
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
    *,
    ids: tuple[str, ...] = ("source", "target", "node"),
    text_ids: bool = False,
) -> dict[str, Array]:
    """Columns of a file."""
    table = read_arrow(path, lambda names: choose(names, required, optional, path), ids, text_ids)
    return {name: from_arrow(table.column(name), f"{path}, column {name!r},") for name in table.schema.names}


def read_edges(path: PathLike, names: ColumnNames = NAMES, *, text_ids: bool = False) -> dict[str, Array]:
    """Columns source, target and, where there is one, weight."""
    ends = (names.source, names.target)
    explicit = (names.weight,) if names.weight != NAMES.weight else ()
    found = read_columns(path, (*ends, *explicit), (names.weight,), ids=ends, text_ids=text_ids)
    edges = {"source": found[names.source], "target": found[names.target]}
    if names.weight in found:
        edges["weight"] = with_decimal_point(found[names.weight])
        require_numbers(edges["weight"], f"{path}, column {names.weight!r},")
    return edges


def with_decimal_point(column: Array) -> Array:
    """Numbers in text with a decimal comma as numbers; anything else as it is."""
    if column.dtype != object or not all(
        v is None or (isinstance(v, str) and "," in v) for v in column.tolist()
    ):
        return column
    try:
        return np.array([np.nan if v is None else float(v.replace(",", ".")) for v in column.tolist()])
    except ValueError:
        return column


def require_numbers(column: Array, what: str) -> None:
    """Refuse text and dates; what a column of numbers lacks is refused where its edge can be named."""
    if column.dtype.kind in "biuf":
        return
    odd = [value for value in column.tolist() if not isinstance(value, NUMBERS)]
    if odd or column.dtype.kind in "Mm":
        raise InputError(f"{what} must be numbers; got {(odd or column.tolist())[0]!r}.")


def read_labels(path: PathLike, names: ColumnNames = NAMES, *, text_ids: bool = False) -> tuple[Array, Array]:
    """Node ids and their labels, None or NaN where unknown."""
    given = read_columns(path, (names.node, names.label), ids=(names.node,), text_ids=text_ids)
    ids = as_ids(given[names.node], f"{path}, column {names.node!r},")
    return once(ids, given[names.label], path)


def once(ids: Array, labels: Array, path: PathLike) -> tuple[Array, Array]:
    """Each node once: a row that repeats another is left out, one that contradicts it refused."""
    if len(set(ids.tolist())) == len(ids):
        return ids, labels
    row: dict[object, int] = {}
    keep, values = [], labels.tolist()
    for k, (node, label) in enumerate(zip(ids.tolist(), values)):
        first = row.setdefault(node, k)
        if first == k:
            keep.append(k)
            continue
        before = values[first]
        if before != label and not (before != before and label != label):  # NaN twice is the same
            raise InputError(
                f"{path} gives node {node!r} two labels, {before!r} in row {first + 1:,} and {label!r} in row "
                f"{k + 1:,}. Decide on one."
            )
    return ids[keep], labels[keep]


def read_sparse(path: PathLike) -> sparse.csr_array:
    """The matrix of a file written by scipy.sparse.save_npz, in CSR form."""
    refuse_absent(path)
    try:
        matrix = sparse.load_npz(path)
    except Exception as error:  # zip, numpy and scipy raise errors of their own
        message = f"{path} is not a file written by scipy.sparse.save_npz ({one_line(error)})."
        raise InputError(message) from error
    return checked_csr(matrix, str(path))


def map_array(path: PathLike) -> Array:
    """The array of a file written by numpy.save, left on disk."""
    refuse_absent(path)
    try:
        X: Array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (
        ValueError,
        OSError,
        EOFError,
        TokenError,
        SyntaxError,
    ) as error:  # its header is parsed as Python
        raise InputError(f"{path} is not a file written by numpy.save ({one_line(error)}).") from error
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(f"{path} must hold a 2-D array of numbers; it holds {X.dtype} of shape {X.shape}.")
    return X
