"""The plan of a fit within a memory budget: how wide panels are, and what else fits beside them."""

import re
from dataclasses import dataclass

import numpy as np

from altopt.arrays import rough_storage, working_dtype
from altopt.errors import InputError
from altopt.operator.kernels.native import ROW_MULTIPLE
from altopt.scale.csr_file import CsrFile
from altopt.scale.sheet import panel_widths

PROCESS = 400_000_000  # bytes of an interpreter with its libraries, and of short-lived arrays
BLOCKS = 3  # of a panel: F, F one step before, and the right-hand side
MOST_COLUMNS = 64  # of a panel: wider ones gain nothing


@dataclass(frozen=True)
class Plan:
    """Columns of the panels of F and of Z, and the precisions in which they are kept.

    Examples
    --------
    >>> plan = Plan.of(n_nodes=2_449_029, n_classes=47, n_inputs=100, budget=2_000_000_000, z_storage="float16")
    >>> plan.storage, plan.f_columns, plan.z_columns[:2]
    ('float16', [(0, 47)], [(0, 40), (40, 72)])
    """

    f_columns: list[tuple[int, int]]
    z_columns: list[tuple[int, int]]
    storage: str
    z_storage: str
    width: int = ROW_MULTIPLE  # columns that a block of F's precision may have
    x_width: int = ROW_MULTIPLE  # and one of features

    @classmethod
    def of(
        cls,
        n_nodes: int,
        n_classes: int,
        n_inputs: int,
        budget: int,
        z_storage: str,
        storage: str | None = None,
    ) -> "Plan":
        """The widest panels of which three blocks fit; F in the rounds as precise as in memory, unless it is large."""
        if storage is None:
            storage = rough_storage(n_nodes, n_classes) or working_dtype(n_nodes, n_classes).name
        width = widest(n_nodes, np.dtype(storage).itemsize, budget)
        x_width = widest(n_nodes, 4, budget)
        f_columns, z_columns = columns(n_classes, width), columns(n_inputs, x_width)
        return cls(f_columns, z_columns, storage, z_storage, width, x_width)


def columns(n_columns: int, width: int) -> list[tuple[int, int]]:
    """First and last column of panels of at most this width."""
    bounds, at = [], 0
    for size in panel_widths(n_columns, width):
        bounds.append((at, at + size))
        at += size
    return bounds


def widest(n_nodes: int, itemsize: int, budget: int) -> int:
    """Columns of the widest panel whose blocks fit the budget."""
    row = BLOCKS * itemsize * n_nodes
    width = usable(budget) // row // ROW_MULTIPLE * ROW_MULTIPLE
    if width < ROW_MULTIPLE:
        needed = row * ROW_MULTIPLE + PROCESS
        raise InputError(
            f"memory={budget:,} bytes is too little for {n_nodes:,} nodes: panels of {ROW_MULTIPLE} columns need "
            f"{needed:,} bytes. Give at least as much."
        )
    return min(width, MOST_COLUMNS)


def bytes_of(memory: str | float) -> int:
    """A size such as 2GB, 500MB or a number of bytes.

    >>> bytes_of("2GB"), bytes_of("1.5 MiB"), bytes_of(1e6)
    (2000000000, 1572864, 1000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", str(memory).lower())
    size = float(memory) if isinstance(memory, int | float) else 0.0
    if found is not None:
        size = float(found[1]) * (1024 if found[3] else 1000) ** (" kmgt".index(found[2] or " "))
    if not 0 < size < float("inf"):
        raise InputError(f"memory must be a size such as 2GB or 500MB, but is {memory!r}.")
    return int(size)


def usable(budget: int) -> int:
    """Bytes of a budget that blocks and edges may take."""
    return max(budget - PROCESS, budget // 2)


def edge_memory(budget: int, csr: CsrFile, row_bytes: int) -> int:
    """Bytes that edges may take beside blocks with so many bytes a node."""
    return usable(budget) - csr.n_nodes * row_bytes
