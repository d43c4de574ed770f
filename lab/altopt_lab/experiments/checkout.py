"""The AltOpt() of another checkout, in a process of its own that imports nothing but the altopt there."""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any


class Checkout:
    """A process that fits with the altopt of one checkout, its native modules built.

    Parameters
    ----------
    tree : Path
        The root of the checkout.
    data : Path or None
        Folder of raw files; None: as the environment says.
    """

    def __init__(self, tree: Path, data: Path | None = None) -> None:
        environment = os.environ | {"PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
        if data is not None:
            environment["ALTOPT_DATA"] = str(data.resolve())
        self.process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def fit(self, dataset: str, labelled: list[int], seed: int) -> tuple[list[int], float]:
        """Labels of all nodes from those of some, and CPU seconds."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        wanted = {"dataset": dataset, "labelled": labelled, "seed": seed}
        print(json.dumps(wanted), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of the checkout ended with code {self.process.wait()}")
        found = json.loads(answer)
        return found["labels"], found["seconds"]

    def end(self) -> None:
        self.process.communicate()


def serve() -> None:
    """Answer each request on stdin with a line."""
    # an editable installation would be found before the checkout that PYTHONPATH names
    sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
    import numpy as np

    from altopt import AltOpt
    from altopt.datasets import load

    warnings.simplefilter("ignore")
    answer = os.dup(1)
    os.dup2(2, 1)
    held: dict[str, Any] = {}
    for line in sys.stdin:
        wanted = json.loads(line)
        data = held.setdefault(wanted["dataset"], None) or load(wanted["dataset"])
        held = {wanted["dataset"]: data}
        y = np.full(len(data.y), -1)
        y[wanted["labelled"]] = data.y[wanted["labelled"]]
        began = time.process_time()
        model = AltOpt(random_state=wanted["seed"]).fit(data.X, y, graph=data.graph)
        found = {"labels": model.transduction_.tolist(), "seconds": time.process_time() - began}
        with os.fdopen(os.dup(answer), "w") as stream:
            stream.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    serve()
