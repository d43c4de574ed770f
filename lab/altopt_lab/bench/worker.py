"""Runs a task in a process of its own, so that its peak memory can be measured."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

MARK = "result: "


class WorkerError(RuntimeError):
    """A task that did not finish, and why."""


def run(
    task: str, *, tasks: str = "altopt_lab.bench.tasks", group: Path | None = None, **arguments: Any
) -> dict[str, Any]:
    """Do `task`, a function of the module `tasks`, in a fresh process; what it returns.

    With `group`, a cgroup's folder, the process enters it before it is Python's: memory stays with the group that a
    process was in when it took it.
    """
    wanted = json.dumps({"tasks": tasks, "task": task, "arguments": arguments})
    call = [sys.executable, "-m", "altopt_lab.bench.worker", wanted]
    if group is not None:
        call = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs"), *call]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith(MARK):
            return dict(json.loads(line.removeprefix(MARK)))
    last = (done.stderr.strip().splitlines() or [f"ended with code {done.returncode}"])[-1]
    # the kernel kills a process that exhausts the memory, without a message
    reason = "out of memory" if done.returncode == -9 else last
    raise WorkerError(f"{task} did not finish: {reason}")


def resident_gb() -> float:
    """Memory in use now."""
    return _status("VmRSS")


def peak_gb() -> float:
    """The most memory this process has had in use.

    Not ru_maxrss where /proc is there: Linux carries the starting process's own size over into that.
    """
    return _status("VmHWM")


def _status(key: str) -> float:
    path = Path("/proc/self/status")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024 / 1e9
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


@contextmanager
def measured(measures: dict[str, Any]) -> Iterator[None]:
    """Notes seconds and memory of the block: what was loaded before it, and the peak up to its end."""
    measures["before_gb"] = resident_gb()
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    measures["seconds"], measures["cpu"] = time.perf_counter() - wall, time.process_time() - cpu
    measures["peak_gb"] = max(
        peak_gb(), measures["before_gb"]
    )  # the kernel counts in batches, a few pages off


def main() -> None:
    call = json.loads(sys.argv[1])
    task: Callable[..., dict[str, Any]] = getattr(import_module(call["tasks"]), call["task"])
    print(MARK + json.dumps(task(**call["arguments"])), flush=True)


if __name__ == "__main__":
    main()
