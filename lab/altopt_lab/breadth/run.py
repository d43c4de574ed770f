"""One run of the matrix: AltOpt() or a peer on one draw of labels, and its record."""

import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score

from altopt import AltOpt
from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import Split, hide
from altopt.selection.calibration import calibration_error
from altopt.selection.leave_one_out import LeaveOneOut
from altopt.threads import threads_for
from altopt_lab import provenance
from altopt_lab.breadth.data import metric_of, raw_name
from altopt_lab.breadth.draws import Draw
from altopt_lab.breadth.peers import PEERS, Task
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record

OURS = "AltOpt()"
PEER = {peer.name: peer for peer in PEERS}
METHODS = (OURS, *PEER)


@dataclass(frozen=True)
class BreadthRun(Work):
    """A fit of a method to one draw.

    Parameters
    ----------
    method : str
        One of METHODS.
    dataset : str
        One of `data.NAMES`.
    draw : Draw
    number : int
        Of the draw: its seed, or the number of a given split.

    Examples
    --------
    >>> BreadthRun("AltOpt()", "Cora", Draw("class", 20), 3).key
    'AltOpt(), Cora, class 20, number 3'
    """

    method: str
    dataset: str
    draw: Draw
    number: int

    @property
    def key(self) -> str:
        return f"{self.method}, {self.dataset}, {self.draw}, number {self.number}"

    @property
    def needs_dataset(self) -> str | None:
        return raw_name(self.dataset)

    def is_current(self, record: Record) -> bool:
        """Records of AltOpt() belong to its code; peers stay as they are."""
        return self.method != OURS or record.get("code") == code()

    def identity(self) -> Record:
        record: Record = {
            "method": self.method,
            "dataset": self.dataset,
            "draw": str(self.draw),
            "number": self.number,
        }
        return record | ({"code": code()} if self.method == OURS else {})

    def measure(self, contexts: Contexts) -> Record:
        data = contexts(self.dataset).dataset
        split = self.draw.split(data, self.number)
        task = task_of(data, split, self.number, epochs=self.method != OURS)
        peer = PEER.get(self.method)
        with warnings.catch_warnings(), threads_for(0, with_torch=peer is not None and peer.is_network):
            warnings.simplefilter("ignore")  # what a fit warns of is in its figures
            began = time.process_time()
            model = AltOpt(random_state=self.number)
            S = ours(model, task) if peer is None else peer.fit(task)
            seconds = time.process_time() - began
        record = judged(S, task, data, split) | {"seconds": round(seconds, 4)}
        return record if peer is not None else record | self_assessment(model, data.y)


def ours(model: AltOpt, task: Task) -> Array:
    return model.fit(task.X, task.y, graph=task.graph).label_distributions_


def task_of(data: Dataset, split: Split, seed: int, *, epochs: bool = True) -> Task:
    """What a method is given: training labels, and validation labels to those that choose an epoch."""
    chosen = (split.validation, data.y[split.validation]) if epochs and len(split.validation) else None
    return Task(data.X, hide(data.y, split.train), data.graph, chosen, seed)


def judged(S: Array, task: Task, data: Dataset, split: Split) -> Record:
    """Accuracy on the test nodes, with two classes ROC AUC too, and by which of them methods are compared."""
    classes = np.unique(task.y[task.labelled])
    record: Record = {
        "metric": metric_of(data),
        "n_labels": len(split.train),
        "test_accuracy": round(accuracy(classes[S.argmax(axis=1)], data.y, split.test), 6),
    }
    if classes.tolist() == [0, 1]:
        scores = np.nan_to_num(S[split.test, 1])
        record["test_auc"] = round(float(roc_auc_score(data.y[split.test], scores)), 6)
    return record


def self_assessment(model: AltOpt, y: Array) -> Record:
    """The accuracy and calibration that a fit expects of itself, beside the true ones on unlabelled nodes."""
    hidden = ~model.labelled_ & (y >= 0)
    truth = accuracy(model.transduction_, y, hidden)
    codes = np.searchsorted(model.classes_, y[hidden])
    known = np.isin(y[hidden], model.classes_)
    S = model.label_distributions_[hidden]
    codes = np.where(known, codes, -1)
    told = model.leave_one_out_
    low, high = told.interval
    return {
        "plan": str(model.choice_["plan"]),
        "taken_as": told.draw,
        "estimate": round(float(told.accuracy), 6),
        "interval": [round(float(low), 6), round(float(high), 6)],
        "truth": round(truth, 6),
        "holds": bool(low <= truth <= high),
        "calibration_error": round(calibration_error(S, codes), 6),
    } | auc_assessment(told, S, codes)


def auc_assessment(told: LeaveOneOut, S: Array, codes: Array) -> Record:
    """The same of ROC AUC, where there are two classes and it is told."""
    if S.shape[1] != 2 or np.isnan(told.auc):
        return {}
    low, high = told.auc_interval
    truth = float(roc_auc_score(codes, S[:, 1]))
    return {
        "auc_estimate": round(float(told.auc), 6),
        "auc_interval": [round(float(low), 6), round(float(high), 6)],
        "auc_truth": round(truth, 6),
        "auc_holds": bool(low <= truth <= high),
    }


def code() -> str:
    """The sum of the sources behind figures of AltOpt(): records of two versions are told apart by it."""
    return provenance.code()[provenance.OURS]
