"""The package's own views, inputs and encoders by name, for the command line and other places without code."""

from typing import Any

from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from altopt.encoders import (
    AttentionEncoder,
    EnsembleEncoder,
    KernelEncoder,
    LinearEncoder,
    MLPEncoder,
    TabularEncoder,
)
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    DegreeInputs,
    DiffusedInputs,
    HopInputs,
    RawInputs,
    ReducedInputs,
)
from altopt.views import (
    GraphView,
    HighPassView,
    LabelView,
    LocallyLinearView,
    NoGraphView,
    RobustLabels,
    SharedNeighbours,
    SquaredLaplacianView,
    TwoHopView,
)

GRAPH_VIEWS: dict[str, Any] = {
    "laplacian": GraphView,
    "squared-laplacian": SquaredLaplacianView,
    "two-hop": TwoHopView,
    "high-pass": HighPassView,
    "shared-out-neighbours": SharedNeighbours("out"),
    "shared-in-neighbours": SharedNeighbours("in"),
    "locally-linear": LocallyLinearView,
    "none": NoGraphView,
}

LABEL_VIEWS: dict[str, Any] = {"squared": LabelView, "robust": RobustLabels()}

INPUTS: dict[str, Any] = {
    "reduced": ReducedInputs(),
    "raw": RawInputs(),
    "diffused": DiffusedInputs(),
    "hops": HopInputs(),
    "out-hops": HopInputs(direction="out"),
    "in-hops": HopInputs(direction="in"),
    "adjacency": AdjacencyInputs(),
    "out-adjacency": AdjacencyInputs("out"),
    "in-adjacency": AdjacencyInputs("in"),
    "degrees": DegreeInputs(),
}

ENCODERS: dict[str, Any] = {
    "linear": LinearEncoder(),
    "mlp": MLPEncoder(),
    "mlps": EnsembleEncoder(MLPEncoder()),
    "kernel": KernelEncoder(),
    "attention": AttentionEncoder(),
    "boosted-trees": TabularEncoder(HistGradientBoostingClassifier()),
    "forest": TabularEncoder(RandomForestClassifier(n_estimators=300, min_samples_leaf=2)),
}


def blocks(names: list[str]) -> Any:
    """The inputs of these names; several are put side by side, each with unit rows."""
    return INPUTS[names[0]] if len(names) == 1 else BlockInputs(tuple(INPUTS[name] for name in names))
