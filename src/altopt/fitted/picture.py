"""The graph as a picture shows it: all of a small one, sampled nodes in regions of a large one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.drawing.html import Html, element
from altopt.drawing.layout import positions
from altopt.drawing.palette import GREY, class_colours
from altopt.fitted.model import FittedModel
from altopt.graph.validation import UNKNOWN
from altopt.operator.kernels.reorder import community_order

MAX_NODES, MAX_EDGES = 3000, 15_000  # drawn whole up to here
N_REGIONS, N_SAMPLED = 40, 2400
MAX_NAME = 80  # characters of an id or a class


def picture_of(model: FittedModel) -> dict[str, Any]:
    """What the front end draws: ids, labels and doubt of nodes, edges between them, and regions of a large graph."""
    with model.lock:
        graph = model.graph
        order = community_order(graph.adjacency)
        sizes = np.bincount(model.labels, minlength=len(model.classes))
        facts = shared(model.classes, sizes, graph.n_nodes, graph.n_edges)
        if graph.n_nodes <= MAX_NODES and graph.n_edges <= MAX_EDGES:
            places = laid_out(graph.adjacency, order, model.seed)
            return facts | nodes_of(model, graph.adjacency, graph.ids, order) | places
        regions = Regions.of(model, graph.adjacency, order)
        return facts | nodes_of(model, graph.adjacency, graph.ids, regions.sampled) | regions.record()


def shared(classes: Array, sizes: Array, n_nodes: int, n_edges: int) -> dict[str, Any]:
    """What every picture says of its graph: names, colours and sizes of the classes, nodes and edges."""
    return {
        "classes": [name_of(name) for name in classes.tolist()],
        "colours": class_colours(sizes.tolist()),
        "sizes": sizes.tolist(),
        "n_nodes": n_nodes,
        "n_edges": n_edges,
    }


def laid_out(adjacency: Any, order: Array, seed: int) -> dict[str, Any]:
    """Where each node stands, in this order, which goes community by community."""
    places = np.round(1000 * positions(adjacency, order, seed)).astype(int)[order]
    return {"x": places[:, 0].tolist(), "y": places[:, 1].tolist()}


def nodes_of(model: FittedModel, adjacency: Any, ids: Array, nodes: Array) -> dict[str, Any]:
    """Ids, labels, doubt and edges of these nodes, by their place in the list."""
    P = model.readout.soften(model.scores[nodes], model.kinds(nodes))
    names = [ids.item(int(k)) for k in nodes]
    return described(names, model.labels[nodes], model.codes[nodes] != UNKNOWN, P, adjacency[nodes][:, nodes])


def described(names: list[Any], labels: Array, given: Array, P: Array, adjacency: Any) -> dict[str, Any]:
    """The same of nodes with these class numbers and probabilities, and the edges between them."""
    doubt = 1.0 - P[np.arange(len(labels)), labels]
    edges = sp.triu(sp.csr_array(adjacency)).tocoo()
    return {
        "ids": [name_of(name) for name in names],
        "label": labels.tolist(),
        "doubt": np.where(given, 0, np.round(100 * doubt)).astype(int).tolist(),
        "given": np.flatnonzero(given).tolist(),
        "edges": np.stack([edges.row, edges.col], axis=1).ravel().tolist(),
    }


@dataclass(frozen=True)
class Regions:
    """Groups of about as many nodes each that hang together, some of their nodes, and the edges between groups."""

    sampled: Array
    region: Array  # of each sampled node
    sizes: Array
    labels: Array  # the most frequent class of each
    ties: Array  # regions x regions

    @classmethod
    def of(cls, model: FittedModel, adjacency: Any, order: Array) -> "Regions":
        n = len(order)
        n_regions = min(N_REGIONS, n)
        region_of = np.empty(n, dtype=np.int64)
        region_of[order] = np.arange(n) * n_regions // n
        member = sp.csr_array((np.ones(n), (region_of, np.arange(n))), shape=(n_regions, n))
        ties = (member @ (adjacency @ member.T)).toarray()
        labels = sp.csr_array((np.ones(n), (region_of, model.labels)), shape=(n_regions, len(model.classes)))
        sampled = sample(region_of, model.codes != UNKNOWN, model.seed)
        return cls(
            sampled=sampled,
            region=region_of[sampled],
            sizes=np.bincount(region_of, minlength=n_regions),
            labels=labels.toarray().argmax(axis=1),
            ties=ties,
        )

    def record(self) -> dict[str, Any]:
        a, b = np.nonzero(np.triu(self.ties, 1))
        return {
            "region": self.region.tolist(),
            "regions": [
                {"size": int(size), "label": int(label)} for size, label in zip(self.sizes, self.labels)
            ],
            "ties": [[int(i), int(j), round(float(self.ties[i, j]), 3)] for i, j in zip(a, b)],
        }


def sample(region_of: Array, labelled: Array, seed: int) -> Array:
    """Nodes of every region in proportion to its size; of those with a given label up to a third of all."""
    rng = np.random.default_rng(seed)
    given = np.flatnonzero(labelled)
    given = rng.permutation(given)[: N_SAMPLED // 3]
    others = rng.permutation(np.flatnonzero(~labelled))[: N_SAMPLED - len(given)]
    chosen = np.concatenate([given, others])
    return np.asarray(chosen[np.argsort(region_of[chosen], kind="stable")])


def name_of(value: Any) -> str:
    """An id or class as text that fits beside a node."""
    shown = str(value)
    return shown if len(shown) <= MAX_NAME else shown[: MAX_NAME - 1] + "…"


def figure(drawn: dict[str, Any], name: str) -> Html:
    """The place where the front end draws the picture whose data have this name, and what it shows in words."""
    if "regions" in drawn:
        what = (
            f"{len(drawn['ids']):,} of {drawn['n_nodes']:,} nodes, drawn in {len(drawn['regions'])} regions that hang "
            "together; lines are as wide as the edges between two regions are many."
        )
    elif len(drawn["ids"]) < drawn["n_nodes"]:
        what = (
            f"{len(drawn['ids']):,} of {drawn['n_nodes']:,} nodes: those in most doubt, suspicious labels, some of "
            "the given ones and what to label next, each with some of its neighbours."
        )
    else:
        what = f"All {drawn['n_nodes']:,} nodes and {drawn['n_edges']:,} edges."
    said = f"{what} Colour is the label, paler where it is in doubt; large dots have a given label."
    if GREY in drawn["colours"]:
        said += " Classes beyond the eight largest are grey."
    without = element(
        "p", "The picture needs a browser with scripts; all else on this page does not.", class_="soft"
    )
    return element(
        "figure", element("figcaption", said), element("div", without, class_="canvas"), data_graph=name
    )
