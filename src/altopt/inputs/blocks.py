"""Several inputs side by side, their sizes balanced."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.inputs.inputs import ChangedNodes, ColumnMap, Inputs, InputSource, NewNodes, Prepared
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.io.array_io import finite, with_prefix
from altopt.operator.feature_matrix import has_missing
from altopt.operator.scaling import row_norms, scale_rows
from altopt.settings import check_choice, is_number


def stored(Z: Any) -> int:
    return int(Z.nnz if sp.issparse(Z) else Z.size)


class SideBySide:
    """What each block keeps of each node, cut by rows together."""

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.shape = (parts[0].shape[0], sum(part.shape[1] for part in parts))
        self.size = sum(stored(part) for part in parts)

    def __getitem__(self, rows: Any) -> "SideBySide":
        return SideBySide(tuple(part[rows] for part in self.parts))


@dataclass(frozen=True)
class PreparedBlocks(Prepared):
    parts: tuple[Prepared, ...]
    scaling: Literal["unit", "level", "size"] | None
    sizes: tuple[
        tuple[float, float], ...
    ]  # mean length of each part's rows, and of the levelled ones, squared
    shares: tuple[float, ...] | None = None

    @property
    def Z(self) -> SideBySide:
        return SideBySide(tuple(part.Z for part in self.parts))

    @cached_property
    def sparse(self) -> bool:
        """Whether sparse rows take less memory: an entry there is a value and a column number."""
        firsts = [(part.Z, part.rows(part.Z[:1])) for part in self.parts]
        entries = [stored(Z) / Z.shape[0] if sp.issparse(row) else row.shape[1] for Z, row in firsts]
        return bool(2 * sum(entries) < sum(row.shape[1] for _, row in firsts))

    def rows(self, Z: SideBySide) -> Any:
        blocks = [part.rows(block) for part, block in zip(self.parts, Z.parts)]
        if self.scaling is not None:
            shares = self.shares or (1.0 / len(blocks),) * len(blocks)
            blocks = [self._scaled(*each) for each in zip(blocks, self.sizes, shares)]
        if self.sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(block) for block in blocks], format="csr"))
        return np.concatenate([block.toarray() if sp.issparse(block) else block for block in blocks], axis=1)

    def _scaled(self, block: Any, size: tuple[float, float], share: float) -> Any:
        (mean, square), length = size, row_norms(block)
        if self.scaling == "unit":
            scale = 1.0 / np.where(length > 0, length, 1.0)
        else:
            exponent = levelling(self.scaling)
            scale = np.where(length > 0, length / mean, 1.0) ** -exponent / np.sqrt(square)
        return scale_rows(block, scale * np.sqrt(share))

    def extend(self, new: NewNodes) -> SideBySide:
        return SideBySide(tuple(part.extend(new) for part in self.parts))

    def renewed(self, changed: ChangedNodes) -> SideBySide:
        return SideBySide(tuple(part.renewed(changed) for part in self.parts))

    @property
    def column_maps(self) -> list[ColumnMap | int]:
        return [one for part in self.parts for one in part.column_maps]

    @property
    def nbytes(self) -> float:
        return sum(part.nbytes for part in self.parts)

    @property
    def n_features(self) -> int | None:
        """That of its parts; -1 where they do not agree, which no X has."""
        found = {part.n_features for part in self.parts} - {None}
        return found.pop() if len(found) == 1 else -1 if found else None

    @property
    def grows(self) -> bool:
        return all(part.grows for part in self.parts)

    @property
    def renews(self) -> bool:
        return all(part.renews for part in self.parts)

    def with_rows(self, Z: SideBySide, at: Array | None = None) -> "PreparedBlocks":
        parts = tuple(part.with_rows(block, at) for part, block in zip(self.parts, Z.parts))
        return replace(self, parts=parts)

    def state(self) -> dict[str, Array]:
        arrays = {"sizes": np.array(self.sizes, dtype=np.float64).reshape(len(self.parts), 2)}
        for k, part in enumerate(self.parts):
            arrays |= {f"{k}.{name}": value for name, value in part.state().items()}
        return arrays


@dataclass(frozen=True)
class BlockInputs(Inputs):
    """Several inputs concatenated, x_i = [block 1, ..., block b], with block sizes balanced.

    The result is sparse where that takes less memory.

    Parameters
    ----------
    parts : tuple of Inputs
    scaling : {"unit", "level", "size"} or None, default "unit"
        "unit" gives every row of each of the b blocks the length 1 / sqrt(b), so that the product of two nodes' rows is
        the mean cosine of their blocks (a zero block counts 0). "size" divides a block by one number, so that its mean
        squared row length is 1 / b. "level" does that and divides each row by the root of its length before. None
        changes nothing.
    shares : tuple of float, optional
        The share of each block in the squared length of a row, where blocks are scaled; None: equal shares.

    Examples
    --------
    >>> import numpy as np
    >>> from altopt import Graph
    >>> from altopt.inputs import AdjacencyInputs, BlockInputs, InputSource, RawInputs
    >>> from altopt.operator import NormalizedAdjacency
    >>> graph = Graph([(0, 1)], n_nodes=2)
    >>> X = np.array([[3.0, 4.0], [0.0, 2.0]])
    >>> source = InputSource(graph, NormalizedAdjacency(graph.adjacency), X, restart=0.2, n_steps=10, seed=0)
    >>> prepared = BlockInputs((RawInputs(), AdjacencyInputs())).prepare(source)
    >>> prepared.rows(prepared.Z).round(2)
    array([[0.42, 0.57, 0.  , 0.71],
           [0.  , 0.71, 0.71, 0.  ]], dtype=float32)
    """

    parts: tuple[Inputs, ...]
    scaling: Literal["unit", "level", "size"] | None = "unit"
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.parts, tuple) or not all(isinstance(part, Inputs) for part in self.parts):
            raise InputError(f"BlockInputs: parts must be a tuple of inputs, but is {self.parts!r}.")
        numbers = isinstance(self.shares, tuple) and all(map(is_number, self.shares))
        if self.shares is not None and not (
            numbers and len(self.shares) == len(self.parts) and all(0 < share <= 1 for share in self.shares)
        ):
            raise InputError(
                f"BlockInputs: shares must be numbers above 0 up to 1, one for each part, but is {self.shares!r}."
            )
        if not self.parts:
            raise InputError("BlockInputs needs at least one part, but parts is empty.")
        check_choice(self, "scaling", ("unit", "level", "size", None))

    def prepare(self, source: InputSource) -> PreparedBlocks:
        return self.prepare_from([part.prepare(source) for part in self.parts], source)

    def prepare_from(self, prepared: list[Prepared], source: InputSource) -> PreparedBlocks:
        """Blocks of parts that are prepared already, from this source."""
        if self.scaling is not None and self.keeps_missing and has_missing(source.X):
            raise InputError(
                "X holds NaN, which leaves no length to scale rows by. Use BlockInputs(..., scaling=None), "
                "or DiffusedInputs in the place of RawInputs."
            )
        parts = tuple(prepared)
        measured = self.scaling in ("level", "size")
        sizes = tuple(sizes_of(part, levelling(self.scaling)) if measured else (1.0, 1.0) for part in parts)
        return PreparedBlocks(parts, self.scaling, sizes, self.shares)

    @property
    def keeps_missing(self) -> bool:
        return any(part.keeps_missing for part in self.parts)

    @property
    def reads_labels(self) -> bool:
        return any(part.reads_labels for part in self.parts)

    @property
    def reads_kinds(self) -> bool:
        return any(part.reads_kinds for part in self.parts)

    def apart(self, kinds: tuple[str, ...]) -> "BlockInputs":
        return replace(self, parts=tuple(part.apart(kinds) for part in self.parts))

    def restore(self, state: dict[str, Array]) -> PreparedBlocks:
        parts = tuple(part.restore(with_prefix(state, f"{k}.")) for k, part in enumerate(self.parts))
        sizes = finite(state, "sizes", (len(parts), 2))
        if sizes.dtype != np.float64 or (sizes <= 0).any():
            raise InputError("The stored sizes of the blocks of inputs are not numbers above 0.")
        if len({part.Z.shape[0] for part in parts}) != 1:
            raise InputError("The stored blocks of inputs are not of the same nodes.")
        return PreparedBlocks(parts, self.scaling, tuple((a, b) for a, b in sizes.tolist()), self.shares)

    def memory(self, shape: SourceShape) -> InputMemory:
        parts = [part.memory(shape) for part in self.parts]
        kept = np.cumsum([part.kept for part in parts])
        peak = max(float(so_far) + part.preparing for so_far, part in zip(kept, parts))
        return InputMemory(
            sum(part.rows for part in parts),
            sum(part.projection for part in parts),
            max(peak - float(kept[-1]), 0.0),
        )


def levelling(scaling: str | None) -> float:
    """The exponent by which rows are divided by their length."""
    return DEFAULTS.row_exponent if scaling == "level" else 0.0


def sizes_of(prepared: Prepared, exponent: float) -> tuple[float, float]:
    """The mean length m of the rows, and the mean square of length / (length / m)^exponent."""
    Z = prepared.Z
    length = np.concatenate([row_norms(prepared.rows(Z[rows])) for rows in row_blocks(Z.shape[0])]).astype(
        float
    )
    mean = float(length.mean()) or 1.0
    levelled = length * np.where(length > 0, length / mean, 1.0) ** -exponent
    return mean, float(np.mean(levelled**2)) or 1.0
