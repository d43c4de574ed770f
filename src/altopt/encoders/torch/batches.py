"""Training rows in batches, and batches in blocks that fit in the processor's cache."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from altopt.arrays import Array, row_blocks

TENSOR_NUMBERS = 2**26  # numbers of X up to which it is converted to a tensor once, not block by block


class Batches:
    """Each epoch hands out every row once, in batches of `size`, and each batch in blocks.

    A batch's gradient is the sum of its blocks' gradients, so that a full batch needs the memory of a few blocks.
    """

    def __init__(
        self,
        arrays: tuple[Any, ...],
        size: int | None,
        block: int,
        rng: np.random.Generator,
        as_tensor: Callable[[Any], Any],
    ) -> None:
        self.n = arrays[0].shape[0]
        self.size = min(size or self.n, self.n)
        self._block, self._rng, self._as_tensor = block, rng, as_tensor
        if self.size < self.n:
            # Rows are shuffled once per call of train, so that batches are slices and not gathers. Epochs differ in
            # where the first batch begins and in the order of batches.
            order = rng.permutation(self.n)
            around = np.concatenate([order, order[: self.size - 1]])  # a batch may pass the end
            arrays = tuple(array[around] for array in arrays)
        if np.prod(arrays[0].shape) <= TENSOR_NUMBERS:
            arrays = tuple(as_tensor(array) for array in arrays)
        self._arrays = arrays

    def epoch(self) -> Iterator[tuple[int, list[slice]]]:
        """For each batch how many rows it has, and its blocks."""
        starts: Array = np.arange(0, self.n, self.size)
        offset = 0
        if len(starts) > 1:
            starts, offset = self._rng.permutation(starts), int(self._rng.integers(self.n))
        for start in starts.tolist():
            n_rows = min(self.size, self.n - start)
            first = (start + offset) % self.n
            n_blocks = -(-n_rows // self._block)
            blocks = row_blocks(n_rows, -(-n_rows // n_blocks))
            yield n_rows, [slice(first + rows.start, first + rows.stop) for rows in blocks]

    def block(self, rows: slice) -> tuple[Any, ...]:
        """The rows of every array, as tensors."""
        return tuple(self._as_tensor(array[rows]) for array in self._arrays)
