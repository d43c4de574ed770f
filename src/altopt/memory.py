"""How much memory a fit needs at its peak, added up from what it holds at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import working_dtype
from altopt.diffusion import PANEL
from altopt.encoders import MLPEncoder
from altopt.inputs import EAGER, PlainInputs, ReducedInputs
from altopt.kernels.native import PAD
from altopt.ordering import too_large

LIBRARIES = 0.2e9  # Python with numpy, scipy and scikit-learn loaded
TORCH = 0.25e9  # torch on top, where the encoder is an MLP
FORMING = 2.0  # while a graph is made it is there this many times more: as it came, and transposed


@dataclass(frozen=True)
class Memory:
    """Bytes, by what they are for. `peak` is the sum of what stays and the largest of the three phases."""

    libraries: float
    features: float  # X as it was given
    graph: float  # A, and its copy in another order
    inputs: float  # X', which the encoder reads
    forming: float  # phase 1: the graph is made
    diffusing: float  # phase 2: X' is made
    rounds: float  # phase 3: F, P and the solver's blocks

    @property
    def peak(self) -> float:
        """forming holds no X' yet; diffusing and rounds do."""
        stays = self.libraries + self.features + self.graph
        return stays + max(self.forming, self.inputs + self.diffusing, self.inputs + self.rounds)

    def lines(self) -> list[str]:
        """The sum written out, for people."""
        rows = [
            ("Python and libraries", self.libraries),
            ("features X", self.features),
            ("graph", self.graph),
            ("diffused features X'", self.inputs),
            ("phase 1, making the graph", self.forming),
            ("phase 2, diffusing X", self.diffusing),
            ("phase 3, rounds", self.rounds),
            ("peak", self.peak),
        ]
        return [f"{name:<26} {size / 1e9:8.2f} GB" for name, size in rows]


def expected_memory(X: Any, n_edges: int, n_classes: int, model: Any, weighted: bool = False) -> Memory:
    """Memory of model.fit on X (n x d) with a graph of `n_edges`, without running it.

    With e = 2 n_edges entries, w columns in X', k classes (padded to a multiple of 8), b = 4 or 8 bytes a number of F:
    graph      e (4 + 4), weighted e (4 + 8 + 4); e 4 more where nodes are put in an order of their own
    inputs     n w 4 (or 2)
    diffusing  3 blocks n min(w, 64) 4; wide X instead goes through a range finder: 4 blocks n (w + 10) 4
    rounds     3 blocks of the solver, and F, P, and where F starts: (3 k + 3 c) n b
    """
    n, d = X.shape
    entries = 2 * n_edges
    of_X = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes * (not isinstance(X, np.memmap))
    inputs = model.inputs or ReducedInputs()
    reduced = isinstance(inputs, ReducedInputs)
    width = min(d, inputs.n_components, n) if isinstance(inputs, ReducedInputs) else d
    itemsize = 2 if isinstance(inputs, ReducedInputs) and inputs.storage == "float16" else 4
    panel = min(-(-width // PAD) * PAD, PANEL)
    diffusing = 3.0 * n * panel * 4 + (n * width * 4 if itemsize == 2 else 0)
    if reduced and d > width:
        diffusing += 4.0 * n * (width + 10) * 4
    number = working_dtype(n, n_classes).itemsize
    padded = -(-n_classes // PAD) * PAD
    rows = n * width * 4.0 if n * width <= EAGER else 0.0
    ordered = too_large(n, max(panel * 4, n_classes * number))
    of_graph = entries * (16.0 if weighted else 8.0) + 12 * n
    plain_sparse = isinstance(inputs, PlainInputs) and sp.issparse(X) and model.restart == 1
    return Memory(
        libraries=LIBRARIES + (TORCH if isinstance(model.encoder, MLPEncoder) else 0.0),
        features=float(of_X),
        graph=of_graph + (entries * 4.0 if ordered else 0.0),
        inputs=float(of_X) if plain_sparse else float(n * width * itemsize),
        forming=FORMING * of_graph,
        diffusing=0.0 if model.restart == 1 else diffusing,
        rounds=rows + float(n) * number * (3 * padded + 3 * n_classes),
    )
