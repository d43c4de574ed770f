"""Solving for a panel of F with the edges on disk: the same bits whatever else the memory holds."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from altopt.arrays import Array, row_blocks
from altopt.scale.edge_stream import EdgeBlock
from altopt.scale.panel import PanelSystem, ViewWeights, move_out
from altopt.scale.sheet import Sheet
from altopt.solvers.chebyshev import coefficients, steps_to_shrink
from altopt.solvers.solver import certain

EncodedRows = Iterable[tuple[int, Array, Array]]  # first node, degrees, P of all classes; block after block
ROUGH = 1e-3  # by which a run of steps shrinks the residual: what float16 can hold
LIFT = 2.0**8  # power of two that lifts a correction, about ROUGH of F, into the range of float16
MOVE_ROWS = 1 << 15  # rows that are moved between a block and a file together


class Norms(NamedTuple):
    """Squares of ||r(F)|| and ||F|| on a panel, before each step and after the last."""

    residual: list[float]
    size: list[float]

    def add(self, residual: float, size: float) -> None:
        self.residual.append(residual)
        self.size.append(size)


def steps_needed(norms: list[Norms], weights: ViewWeights, rtol: float) -> int | None:
    """After how many steps all panels together are certain to be within rtol; None: more than these.

    >>> before, after = Norms([4.0, 1e-4], [1.0, 1.0]), Norms([9.0, 2e-4], [1.0, 1.0])
    >>> steps_needed([before, after], ViewWeights(2.0, 2.0), 1e-2), steps_needed([before], ViewWeights(2.0, 2.0), 1e-3)
    (1, None)
    """
    for k in range(len(norms[0].residual)):
        residual, size = (sum(part[k] for part in parts) for parts in zip(*norms))
        if near_enough(weights, residual, size, rtol):
            return k
    return None


def near_enough(weights: ViewWeights, residual: float, size: float, rtol: float) -> bool:
    """Whether F is certain to be within rtol, by the squares of ||r(F)|| and ||F||."""
    return certain(float(np.sqrt(residual)), float(np.min(weights.bounds.lower)), np.sqrt(size), rtol)


def chebyshev(system: PanelSystem, X: Array, rest: Array, n_steps: int) -> Array:
    """G after n_steps from X, which is used up."""
    before = system.empty()
    for step_size, momentum in coefficients(system.weights.bounds, n_steps):
        system.step(X, before, rest, gain=step_size, keep=1.0 + momentum, beta=-momentum, with_norms=False)
        X, before = before, X
    return X


def chebyshev_with_norms(
    system: PanelSystem, X: Array, rest: Array, n_steps: int, rtol: float | None = None
) -> tuple[Array, Norms]:
    """The same, and norms before each step and after the last; with rtol, no step once F is certain to be within."""
    before, norms = system.empty(), Norms([], [])
    for step_size, momentum in coefficients(system.weights.bounds, n_steps):
        found = system.step(X, before, rest, gain=step_size, keep=1.0 + momentum, beta=-momentum)
        norms.add(*found)
        if rtol is not None and near_enough(system.weights, *found, rtol):
            return X, norms
        X, before = before, X
    norms.add(*system.step(X, before, rest, gain=1.0, keep=0.0))
    return X, norms


def rough_steps(weights: ViewWeights) -> int:
    """Steps that shrink any residual to ROUGH of itself."""
    return steps_to_shrink(weights.bounds, ROUGH)


def rest_from(system: PanelSystem, P: EncodedRows) -> Array:
    """rhs / scale of the panel."""
    rest = system.empty()
    for first, degrees, rows in P:
        system.put_rest(rest[first : first + len(rows)], first, degrees, rows)
    return rest


def start_from_rows(system: PanelSystem, P: EncodedRows) -> Array:
    """G of F = P."""
    X = system.empty()
    for first, degrees, rows in P:
        system.put(X[first : first + len(rows)], first, degrees, rows)
    return X


def start_from_labels(system: PanelSystem) -> Array:
    """G of F = Y: zero but on labelled nodes."""
    X = system.empty()
    X[...] = 0
    for first, degrees in row_degrees(system):
        nodes, codes = system.labels_within(first, first + len(degrees))
        X[first + nodes, codes] = 1.0 / np.sqrt(degrees[nodes])
    return X


def rows_of(system: PanelSystem, X: Array, nodes: Array) -> Array:
    """F of some nodes, rising, in the precision that is computed in."""
    out = np.empty((len(nodes), system.width), system.compute_dtype)
    for first, degrees in row_degrees(system):
        begin, end = np.searchsorted(nodes, (first, first + len(degrees)))
        here = nodes[begin:end]
        if len(here):
            root = np.sqrt(degrees[here - first]).astype(system.compute_dtype)
            move_out(np.ascontiguousarray(X[here]), out[begin:end], 0, system.width, root)
    return out


def row_degrees(system: PanelSystem) -> Iterator[tuple[int, Array]]:
    """Degrees of all nodes, MOVE_ROWS at a time, each with its first node."""
    csr = system.edges.csr
    for first in range(0, csr.n_nodes, MOVE_ROWS):
        yield first, csr.degrees(first, min(first + MOVE_ROWS, csr.n_nodes))


def refine(system: PanelSystem, X: Array, P: Callable[[], EncodedRows], out: Sheet) -> None:
    """F of the panel in float32, written to a sheet of one panel: the rough solution and a correction of it.

    r = rhs - H F is computed in float32 from F in float32; H E = r is solved as roughly as F was, and F + E is
    within about ROUGH^2 of the solution. X is used up.
    """
    fine = PanelSystem(system.edges, system.weights, system.labels, system.columns, np.float32)
    G = fine.empty()
    for rows in row_blocks(len(X)):
        G[rows] = X[rows]
    residual = X  # written over: the rough solution is in G
    small = (part for block in system.edges for part in block.parts(MOVE_ROWS))
    for block, encoded in beside(small, P()):
        rest = np.empty((len(encoded), G.shape[1]), np.float32)
        fine.put_rest(rest, block.first, block.degrees, encoded)
        part = np.empty_like(rest)
        fine.block_step(block, G, part, rest)
        residual[block.first : block.last] = part * np.float32(LIFT)
    write_rows(fine, G, out)
    del G
    E = system.empty()
    E[...] = 0
    E = chebyshev(system, E, residual, rough_steps(system.weights))
    write_rows(system, E, out, added=1.0 / LIFT)


def beside(edges: Iterable[EdgeBlock], P: EncodedRows) -> Iterator[tuple[EdgeBlock, Array]]:
    """Each block of edges with the rows of P of its nodes."""
    coming, at, parts = iter(P), 0, [np.empty((0, 0))]
    for block in edges:
        while at < block.last:
            _, _, rows = next(coming)
            parts, at = [*parts, rows], at + len(rows)
        known = np.concatenate([part for part in parts if len(part)])
        yield block, known[: block.last - block.first]
        parts = [known[block.last - block.first :]]


def write_rows(system: PanelSystem, G: Array, out: Sheet, added: float | None = None) -> None:
    """F = D^1/2 G to a sheet of one panel; with `added`, so many times F to what is there."""
    for first, degrees in row_degrees(system):
        last = first + len(degrees)
        F = np.empty((last - first, system.width), system.compute_dtype)
        move_out(G[first:last], F, 0, system.width, np.sqrt(degrees).astype(system.compute_dtype))
        out.write(0, first, F if added is None else out.read(0, first, last) + added * F)
