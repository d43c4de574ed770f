"""Sizes of data sets: counted, and as published in the paper."""

from typing import NamedTuple

import numpy as np

from altopt.datasets.dataset import Dataset


class Statistics(NamedTuple):
    n_nodes: int
    n_edges: int  # undirected, each once, without self-loops
    n_features: int
    n_classes: int


# the paper's table of data sets; it counts the two Amazon graphs on their largest component, ogbn-arxiv's edges as
# directed citations (some go both ways), Flickr's edges twice, and Reddit's in GraphSAINT's sparser version
PAPER = {
    "Cora": Statistics(2_708, 5_278, 1_433, 7),
    "CiteSeer": Statistics(3_327, 4_552, 3_703, 6),
    "PubMed": Statistics(19_717, 44_324, 500, 3),
    "CS": Statistics(18_333, 81_894, 6_805, 15),
    "Physics": Statistics(34_493, 247_962, 8_415, 5),
    "Computers": Statistics(13_381, 245_778, 767, 10),
    "Photo": Statistics(7_487, 119_043, 745, 8),
    "Flickr": Statistics(89_250, 899_756, 500, 7),
    "Reddit": Statistics(232_965, 11_606_919, 602, 41),
    "ogbn-arxiv": Statistics(169_343, 1_166_243, 128, 40),
    "ogbn-products": Statistics(2_449_029, 61_859_140, 100, 47),
}


def statistics(data: Dataset) -> Statistics:
    """The sizes of a data set, counted."""
    n_edges = 0 if data.graph is None else data.graph.n_edges
    return Statistics(len(data.y), n_edges, data.X.shape[1], len(np.unique(data.y[data.y >= 0])))
