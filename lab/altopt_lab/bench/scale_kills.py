"""Kills for `altopt bench scale`: a worker in each kind of job, a machine, the driver; same bits, seconds lost."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ray_runner import Ray
from altopt_lab.bench import graphs, mortal
from altopt_lab.bench.scale_tasks import fit, fresh_store, machine, problem, raylets

WAIT = 300.0  # seconds for something to happen that must
DRIVER = """
import json, sys
from pathlib import Path
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ray_runner import Ray
from altopt.scale.store import Store
from altopt_lab.bench import mortal
from altopt_lab.bench.scale_tasks import fit
graph, place, address, workers, budget = sys.argv[1:]
with Ray(Store(place), int(workers), address, int(budget)) as runner:
    print(json.dumps(fit(GraphFolder.open(Path(graph)), runner, judged=True)))
"""


def kills(size: str, times: float, n_classes: int, budget: int, trials: int) -> dict[str, Any]:
    """Rows of what was killed: trials, those that ended with the same bits, and the most seconds lost."""
    graph = problem(size, times, n_classes)
    with tempfile.TemporaryDirectory() as folder:
        orders = Path(folder)
        os.environ[mortal.ORDERS] = folder  # of this process and the workers, which are its children
        with raylets([2, 1], budget) as cluster:
            trial = Trials(graph, budget, orders, trials)
            trial.plain()
            for path in sorted(orders.glob("seconds-*")):
                trial.of_kind(path.name.removeprefix("seconds-"), float(path.read_text()))
            trial.of_machine(cluster)
            trial.of_driver(cluster.address)
    return {"rows": trial.rows, "plain": trial.seconds}


class Trials:
    """Trials of one fit, and what came of them."""

    def __init__(self, graph: GraphFolder, budget: int, orders: Path, n_trials: int) -> None:
        self.graph, self.budget, self.orders, self.n_trials = graph, budget, orders, n_trials
        self.rows: list[dict[str, Any]] = []
        self.hash, self.seconds = "", 0.0

    def plain(self) -> None:
        """Without kills: the bits to expect and the time; the first fit starts the workers."""
        runs = [self.once() for _ in range(3)]
        self.hash, self.seconds = runs[0][0], float(np.median([seconds for _, seconds in runs[1:]]))

    def once(self) -> tuple[str, float]:
        began = time.perf_counter()
        with fresh_store() as store, Ray(store, 3, budget=self.budget) as runner:
            made = fit(self.graph, runner, judged=True)
        return str(made["hash"]), time.perf_counter() - began

    def judge(self, killed: str, job_seconds: float, trial: Callable[[], tuple[str, float]]) -> None:
        ends = [trial() for _ in range(self.n_trials)]
        lost = max(seconds for _, seconds in ends) - self.seconds
        same = sum(found == self.hash for found, _ in ends)
        row = {"who": killed, "runs": self.n_trials, "same": same, "job": job_seconds, "lost": max(lost, 0.0)}
        self.rows.append(row | {"over": max(lost - job_seconds, 0.0)})

    def of_kind(self, kind: str, job_seconds: float) -> None:
        """A worker at the end of a job of a kind."""

        def trial() -> tuple[str, float]:
            order = self.orders / f"die-{kind}"
            order.touch()
            found = self.once()
            assert not order.exists(), f"no job of the kind {kind!r} was killed"
            return found

        self.judge(f"worker in {kind!r}", job_seconds, trial)

    def of_machine(self, cluster: Any) -> None:
        """A machine while it does a job; another comes in its place before the next trial."""
        longest = max(float(path.read_text()) for path in self.orders.glob("seconds-*"))

        def trial() -> tuple[str, float]:
            [lost] = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
            hold, held = self.orders / f"hold-{lost.node_id}", self.orders / "held"
            hold.touch()
            ends: list[tuple[str, float]] = []
            running = threading.Thread(target=lambda: ends.append(self.once()))
            running.start()
            wait_for(held.exists)
            cluster.remove_node(lost, allow_graceful=False)
            running.join()
            hold.unlink()
            held.unlink()
            cluster.add_node(**machine(1, self.budget))
            cluster.wait_for_nodes()
            self.once()  # the new machine's worker starts
            return ends[0]

        self.judge("machine", longest, trial)

    def of_driver(self, address: str) -> None:
        """The driver at a random time, and then the same command again; times with the driver's own start."""
        longest = max(float(path.read_text()) for path in self.orders.glob("seconds-*"))
        rng = np.random.default_rng(graphs.SEED)
        with driver_folder() as place:
            began = time.perf_counter()
            self.hash_of(self.driver(place, address))
            plain, self.seconds = self.seconds, time.perf_counter() - began

        def trial() -> tuple[str, float]:
            with driver_folder() as place:
                began = time.perf_counter()
                first = self.driver(place, address)
                time.sleep(self.seconds * rng.uniform(0.3, 0.9))
                first.send_signal(signal.SIGKILL)
                first.wait()
                spent = time.perf_counter() - began
                again = time.perf_counter()
                found = self.hash_of(self.driver(place, address))
                return found, spent + time.perf_counter() - again

        self.judge("driver", longest, trial)
        self.seconds = plain

    def driver(self, place: Path, address: str) -> "subprocess.Popen[str]":
        arguments = [str(self.graph.folder), str(place), address, "3", str(self.budget)]
        call = [sys.executable, "-c", DRIVER, *arguments]
        return subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def hash_of(self, driver: "subprocess.Popen[str]") -> str:
        told = driver.communicate()[0].strip().splitlines()
        return str(json.loads(told[-1])["hash"]) if told else "the driver failed"


@contextmanager
def driver_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=graphs.cache_folder()) as folder:
        yield Path(folder)


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("waited too long")
        time.sleep(0.05)
