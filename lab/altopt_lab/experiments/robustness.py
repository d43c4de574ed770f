"""Robustness of AltOpt(): wrong labels that it finds, and the harm that random edges do."""

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, hide
from altopt.graph import Graph
from altopt.inputs import HopInputs
from altopt.selection.leave_one_out import log_support
from altopt.threads import threads_for
from altopt.views import NoGraphView
from altopt_lab.breadth.data import GIVEN, metric_of, raw_name
from altopt_lab.breadth.draws import Draw
from altopt_lab.breadth.peers import PEERS
from altopt_lab.breadth.run import code, judged, task_of
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record

FLIPPED = 0.2  # share of the training labels that are made wrong
ALONE = ("encoder alone", "logistic regression", "boosted trees")  # what features reach without a graph


@dataclass(frozen=True)
class Trial(Work):
    """Something done to the labels or edges of a data set: of its given splits, else with 20 labels of each class.

    Parameters
    ----------
    dataset : str
        A name that `altopt_lab.breadth` knows.
    number : int
        Of the draw.
    """

    dataset: str
    number: int

    @property
    def key(self) -> str:
        return f"{type(self).__name__}, {self.dataset}, number {self.number}"

    @property
    def needs_dataset(self) -> str | None:
        return raw_name(self.dataset)

    def is_current(self, record: Record) -> bool:
        return bool(record["code"] == code())

    def identity(self) -> Record:
        kind = type(self).__name__
        return {"trial": kind, "dataset": self.dataset, "number": self.number, "code": code()}

    def measure(self, contexts: Contexts) -> Record:
        data = contexts(self.dataset).dataset
        split = (Draw("given") if self.dataset in GIVEN else Draw("class", 20)).split(data, self.number)
        with warnings.catch_warnings(), threads_for(0, with_torch=False):
            warnings.simplefilter("ignore")  # that the graph does harm, say, which is the point here
            return self.tried(data, split)

    @abstractmethod
    def tried(self, data: Dataset, split: Split) -> Record:
        """What came of it."""


class FlippedLabels(Trial):
    """The share of flipped labels among as many at the top of suspicious_labels(all=True).

    Beside it `knowing_others`: the share that a plain fit finds from the true labels of all nodes but these, which no
    method has. A reference, not a bound: nodes that are unlike their class look like flipped ones to it too.
    """

    def tried(self, data: Dataset, split: Split) -> Record:
        y, flipped = with_flips(task_of(data, split, self.number).y, split.train, self.number)
        model = AltOpt(random_state=self.number).fit(data.X, y, graph=data.graph)
        ranked = np.array([int(row[0]) for row in model.suspicious_labels(all=True)])
        others = AltOpt(cross_fit=False, random_state=self.number)
        others.fit(data.X, hide(data.y, np.setdiff1d(np.arange(len(data.y)), split.train)), graph=data.graph)
        support = log_support(others.label_distributions_[split.train], y[split.train])

        def found(nodes: Array) -> float:
            return float(np.isin(nodes[: len(flipped)], flipped).mean())

        return {
            "n_flipped": len(flipped),
            "found": found(ranked),
            "knowing_others": found(split.train[np.argsort(support, kind="stable")]),
            "plan": str(model.choice_["plan"]),
        }


class RandomEdges(Trial):
    """AltOpt() on random edges, and three methods on the features alone."""

    def tried(self, data: Dataset, split: Split) -> Record:
        data = replace(data, graph=Graph(shuffled(data.graph, self.number)))
        task, metric = task_of(data, split, self.number, epochs=False), f"test_{metric_of(data)}"
        alone = {peer.name: peer for peer in PEERS if peer.name in ALONE}
        models = {
            "AltOpt()": AltOpt(random_state=self.number),
            "encoder alone": AltOpt(
                inputs=HopInputs(hops=(0,), n_components=256),
                graph_view=NoGraphView,
                cross_fit=False,
                random_state=self.number,
            ),
        }
        found = {
            name: model.fit(task.X, task.y, graph=task.graph).label_distributions_
            for name, model in models.items()
        } | {name: peer.fit(replace(task, graph=None)) for name, peer in alone.items()}
        scores = {name: 100 * judged(S, task, data, split)[metric] for name, S in found.items()}
        return {"scores": scores, "plan": str(models["AltOpt()"].choice_["plan"])}


def with_flips(y: Array, labelled: Array, seed: int) -> tuple[Array, Array]:
    """The labels with a share of them wrong, and the nodes that have those."""
    rng, n_classes = np.random.default_rng(seed), int(y.max()) + 1
    flipped = rng.choice(labelled, round(FLIPPED * len(labelled)), replace=False)
    y = y.copy()
    y[flipped] = (y[flipped] + rng.integers(1, n_classes, len(flipped))) % n_classes
    return y, flipped


def shuffled(graph: Any, seed: int) -> sp.csr_array:
    """Random edges with nearly the same degrees: all ends tied anew at random, without loops and doubles."""
    A = sp.triu(graph.adjacency, k=1).tocoo()
    ends = np.random.default_rng(seed).permutation(np.concatenate([A.row, A.col]))
    source, target = ends[: A.nnz], ends[A.nnz :]
    kept = source != target
    n = graph.n_nodes
    half = sp.coo_array((np.ones(int(kept.sum())), (source[kept], target[kept])), shape=(n, n)).tocsr()
    return sp.csr_array((half + half.T > 0).astype(np.float64))
