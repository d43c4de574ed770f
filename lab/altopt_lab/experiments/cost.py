"""What a change costs: a fit, a load, an update in memory and `altopt update`, with the code before and now by turns.

    python -m altopt_lab.experiments.cost BEFORE NOW --record results/cost.jsonl

BEFORE and NOW are checkouts with their native modules built. Each has a process of its own, which imports only the
public interface of altopt, and the two do each job by turns, so that other load on the machine affects both alike.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

Job = Callable[[], object]
LIMITS = {"fit": 1.05, "load": 1.5, "model.update": 1.1, "altopt update": 1.25}
GRAPHS = {"Cora": 7, "3,000 nodes": 7, "20,000 nodes": 5}  # and how often a fit is repeated
REPEATS = {"load": 15, "model.update": 15, "altopt update": 9}
N_UPDATES = 50  # of which one sample of model.update consists
MAIN = """
try:
    from altopt.cli.main import main
except ImportError:
    from altopt.cli import main
main()
"""


# a worker: one version of altopt


class Jobs:
    """The jobs on one graph, made by the altopt that this process imports."""

    def __init__(self, graph: str, folder: Path) -> None:
        import numpy as np

        from altopt.datasets import communities, load

        data: Any = load("Cora") if graph == "Cora" else None
        if data is None:
            data = communities(n_nodes=int(graph.split()[0].replace(",", "")), n_classes=5, seed=0)
        self.X, self.graph, self.folder = data.X, data.graph, folder
        self.y = np.full(len(data.y), -1)
        for k in np.unique(data.y):
            self.y[np.flatnonzero(data.y == k)[:20]] = k
        self.free = np.flatnonzero(self.y < 0)
        self.model: Any = None
        self.n_done = 0

    def fit(self) -> None:
        from altopt import AltOpt

        self.model = AltOpt(random_state=0).fit(self.X, self.y, graph=self.graph)

    def store(self) -> None:
        """The model that is loaded and updated; not timed."""
        self.model.save(self.folder / "model")
        table = f"node,label\n{self.free[0]},{self.y.max()}\n"
        (self.folder / "labels.csv").write_text(table)

    def load(self) -> None:
        from altopt import AltOpt

        AltOpt.load(self.folder / "model")

    def update(self) -> None:
        """Labels for some nodes, one by one."""
        for _ in range(N_UPDATES):
            node = int(self.free[self.n_done * 37 % len(self.free)])
            self.model.update(labels={node: int(self.n_done % 3)})
            self.n_done += 1

    def command(self) -> None:
        call = ["update", str(self.folder), "--labels", str(self.folder / "labels.csv")]
        subprocess.run([sys.executable, "-c", MAIN, *call], check=True, stdout=subprocess.DEVNULL)


def work(graph: str, folder: Path) -> None:
    """Do the jobs whose names come on stdin; answer each with its seconds."""
    warnings.simplefilter("ignore")
    answer = os.dup(1)
    os.dup2(2, 1)
    jobs = Jobs(graph, folder)
    names: dict[str, Job] = {"fit": jobs.fit, "store": jobs.store, "load": jobs.load}
    names |= {"model.update": jobs.update, "altopt update": jobs.command}
    for line in sys.stdin:
        begun = time.perf_counter()
        names[line.strip()]()
        os.write(answer, f"{time.perf_counter() - begun!r}\n".encode())


# the driver


class Version:
    """A process that works with the altopt of one checkout."""

    def __init__(self, tree: Path, graph: str, folder: Path) -> None:
        folder.mkdir()
        call = [sys.executable, "-P", __file__, "work", graph, str(folder)]
        environment = os.environ | {"PYTHONPATH": str(tree / "src")}
        self.process = subprocess.Popen(
            call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def seconds(self, job: str) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(job, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate()


def compare(before: Path, now: Path, graph: str, share: float) -> list[dict[str, Any]]:
    """All jobs on one graph, by turns; the first turn of each is not counted."""
    place = Path(tempfile.mkdtemp(prefix="cost-"))
    versions = [Version(tree, graph, place / name) for tree, name in ((before, "before"), (now, "now"))]
    records = []
    try:
        for job, limit in LIMITS.items():
            repeats = max(2, round(share * REPEATS.get(job, GRAPHS[graph])))
            turns: list[list[float]] = []
            for k in range(repeats + 1):
                order = versions if k % 2 else versions[::-1]
                taken = {id(version): version.seconds(job) for version in order}
                turns += [[taken[id(version)] for version in versions]] if k else []
            if job == "fit":
                for version in versions:
                    version.seconds("store")
            records.append({"graph": graph, "job": job, "limit": limit} | figures(turns))
    finally:
        for version in versions:
            version.end()
        shutil.rmtree(place, ignore_errors=True)
    return records


def figures(turns: list[list[float]]) -> dict[str, Any]:
    """Medians, their ratio, the ratio of the fastest, and the quartiles of the ratio over the turns."""
    before, now = (list(column) for column in zip(*turns))
    ratios = sorted(b / a for a, b in turns)
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    return {
        "turns": len(turns),
        "before": median(before),
        "now": median(now),
        "ratio": median(now) / median(before),
        "fastest": min(now) / min(before),
        "quartiles": [low, high],
    }


def main() -> int:
    if sys.argv[1:2] == ["work"]:
        # an editable installation would be found before the checkout that PYTHONPATH names
        sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
        work(sys.argv[2], Path(sys.argv[3]))
        return 0
    from altopt_lab.records import append_record

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    parser.add_argument("--graphs", nargs="+", choices=list(GRAPHS), default=list(GRAPHS))
    parser.add_argument("--share", type=float, default=1.0, help="of the turns; less is a first look")
    parser.add_argument("--record", type=Path, help="append the figures to this file")
    asked = parser.parse_args()
    commits = {"of": [commit(asked.before), commit(asked.now)]}
    made = {"made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M")}
    for graph in asked.graphs:
        for record in compare(asked.before.resolve(), asked.now.resolve(), graph, asked.share):
            print(json.dumps(record), flush=True)
            if asked.record is not None:
                append_record(asked.record, record | commits | made)
    return 0


def commit(tree: Path) -> str:
    call = ["git", "-C", str(tree), "rev-parse", "--short", "HEAD"]
    return subprocess.run(call, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
