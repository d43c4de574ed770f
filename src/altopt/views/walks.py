"""D_A of DeepWalk and node2vec: nodes that random walks embed close together should carry the same label."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from altopt.graph import Graph
from altopt.operator import NormalizedAdjacency
from altopt.operator.knn import Neighbours
from altopt.operator.walks import counted_cooccurrence, embedding_of, expected_cooccurrence
from altopt.settings import check_count, check_number
from altopt.views.graph import GraphView
from altopt.views.view import ViewSettings

# a fit asks for its view again and again
MADE: "WeakKeyDictionary[NormalizedAdjacency, dict[RandomWalks, GraphView]]" = WeakKeyDictionary()


@dataclass(frozen=True)
class RandomWalks(ViewSettings):
    """D_A = tr(F' (I - N) F), N the normalised graph of the nearest nodes in the embedding of DeepWalk or node2vec.

    Co-occurrences within a window of random walks, their positive pointwise mutual information, its leading singular
    directions; then the Laplacian on the graph of the nearest nodes by the angle of their embeddings. The objective
    of skip-gram with negative samples factorises that matrix. p = q = 1 is DeepWalk. With p above 1 a walk of node2vec
    seldom turns back; with q below 1 it goes far, with q above 1 it stays near.

    What it is for: finding out whether walks tell more than edges do. Made anew for every graph that it is given: an
    update solves again.

    Parameters
    ----------
    window : int, default 5
        Steps within which nodes co-occur.
    p, q : float, default 1
        What a step back, and a step away from the node before, is divided by.
    n_components : int, default 64
    n_neighbors : int, default 5
    n_walks : int or None, default None
        Walks drawn from each node; None: the counts to be expected, as of infinitely many. The drawn ones scale to
        graphs that those do not, and depend on the seed.
    length : int, default 40
        Nodes of a walk that is drawn.
    seed : int, default 0
        Of the walks drawn.

    Examples
    --------
    Two triangles with one edge between them: each node's nearest are those of its triangle.

    >>> graph = Graph([(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (2, 3)])
    >>> walks = RandomWalks(window=3, q=0.5, n_components=2, n_neighbors=2)
    >>> view = walks.view(graph, NormalizedAdjacency(graph.adjacency))
    >>> print(round(view.distance(np.repeat([[1.0], [-1.0]], 3, axis=0)), 6))
    0.0
    """

    window: int = 5
    p: float = 1.0
    q: float = 1.0
    n_components: int = 64
    n_neighbors: int = 5
    n_walks: int | None = None
    length: int = 40
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("window", "n_components", "n_neighbors"):
            check_count(self, name)
        for name in ("p", "q"):
            check_number(self, name, above=0)
        check_count(self, "n_walks", optional=True)
        check_count(self, "length", 2)
        check_count(self, "seed", 0)

    def view(self, graph: Graph, A_tilde: NormalizedAdjacency) -> GraphView:
        made = MADE.setdefault(A_tilde, {})
        if self not in made:
            made[self] = GraphView(A_tilde) if np.sum(graph.degrees > 0) < 3 else self.made(graph)
        return made[self]

    def made(self, graph: Graph) -> GraphView:
        """The view of a graph, from scratch; nodes without edges stay without."""
        n, connected = graph.n_nodes, np.flatnonzero(graph.degrees > 0)
        A = sp.csr_array(graph.adjacency)[connected][:, connected]
        if self.n_walks is None:
            C = expected_cooccurrence(A, self.window, self.p, self.q)
        else:
            C = counted_cooccurrence(A, self.window, self.n_walks, self.length, self.p, self.q, self.seed)
        E = embedding_of(C, self.n_components)
        near = Neighbours(E, min(self.n_neighbors, len(connected) - 1), "cosine").graph().adjacency.tocoo()
        ends = (connected[near.row], connected[near.col])
        return GraphView(NormalizedAdjacency(sp.csr_array((near.data, ends), shape=(n, n))))
