"""The contract of a backend, which makes the steps of a solver on blocks of F, and the choice of one."""

from typing import Any, Protocol

import numpy as np

from altopt.arrays import Array
from altopt.errors import require_extra
from altopt.operator.kernels.dispatch import native_available, requested
from altopt.operator.kernels.native import NativeBackend
from altopt.operator.kernels.scipy import ScipyBackend
from altopt.operator.layout import Layout


class Backend(Protocol):
    """Arithmetic on blocks. A block holds D^-1/2 F in the layout's node order, in the backend's own storage.

    Attributes
    ----------
    layout : Layout
        The adjacency as it is stored.
    width : int
        Columns of a block.
    """

    layout: Layout
    width: int

    @property
    def description(self) -> str:
        """Name of the backend, for people and records."""

    def to_layout(self, F: Array, factor: Array | float = 1.0, first: int = 0, out: Any = None) -> Any:
        """A block with factor F, from column `first` of F on; `factor`: one number, or one for each node.

        A block `out`, where given, is overwritten and returned, which saves the allocation of another one.
        """

    def from_layout(self, block: Any, out: Array, first: int = 0) -> Array:
        """F of a block, written to the columns of `out` from `first` on."""

    def add_rows(self, block: Any, nodes: Array, rows: Array) -> None:
        """block += rows of F at these nodes."""

    def empty(self) -> Any:
        """An uninitialised block."""

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
        beta: float = 0.0,
        norm: Any = None,
    ) -> float:
        """out <- gain * inner + keep X + beta out, with inner = scale A_tilde X + diagonal X + rest.

        Returns the sum over the nodes of norm_i ||inner_i||^2, of F's rows, not of the blocks'.
        """

    def dots(self, A: Any, B: Any, weights: Any = None) -> Array:
        """The inner product of each pair of columns of F; node i has weight weights_i."""

    def advance(self, F: Any, R: Any, D: Any, HD: Any, alpha: Array, scale: Any) -> tuple[Array, float]:
        """F += alpha D and R -= alpha HD, each column by its own alpha.

        Returns the sum of scale R^2 of each column, and ||R||^2.
        """

    def search_direction(self, D: Any, R: Any, scale: Any, beta: Array) -> None:
        """D <- scale R + beta D."""


def make_backend(layout: Layout, width: int, dtype: Any = np.float32) -> Backend:
    """The backend in use, for blocks of `width` columns stored as `dtype`.

    Examples
    --------
    One step of diffusion on a path of three nodes, F <- A_tilde F / 2:

    >>> import scipy.sparse as sp
    >>> from altopt.operator.layout import lay_out
    >>> path = sp.csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> backend = make_backend(lay_out(path, np.array([1.0, 2.0, 1.0])), width=1, dtype=np.float64)
    >>> F = backend.to_layout(np.array([[1.0], [0.0], [1.0]]))
    >>> out = backend.empty()
    >>> _ = backend.step(F, out, backend.vector(0.5))
    >>> backend.from_layout(out, np.empty((3, 1))).round(4)
    array([[0.    ],
           [0.7071],
           [0.    ]])
    """
    kernels = requested()
    if kernels.startswith("torch"):
        require_extra("torch", "torch", f"ALTOPT_KERNELS={kernels}")
        from altopt.operator.kernels.torch import TorchBackend

        return TorchBackend(layout, width, dtype, kernels.partition(":")[2] or "cpu")
    return (NativeBackend if native_available() else ScipyBackend)(layout, width, dtype)
