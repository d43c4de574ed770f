"""P from sheets of encoder inputs, a block of rows at a time: it is never stored, as making it again costs less."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from altopt.arrays import Array
from altopt.encoders.linear import LinearLearner
from altopt.operator.scaling import Scaling
from altopt.scale.csr_file import CsrFile
from altopt.scale.sheet import Sheet
from altopt.threads import in_threads

BLOCK_ROWS = 1 << 13  # rows that are encoded together; fixed, as a product's bits may depend on it


@dataclass(frozen=True)
class Encoder:
    """P of every node: softmax regression on the scaled rows of Z.

    Parameters
    ----------
    Z : Sheet
        Diffused features.
    scaling : Scaling
        Of its rows.
    learner : LinearLearner
    dtype : float32 or float64
        Of P.
    """

    Z: Sheet
    scaling: Scaling
    learner: LinearLearner
    dtype: Any

    def rows(self, nodes: Array) -> Array:
        """What the encoder reads of some nodes."""
        return self.scaling.rows(self.Z.gather(nodes))

    def blocks(self, csr: CsrFile) -> Iterator[tuple[int, Array, Array]]:
        """First node, degrees and P of all nodes, block after block."""

        def encode(first: int) -> tuple[int, Array, Array]:
            last = min(first + BLOCK_ROWS, self.Z.n_rows)
            rows = self.scaling.rows(self.Z.rows(first, last))
            return first, csr.degrees(first, last), self.learner.probabilities(rows, self.dtype)

        return in_threads(encode, range(0, self.Z.n_rows, BLOCK_ROWS))
