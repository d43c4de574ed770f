"""How much memory a fit needs at its peak, added up from what it holds at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import working_dtype
from altopt.inputs import DiffusedInputs, RawInputs, ReducedInputs
from altopt.inputs.directions import few_columns
from altopt.operator.diffusion import PANEL_COLUMNS
from altopt.operator.kernels.native import ROW_MULTIPLE
from altopt.operator.ordering import exceeds_cache
from altopt.selection.fit_data import eager_limit
from altopt.selection.leave_one_out import block_width

LIBRARIES = 0.25e9  # Python with numpy, scipy and scikit-learn loaded
TORCH = 0.25e9  # torch on top, where the encoder is an MLP
PER_NODE = 120  # labels, degrees and a few numbers more of each node
FORMING = 13.0  # bytes an entry while the graph is made: as it came, and once transposed


@dataclass(frozen=True)
class Memory:
    """Bytes, by what they are for. `peak` is the sum of what stays and the largest of the three phases."""

    libraries: float
    features: float  # X as it was given
    graph: float  # A, its copy in another order, and what is known of each node
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
    graph      4 e, weighted (4 + 8 + 4) e; as much again where nodes are put in an order of their own
    inputs     4 n w (or 2)
    diffusing  3 blocks, 4 n min(w, 64); wide X goes through a range finder besides: 4 blocks, 4 n (w + 10);
               inputs of other kinds: 3 times what they keep, or where X has few columns and rows 4 blocks, 4 n d
    rounds     3 blocks of the solver, F and P: b n (3 k + 2 c); or 5 blocks of the 8 to 64 labels held back at once
    """
    n, d = X.shape
    entries = 2 * n_edges
    of_X = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes * (not isinstance(X, np.memmap))
    inputs = model.default_candidate(n, d).inputs
    reduced = isinstance(inputs, ReducedInputs)
    width = min(d, inputs.n_components, n) if isinstance(inputs, ReducedInputs) else d
    itemsize = 2 if isinstance(inputs, ReducedInputs) and inputs.storage == "float16" else 4
    kept = 4.0 * n * inputs.width(n, d, n_edges)
    panel = min(-(-width // ROW_MULTIPLE) * ROW_MULTIPLE, PANEL_COLUMNS)
    diffusing = 3.0 * n * panel * 4 + (n * width * 4 if itemsize == 2 else 0)
    if reduced and d > width:
        diffusing += 4.0 * n * (width + 10) * 4
    elif not isinstance(inputs, ReducedInputs | DiffusedInputs | RawInputs):
        # hops of a sketch, of the range finder's block, and that block again; or hops of all of X, and X
        diffusing += max(3.0 * kept, 16.0 * n * d if few_columns(n, d) else 0.0)
    number = working_dtype(n, n_classes).itemsize
    padded = -(-n_classes // ROW_MULTIPLE) * ROW_MULTIPLE
    rows = kept if kept <= 4.0 * eager_limit(n, n_classes, model.cross_fit) else 0.0
    judging = 5.0 * n * block_width(n) * number if model.cross_fit else 0.0
    ordered = exceeds_cache(n, max(panel * 4, n_classes * number))
    of_graph = entries * (16.0 if weighted else 4.0)
    plain_sparse = isinstance(inputs, DiffusedInputs) and sp.issparse(X) and model.restart == 1
    return Memory(
        libraries=LIBRARIES + (TORCH if model.default_candidate(n, d).encoder.uses_torch else 0.0),
        features=float(of_X),
        graph=of_graph * (2 if ordered else 1) + PER_NODE * n,
        inputs=float(of_X) if plain_sparse else kept,
        forming=FORMING * entries,
        diffusing=0.0 if model.restart == 1 else diffusing,
        rounds=rows + max(float(n) * number * (3 * padded + 2 * n_classes), judging),
    )
