"""What a data set is: features, true labels, a graph or none, and the splits that came with it."""

from dataclasses import dataclass
from typing import Any

from altopt.arrays import Array
from altopt.graph import Graph


@dataclass(frozen=True)
class Dataset:
    """Nodes with features and known true labels, ready for `splits` and `AltOpt.fit`."""

    name: str
    X: Any  # n x d, dense or scipy sparse, as the source has it
    y: Array  # the true class number of every node
    graph: Graph | None  # None: made for the k-nearest-neighbour graph that AltOpt builds from X
    splits: dict[str, Array] | None  # bool masks "train", "validation", "test", each (n_splits, n_nodes)
    note: str  # where it comes from and what to know
