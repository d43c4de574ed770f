"""What the encoder reads: the rows of all nodes, made at once or block by block."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import BLOCK_ROWS, SMALL_BLOCK_ROWS, allocate, row_blocks
from altopt.inputs.inputs import Prepared

EAGER = 16_000_000  # numbers in X' up to which the encoder's inputs are made at once


class LazyRows:
    """The encoder's inputs made when they are asked for: a block of rows at a time, never all at once."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        one = prepared.rows(prepared.Z[:1])
        self.shape, self._sparse = (prepared.Z.shape[0], one.shape[1]), sp.issparse(one)
        self.dtype = np.dtype(np.float32)

    def __getitem__(self, rows: Any) -> Any:
        Z = self._prepared.Z
        if isinstance(rows, slice) or len(rows) <= BLOCK_ROWS or self._sparse:
            return self._prepared.rows(Z[rows])
        out = allocate((len(rows), self.shape[1]), self.dtype)
        for block in row_blocks(len(rows), SMALL_BLOCK_ROWS):  # no second array as large as the result
            out[block] = self._prepared.rows(Z[rows[block]])
        return out


def encoder_rows(prepared: Prepared, most: int = EAGER) -> Any:
    """The encoder's inputs of all nodes: an array of at most `most` numbers, or else made block by block."""
    Z = prepared.Z
    return prepared.rows(Z) if sp.issparse(Z) or Z.size <= most else LazyRows(prepared)
