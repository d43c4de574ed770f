"""How much memory a fit needs at its peak, added up from what it holds at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.defaults import DEFAULTS
from altopt.estimator import AltOpt
from altopt.inputs import AdjacencyInputs, FeatureInputs, FeaturelessInputs, HopInputs, StructureInputs
from altopt.inputs.memory import SourceShape, stored_bytes
from altopt.operator.diffusion import panel_bytes
from altopt.operator.ordering import graph_bytes
from altopt.selection.fit_data import encoder_rows_bytes
from altopt.selection.leave_one_out import unit_block_bytes
from altopt.training.alternate import loop_bytes

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


def expected_memory(X: Any, n_edges: int, n_classes: int, model: AltOpt, weighted: bool = False) -> Memory:
    """Memory of model.fit on X (n x d) with a graph of `n_edges`, without running it: the sum of what the parts state.

    Each part states its own bytes: the inputs (`Inputs.memory`), the encoder (`Encoder.memory`), the graph in its
    layout, the loop, and the evaluation on held-out labels.
    """
    n, d = X.shape
    candidate = model.default_candidate(n, d)
    shape = SourceShape.of(X, n_edges, diffuses=model.restart != 1)
    inputs = candidate.inputs.memory(shape)
    rows = encoder_rows_bytes(inputs.rows, n, n_classes, model.cross_fit)
    training = candidate.encoder.memory(n, int(inputs.rows / shape.block(1)), n_classes)
    evaluation = unit_block_bytes(n, n_classes) if model.cross_fit else 0.0
    if model.cross_fit and model.encoder is None and model.inputs is None:
        evaluation += compared_bytes(shape, n_classes, inputs.rows)
    row_bytes = max(panel_bytes(d), int(loop_bytes(n, n_classes) / n))
    return Memory(
        libraries=LIBRARIES + (TORCH if candidate.encoder.uses_torch else 0.0),
        features=0.0 if isinstance(X, np.memmap) else stored_bytes(X),
        graph=graph_bytes(n, 2 * n_edges, weighted, row_bytes) + PER_NODE * n,
        inputs=inputs.kept,
        forming=FORMING * 2 * n_edges,
        diffusing=inputs.preparing,
        rounds=rows + max(loop_bytes(n, n_classes) + training, evaluation),
    )


def compared_bytes(shape: SourceShape, n_classes: int, usual: float) -> float:
    """Inputs of all candidates that a fit compares, kept side by side until one is taken; 0 on large graphs.

    `usual`: bytes of the rows that the usual candidate reads, which are read beside the embedding once more.
    """
    if shape.n_nodes * n_classes >= DEFAULTS.large:
        return 0.0
    features, ties = FeatureInputs(), AdjacencyInputs()
    alone = HopInputs((0,), n_components=DEFAULTS.diffused_directions * DEFAULTS.hop_components)
    trees = (HopInputs((0, 1, 2), "mean", DEFAULTS.tree_columns), StructureInputs())
    embedding = FeaturelessInputs(HopInputs((2,), n_components=DEFAULTS.embedding_directions))
    labels = shape.block(2 * n_classes)
    inputs = (features, alone, features, ties, features, ties, features, ties, *trees, embedding)
    made = sum(part.memory(shape).kept for part in inputs) + 2 * labels
    return 2.0 * made + usual  # as they are kept, and as encoders read them
