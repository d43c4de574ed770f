"""AltOpt() with one number of its recipe changed, in a process of its own: many numbers are read at import."""

import json
import os
import subprocess
import sys
from typing import Any

from altopt.defaults import DEFAULTS


class ChangedDefault:
    """A process whose altopt has another value for a number, wherever that number is given.

    Parameters
    ----------
    changes : dict
        Values by name; empty: the recipe as it is.
    """

    def __init__(self, changes: dict[str, Any]) -> None:
        self.changes = changes
        self.process = subprocess.Popen(
            [sys.executable, "-m", "altopt_lab.experiments.changed_default", json.dumps(changes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )

    def measure(self, dataset: str, draw: str, number: int) -> dict[str, Any]:
        """The figures of a fit, as `altopt_lab.breadth` records them."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([dataset, draw, number]), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process with {self.changes} ended with code {self.process.wait()}")
        record: dict[str, Any] = json.loads(answer)
        return record

    def end(self) -> None:
        self.process.communicate()


def serve(changes: dict[str, Any]) -> None:
    """Change the numbers before anything else of altopt is imported; then answer each request with a line."""
    for name, value in changes.items():
        object.__setattr__(DEFAULTS, name, tuple(value) if isinstance(value, list) else value)
    from altopt_lab.breadth.data import read
    from altopt_lab.breadth.draws import read_draw
    from altopt_lab.breadth.run import OURS, BreadthRun
    from altopt_lab.experiments.context import DatasetContexts
    from altopt_lab.experiments.work import FAILURES, failure

    answer = os.dup(1)
    os.dup2(2, 1)
    contexts = DatasetContexts(None, read)
    for line in sys.stdin:
        dataset, draw, number = json.loads(line)
        try:
            found = BreadthRun(OURS, dataset, read_draw(draw), number).measure(contexts)
        except FAILURES as error:
            found = {"failed": failure(error)}
        with os.fdopen(os.dup(answer), "w") as stream:
            stream.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
