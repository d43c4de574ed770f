"""A small stored model to label, with ids and classes that try to be markup."""

from pathlib import Path

import numpy as np

from altopt import AltOpt, Graph
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class

EVIL_ID, EVIL_CLASS = "<img src=x onerror=alert(1)>", "</script><b>east</b>"
NAMES = np.array(["north", "south", EVIL_CLASS], dtype=object)


def stored_model(folder: Path) -> Path:
    """The folder of a model of 240 nodes and three classes, as altopt fit lays it out, some labels wrong."""
    data = communities(240, 3, mean_degree=6.0, n_features=12, signal=0.5, seed=3)
    codes = data.y.copy()
    labelled = per_class(data.y, 8, 0, 0, seed=0).train
    wrong = np.flatnonzero(labelled)[:3] if labelled.dtype == bool else labelled[:3]
    codes[wrong] = (codes[wrong] + 1) % 3
    ids = [EVIL_ID, *(f"n{k}" for k in range(1, 240))]
    graph = Graph(data.graph, nodes=ids)
    model = AltOpt(random_state=0).fit(data.X, hide(NAMES[codes], labelled), graph=graph)
    model.save(folder / "model")
    return folder / "model"
