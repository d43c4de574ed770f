"""Work that measures time and peak memory, on generated graphs and on real ones."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets import Dataset
from altopt.datasets.splits import hide
from altopt_lab import provenance
from altopt_lab.baselines import BASELINES
from altopt_lab.bench import worker
from altopt_lab.bench.graphs import find
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.protocols import Cell, split_of
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.records import Record

TASKS = "altopt_lab.experiments.timing_tasks"
ALT_OPT, FULL_BATCH = "ALT-OPT", "ALT-OPT, full batch"


@dataclass(frozen=True)
class Cost(Work):
    """Epochs of a method on a generated graph: time of one, of setting up, and the peak of memory."""

    method: str
    size: str
    n_epochs: int = 5

    @property
    def key(self) -> str:
        return f"cost, {self.method}, {self.size} size"

    def is_current(self, record: Record) -> bool:
        return "failed" in record or "epoch_cpu" in record

    @property
    def depends_on(self) -> str:
        return sources_of(self.method)

    def identity(self) -> Record:
        return {"method": self.method, "size": self.size, "facts": find(self.size).facts()}

    def measure(self, contexts: Contexts) -> Record:
        arguments: dict[str, Any] = {"size": self.size, "n_epochs": self.n_epochs}
        if self.method == ALT_OPT:
            return worker.run("ours", tasks=TASKS, **arguments)
        return worker.run("network", tasks=TASKS, method=self.method, **arguments)


@dataclass(frozen=True)
class LayerMemory(Work):
    """Peak memory with K propagation steps."""

    method: str
    size: str
    n_steps: int

    @property
    def key(self) -> str:
        return f"memory, {self.method}, {self.size} size, K={self.n_steps}"

    @property
    def depends_on(self) -> str:
        return sources_of(self.method)

    def identity(self) -> Record:
        return {"method": self.method, "size": self.size, "n_steps": self.n_steps}

    def measure(self, contexts: Contexts) -> Record:
        if self.method == ALT_OPT:
            return worker.run("paper_fit", size=self.size, n_steps=self.n_steps)
        if self.method == FULL_BATCH:
            return worker.run("paper_fit", size=self.size, n_steps=self.n_steps, batch_size=None)
        return worker.run("appnp_epoch", size=self.size, form="CSR", n_steps=self.n_steps)


@dataclass(frozen=True)
class EpochTime(Work):
    """CPU milliseconds of an epoch on a real graph, from the difference of a long and a short training."""

    method: str  # a peer's name, "APPNP, PyTorch Geometric's layer", or a form of ALT-OPT-Full
    cell: Cell
    n_epochs: int = 60

    @property
    def key(self) -> str:
        return f"epoch, {self.method}, {self.cell}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    @property
    def depends_on(self) -> str:
        return sources_of(self.method)

    def identity(self) -> Record:
        return {"method": self.method, "dataset": self.cell.dataset, "rate": self.cell.rate}

    def measure(self, contexts: Contexts) -> Record:
        data = contexts(self.cell.dataset).dataset
        known = hide(np.asarray(data.y), split_of(data, self.cell.rate, 0).train)
        seconds = []
        for n_epochs in (5, 5, 5 + self.n_epochs):  # the first one warms up
            began = time.process_time()
            self.train(data, known, n_epochs)
            seconds.append(time.process_time() - began)
        milliseconds = 1000 * (seconds[2] - seconds[1]) / self.n_epochs
        return {"milliseconds": milliseconds, "epochs_timed": self.n_epochs}

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


def sources_of(method: str) -> str:
    """Whose sources a time depends on: of ALT-OPT, whose encoder is a network, or of a peer."""
    return provenance.NETWORKS if method.startswith(ALT_OPT) else provenance.PEERS
