"""Times and peak memory as work for the runner: each in a process of its own, on a generated graph or a real one."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import hide
from altopt_lab.baselines import BASELINES
from altopt_lab.bench import worker
from altopt_lab.bench.graphs import find
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.protocols import Cell, split_of
from altopt_lab.experiments.run import DatasetContexts, made_on
from altopt_lab.records import Record

TASKS = "altopt_lab.experiments.timing_tasks"
ALT_OPT = "ALT-OPT"


@dataclass(frozen=True)
class Cost:
    """Epochs of a method on a generated graph: what one takes, what goes before, and the peak of memory."""

    method: str
    size: str
    n_epochs: int = 5

    @property
    def key(self) -> str:
        return f"cost, {self.method}, {self.size} size"

    @property
    def needs_dataset(self) -> None:
        return None

    def is_current(self, record: Record) -> bool:
        return "failed" in record or "epoch_cpu" in record

    def perform(self, contexts: DatasetContexts) -> Record:
        line: Record = {
            "key": self.key,
            "method": self.method,
            "size": self.size,
            "facts": find(self.size).facts(),
        }
        try:
            if self.method == ALT_OPT:
                line |= worker.run("ours", tasks=TASKS, size=self.size, n_epochs=self.n_epochs)
            else:
                line |= worker.run(
                    "network", tasks=TASKS, method=self.method, size=self.size, n_epochs=self.n_epochs
                )
        except RuntimeError as error:
            line["failed"] = str(error)[:200]
        return line | made_on()


@dataclass(frozen=True)
class LayerMemory:
    """Peak memory with K propagation steps."""

    method: str
    size: str
    n_steps: int

    @property
    def key(self) -> str:
        return f"memory, {self.method}, {self.size} size, K={self.n_steps}"

    @property
    def needs_dataset(self) -> None:
        return None

    def is_current(self, record: Record) -> bool:
        return True

    def perform(self, contexts: DatasetContexts) -> Record:
        line: Record = {"key": self.key, "method": self.method, "size": self.size, "n_steps": self.n_steps}
        try:
            if self.method == ALT_OPT:
                line |= worker.run("paper_fit", size=self.size, n_steps=self.n_steps)
            else:
                line |= worker.run("appnp_epoch", size=self.size, form="CSR", n_steps=self.n_steps)
        except RuntimeError as error:
            line["failed"] = str(error)[:200]
        return line | made_on()


@dataclass(frozen=True)
class EpochTime:
    """CPU milliseconds of an epoch on a real graph: what a long and a short training differ by."""

    method: str  # a peer's name, "APPNP, PyTorch Geometric's layer", or a form of ALT-OPT-Full
    cell: Cell
    n_epochs: int = 60

    @property
    def key(self) -> str:
        return f"epoch, {self.method}, {self.cell}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    def is_current(self, record: Record) -> bool:
        return True

    def perform(self, contexts: DatasetContexts) -> Record:
        data = contexts(self.cell.dataset).dataset
        known = hide(np.asarray(data.y), split_of(data, self.cell.rate, 0).train)
        taken = []
        for n_epochs in (5, 5, 5 + self.n_epochs):  # the first one warms up
            began = time.process_time()
            self.train(data, known, n_epochs)
            taken.append(time.process_time() - began)
        line = {"key": self.key, "method": self.method, "dataset": self.cell.dataset, "rate": self.cell.rate}
        milliseconds = 1000 * (taken[2] - taken[1]) / self.n_epochs
        return line | {"milliseconds": milliseconds, "epochs_timed": self.n_epochs} | made_on()

    def train(self, data: Dataset, known: Array, n_epochs: int) -> None:
        """So many epochs, no validation nodes to look at."""
        if self.method.startswith("ALT-OPT-Full"):
            form = AltOptConfig(
                encoder="mlp",
                inputs="plain" if "plain" in self.method else "reduced",
                n_pseudo=100,
                n_steps=10,
                temperature=0.1,
                n_rounds="full",
                total_epochs=n_epochs,
                n_warmup=0,
            )
            form.model(0).fit(data.X, known, graph=data.graph)
            return
        name, _, layer = self.method.partition(", ")
        options: dict[str, Any] = {"propagation": "torch_geometric"} if layer else {}
        BASELINES[name](n_epochs=n_epochs, **options).fit(data.X, known, data.graph)  # type: ignore[call-arg]
