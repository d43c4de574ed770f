"""What a kernel must be able to do: blocks of numbers laid out for many steps, and the passes over them."""

from typing import Any, Protocol

from altopt.arrays import Array


class Stage(Protocol):
    """Where F is worked on. Blocks hold D^-1/2 F in the layout's order, in the stage's own storage."""

    width: int  # columns of a block

    @property
    def description(self) -> str:
        """Which kernel this is, for people and records."""

    def enter(self, F: Array, factor: Array | float = 1.0, first: int = 0, out: Any = None) -> Any:
        """factor F as a block, from column `first` on; `factor`: one number, or one for each node.

        A block `out`, where given, is written over and returned: its memory is at hand, a new block's is not.
        """

    def leave(self, G: Any, out: Array, first: int = 0) -> Array:
        """A block as F, into the columns of `out` from `first` on."""

    def add_rows(self, G: Any, nodes: Array, rows: Array) -> None:
        """G += rows of F at these nodes."""

    def blank(self) -> Any:
        """A block with anything in it."""

    def vector(self, values: Array | float) -> Any:
        """One number for each node."""

    def step(
        self,
        X: Any,
        out: Any,
        scale: Any,
        diagonal: Any = None,
        rest: Any = None,
        *,
        gain: float = 1.0,
        keep: float = 0.0,
        carry: float = 0.0,
        norm: Any = None,
    ) -> float:
        """out <- gain * inner + keep X + carry out, with inner = scale A_tilde X + diagonal X + rest.

        Returns the sum over the nodes of norm_i ||inner_i||^2, of F's rows, not of the blocks'.
        """

    def dots(self, A: Any, B: Any, weights: Any = None) -> Array:
        """The inner product of each pair of columns, of F's; node i counts weights_i."""

    def advance(
        self, F: Any, R: Any, D: Any, HD: Any, alpha: Array, scale: Any
    ) -> tuple[Array, float, float]:
        """F += alpha D and R -= alpha HD, each column by its own alpha.

        Returns for each column the sum of scale R^2, and ||R||^2 and ||F||^2.
        """

    def turn(self, D: Any, R: Any, scale: Any, beta: Array) -> None:
        """D <- scale R + beta D."""
