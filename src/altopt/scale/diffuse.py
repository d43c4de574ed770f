"""Diffusion of features with the edges on disk, a panel of columns at a time."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.operator.diffusion import MIN_RESTART
from altopt.operator.kernels.native import aligned, bits, padded
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.panel import kernels, move_in, move_out
from altopt.scale.sheet import Sheet
from altopt.scale.solve import MOVE_ROWS
from altopt.threads import kernel_threads


def diffuse_panel(
    edges: EdgeStream, X: Iterable[tuple[int, Array]], width: int, restart: float, n_steps: int, out: Sheet
) -> None:
    """n_steps of Z <- (1 - restart) A_tilde Z + restart X from Z = X, written to a sheet of one panel.

    X comes as first nodes and rows of the panel's columns. A node without neighbours keeps its features.
    """
    csr, n_nodes = edges.csr, edges.csr.n_nodes
    if restart == 1.0 or n_steps == 0:
        for first, rows in X:
            out.write(0, first, checked(rows, out.dtype))
        return
    restart = restart if restart > MIN_RESTART else 0.0
    own, Z = (aligned((n_nodes, padded(width)), np.dtype(np.float32)) for _ in range(2))
    for first, rows in X:
        factor = (restart or 1.0) / np.sqrt(csr.degrees(first, first + len(rows)))
        move_in(rows, 0, width, own[first : first + len(rows)], factor.astype(np.float32))
    if restart:
        step(edges, own, Z, (1.0 - restart) / restart, own)  # from Z = X = own / restart
        spare = aligned(own.shape, own.dtype)
    else:
        Z, spare = own, Z
    for _ in range(n_steps - 1 if restart else n_steps):
        step(edges, Z, spare, 1.0 - restart, own if restart else None)
        Z, spare = spare, Z
    for first in range(0, csr.n_nodes, MOVE_ROWS):
        last = min(first + MOVE_ROWS, csr.n_nodes)
        rows = np.empty((last - first, width), np.float32)
        move_out(Z[first:last], rows, 0, width, np.sqrt(csr.degrees(first, last)).astype(np.float32))
        if 0.0 < restart < 1.0:
            rows[np.diff(csr.indptr[first : last + 1]) == 0] /= restart
        out.write(0, first, checked(rows, out.dtype))


def step(edges: EdgeStream, X: Array, out: Array, scale: float, rest: Array | None) -> None:
    """out <- scale A_tilde X + rest, in the coordinates D^-1/2 X."""
    for block in edges:
        rows = slice(block.first, block.last)
        per_degree = np.float32(scale) * (1.0 / block.degrees).astype(np.float32)
        kernels().step(
            block.indptr,
            block.indices,
            block.weights,
            bits(X),
            bits(out[rows]),
            per_degree,
            None,
            None if rest is None else bits(rest[rows]),
            1.0,
            0.0,
            0.0,
            None,
            kernel_threads(),
            block.first,
        )


def checked(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Rows that the sheet can hold."""
    if dtype == np.float16 and len(rows) and float(np.abs(rows).max()) > float(np.finfo(np.float16).max):
        raise InputError(
            "the diffused features are too large to be kept in half precision. Divide the columns of X by their size."
        )
    return rows
