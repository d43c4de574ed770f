"""Writes a large graph as Parquet datasets, part by part: `python -m altopt_lab.bench.large FOLDER --times 10`.

The model is that of `altopt.datasets.communities`, at `--times` the nodes and edges of a size. Ids are scrambled
64-bit numbers and no dataset is sorted. A part that is in the folder already is not written again.

    edges/part-*.parquet     source, target (a pair may come twice)
    features/part-*.parquet  node, x0, x1, ...
    labels.parquet           node, label of a tenth of the nodes
    truth/part-*.parquet     node, label of all nodes
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets.communities import Blocks, draw_blocks, draw_pairs
from altopt.io.files import replacing
from altopt_lab.bench import graphs

PART_EDGES = 4_000_000
PART_NODES = 200_000
LABELLED = 0.1  # share of nodes whose label is told
ODD = 0x9E3779B97F4A7C15  # odd, so that multiplying by it permutes the numbers below 2^63
EDGES, FEATURES, LABELS = 0, 1, 2  # what a stream of random numbers is for


@dataclass(frozen=True)
class LargeGraph:
    """A generated graph that is never in memory as a whole: some 40 bytes a node are.

    Parameters
    ----------
    n_nodes, n_edges, n_classes, n_features : int
    seed : int

    Examples
    --------
    >>> graph = LargeGraph(1000, 3000, 4, 8, seed=1)
    >>> sources, targets = graph.edge_part(0)
    >>> len(sources) <= 3000, np.isin(sources, graph.ids(0, 1000)).all()
    (True, np.True_)
    """

    n_nodes: int
    n_edges: int
    n_classes: int
    n_features: int
    seed: int = graphs.SEED

    @classmethod
    def of(cls, size: graphs.Size, times: float) -> "LargeGraph":
        return cls(round(size.n_nodes * times), round(size.n_edges * times), size.n_classes, size.n_features)

    @cached_property
    def blocks(self) -> Blocks:
        return draw_blocks(self.n_nodes, self.n_classes, np.random.default_rng(self.seed))

    @cached_property
    def order(self) -> Array:
        """The node of the block order that each row of the features is."""
        return np.random.default_rng([self.seed, FEATURES]).permutation(self.n_nodes)

    @cached_property
    def total(self) -> Array:
        """Weights of nodes, cumulated, by which ends of edges are drawn."""
        weights = np.random.default_rng([self.seed, EDGES]).lognormal(0.0, 0.8, self.n_nodes)
        return np.concatenate([[0.0], np.cumsum(weights)])

    @cached_property
    def centroids(self) -> tuple[Array, Array]:
        """Of classes and of communities, in the space of the features."""
        rng = np.random.default_rng([self.seed, FEATURES, 0])
        sizes = (self.n_classes, self.blocks.n_communities)
        n_classes, n_communities = (
            rng.standard_normal((size, self.n_features), dtype=np.float32) for size in sizes
        )
        return n_classes * np.float32(graphs.SIGNAL), n_communities * np.float32(graphs.SIGNAL)

    @property
    def edge_parts(self) -> range:
        return range(-(-self.n_edges // PART_EDGES))

    @property
    def node_parts(self) -> list[tuple[int, int]]:
        starts = range(0, self.n_nodes, PART_NODES)
        return [(first, min(first + PART_NODES, self.n_nodes)) for first in starts]

    def edge_part(self, k: int) -> tuple[Array, Array]:
        """Ids of the ends of part k's edges."""
        rng = np.random.default_rng([self.seed, EDGES, k])
        count = min(PART_EDGES, self.n_edges - k * PART_EDGES)
        pairs = draw_pairs(self.blocks, self.total, count, rng)
        rng.shuffle(pairs)
        return scrambled(pairs // self.n_nodes), scrambled(pairs % self.n_nodes)

    def ids(self, first: int, last: int) -> Array:
        """Of rows first..last of the features."""
        return scrambled(self.order[first:last])

    def classes(self, first: int, last: int) -> Array:
        return self.blocks.class_of_node[self.order[first:last]]

    def features(self, first: int, last: int) -> Array:
        rng = np.random.default_rng([self.seed, FEATURES, 1 + first])
        X = rng.standard_normal((last - first, self.n_features), dtype=np.float32)
        of_class, of_community = self.centroids
        nodes = self.order[first:last]
        X += of_class[self.blocks.class_of_node[nodes]]
        X += of_community[self.blocks.community_of_node[nodes]]
        return X

    def labelled(self, first: int, last: int) -> Array:
        """Which of the rows have a known label."""
        return np.random.default_rng([self.seed, LABELS, first]).random(last - first) < LABELLED


def scrambled(nodes: Array) -> Array:
    """Ids of nodes: distinct numbers below 2^63 in no order."""
    return ((nodes.astype(np.uint64) * np.uint64(ODD)) & np.uint64(2**63 - 1)).astype(np.int64)


def write(graph: LargeGraph, folder: Path, log: Callable[[str], None] = lambda line: None) -> None:
    """The datasets, each part whole or not at all."""
    for k in graph.edge_parts:
        file = folder / "edges" / f"part-{k:05d}.parquet"
        if not file.exists():
            log(f"edges, part {k + 1} of {len(graph.edge_parts)}")
            save(file, dict(zip(("source", "target"), graph.edge_part(k))))
    for k, (first, last) in enumerate(graph.node_parts):
        file = folder / "features" / f"part-{k:05d}.parquet"
        if not file.exists():
            log(f"features, part {k + 1} of {len(graph.node_parts)}")
            X, ids = graph.features(first, last), graph.ids(first, last)
            save(folder / "truth" / file.name, {"node": ids, "label": graph.classes(first, last)})
            save(file, {"node": ids} | {f"x{j}": X[:, j] for j in range(graph.n_features)})
    if not (folder / "labels.parquet").exists():
        known = [graph.labelled(first, last) for first, last in graph.node_parts]
        parts = list(zip(known, graph.node_parts))
        ids = np.concatenate([graph.ids(*rows)[mask] for mask, rows in parts])
        labels = np.concatenate([graph.classes(*rows)[mask] for mask, rows in parts])
        save(folder / "labels.parquet", {"node": ids, "label": labels})


def save(path: Path, columns: dict[str, Array]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as draft:
        pq.write_table(
            pa.table({name: np.ascontiguousarray(column) for name, column in columns.items()}),
            draft,
            compression="zstd",
            compression_level=1,
        )


def truth(folder: Path) -> Iterator[tuple[Array, Array]]:
    """Ids and labels of all nodes, part by part."""
    import pyarrow.parquet as pq

    for file in sorted((folder / "truth").glob("*.parquet")):
        table: Any = pq.read_table(file)
        yield table["node"].to_numpy(), table["label"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", default="products", choices=list(graphs.SIZES))
    parser.add_argument("--times", type=float, default=1.0, help="so many times its nodes and edges")
    given = parser.parse_args()
    graph = LargeGraph.of(graphs.find(given.size), given.times)
    write(graph, given.folder, log=lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
