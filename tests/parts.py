"""The parts that every law is tested on: a new encoder or kind of inputs is one line in a table."""

from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn import Linear

from altopt.encoders import (
    AttentionEncoder,
    EnsembleEncoder,
    KernelEncoder,
    LinearEncoder,
    MLPEncoder,
    TabularEncoder,
    TorchEncoder,
)
from altopt.inputs import (
    AdjacencyInputs,
    BlockInputs,
    DegreeInputs,
    DiffusedInputs,
    ExtremeInputs,
    FeatureInputs,
    FeaturelessInputs,
    HopInputs,
    LabelShareInputs,
    LandmarkInputs,
    RawInputs,
    ReducedInputs,
    StructureInputs,
)

ENCODERS = {
    "linear": LinearEncoder(),
    "MLP": MLPEncoder(hidden=(16,), input_dropout=0.0),
    "MLP, deep, cross entropy, mini-batches": MLPEncoder(
        hidden=(16, 8), dropout=0.2, input_dropout=0.1, loss="ce", batch_size=16
    ),
    "MLP, torch alone": MLPEncoder(
        hidden=(16, 8), dropout=0.2, input_dropout=0.1, batch_size=32, fused=False
    ),
    "five MLPs": EnsembleEncoder(MLPEncoder(hidden=(16,), input_dropout=0.0)),
    "attention": AttentionEncoder(n_hops=2, width=16, dropout=0.2),
    "attention, mini-batches": AttentionEncoder(
        n_hops=2, width=16, heads=4, dropout=0.0, loss="mse", batch_size=32
    ),
    "a torch module, stopped early": TorchEncoder(Linear, batch_size=32, patience=10),
    "kernel": KernelEncoder(),
    "kernel, landmarks": KernelEncoder(gamma=None, max_rows=20, n_landmarks=30),
    "logistic regression": TabularEncoder(LogisticRegression()),
    "forest": TabularEncoder(RandomForestClassifier(n_estimators=20)),
    "boosted trees": TabularEncoder(HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5)),
    "PCA, then any": TabularEncoder(make_pipeline(PCA(4), LogisticRegression())),
    "pipeline": TabularEncoder(make_pipeline(StandardScaler(), LogisticRegression())),
}

INPUTS = {
    "raw": RawInputs(),
    "diffused": DiffusedInputs(),
    "diffused, rows to sum 1": DiffusedInputs(scale_rows=True),
    "reduced": ReducedInputs(n_components=12),
    "reduced, half precision": ReducedInputs(n_components=5, storage="float16"),
    "hops": HopInputs(n_components=12),
    "hops, all columns": HopInputs(hops=(1, 3), n_components=99),
    "out-means": HopInputs(hops=(1, 2), direction="out", n_components=12),
    "in-means": HopInputs(hops=(1,), direction="in", n_components=12),
    "embedding": FeaturelessInputs(HopInputs((2,), n_components=12)),
    "adjacency": AdjacencyInputs(),
    "out-adjacency": AdjacencyInputs("out"),
    "in-adjacency": AdjacencyInputs("in"),
    "adjacency, reduced": AdjacencyInputs(n_components=8),
    "out-adjacency, reduced": AdjacencyInputs("out", n_components=8),
    "degrees": DegreeInputs(),
    "degrees around": DegreeInputs(n_hops=2),
    "features": FeatureInputs(),
    "landmarks": LandmarkInputs(n_components=8, n_landmarks=20),
    "landmarks, as far as they are": LandmarkInputs(n_components=99, distance="euclidean"),
    "structure": StructureInputs(),
    "extremes": ExtremeInputs(),
    "extremes along edges": ExtremeInputs("out"),
    "labels around": LabelShareInputs(),
    "labels around, with their number": LabelShareInputs(totals=True, divided=True),
    "means of neighbours": HopInputs(hops=(1, 2), direction="mean", n_components=12),
    "blocks, shares": BlockInputs((FeatureInputs(), LabelShareInputs()), shares=(0.8, 0.2)),
    "blocks, unit": BlockInputs((RawInputs(), AdjacencyInputs("out"), DegreeInputs())),
    "blocks, levelled": BlockInputs((HopInputs(n_components=5), AdjacencyInputs("in")), scaling="level"),
    "blocks, as they are": BlockInputs(
        (HopInputs(n_components=5), ReducedInputs(n_components=5)), scaling=None
    ),
    "blocks of blocks": BlockInputs((BlockInputs((RawInputs(), DegreeInputs())), AdjacencyInputs())),
}
