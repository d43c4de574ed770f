"""Jobs on the workers of a Ray cluster, as plain tasks; only names of files travel through Ray."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib import import_module
from typing import Any, Self
from uuid import uuid4

from altopt import __version__
from altopt.errors import InputError, require_extra
from altopt.scale.job import JOBS, Job, do
from altopt.scale.store import Store

RETRIES = 5  # of a job whose worker or machine was lost
OBJECT_STORE = 80 << 20  # bytes, the least that Ray takes: nothing large is kept there
PROBE_SECONDS = 120.0  # for every machine to read the storage; a worker starts for it
LOCAL = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}


class Ray:
    """Jobs as Ray tasks of one processor each; a job whose worker dies is run again.

    Parameters
    ----------
    store : Store
        A folder that every machine can read and write, or a URL.
    workers : int
        Jobs at a time.
    address : str, optional
        Of a running cluster, or "auto". By default a cluster of this machine alone, which ends with the runner.
    budget : int
        Bytes of memory that a job may use.
    on_done : callable, optional
        Called with each job as soon as it is done, those that were done before included.
    """

    def __init__(
        self,
        store: Store,
        workers: int,
        address: str | None = None,
        budget: int = 1 << 30,
        on_done: Callable[[Job], None] = lambda job: None,
    ) -> None:
        self.store, self.workers, self.address = store, workers, address
        self.budget, self.on_done = budget, on_done
        self.ray = require_extra("ray", "ray", "--engine ray")
        self.place = store.place  # as workers open it
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            if not self.ray.is_initialized():
                stack.enter_context(self._cluster())
            self._check()
            self._open = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._open:
            if kind is None:
                self._drop_copies()

    def run(self, jobs: Sequence[Job]) -> None:
        waiting = []
        for job in jobs:
            if job.is_done(self.store):
                self.on_done(job)
            else:
                waiting.append(job)
        flying: dict[Any, Job] = {}
        try:
            self._run(waiting, flying)
        except BaseException:
            for task in flying:
                self.ray.cancel(task, force=True)
            raise

    def _run(self, waiting: list[Job], flying: dict[Any, Job]) -> None:
        missing = {name for job in waiting for name in job.files}
        send = self.ray.remote(num_cpus=1, memory=self.budget, max_retries=RETRIES)(_do).remote
        while waiting or flying:
            ready = [job for job in waiting if missing.isdisjoint(job.inputs)]
            for job in ready[: self.workers - len(flying)]:
                waiting.remove(job)
                module = JOBS[job.kind].__module__
                flying[send(job, module, self.place, self.store.given_cache, self.budget)] = job
            [task], _ = self.ray.wait(list(flying), num_returns=1)
            job = flying.pop(task)
            self._count(self._result(task, job))
            missing.difference_update(job.files)
            self.on_done(job)

    def _result(self, task: Any, job: Job) -> tuple[int, int]:
        failed = self.ray.exceptions
        try:
            n_read, n_written = self.ray.get(task)
            return n_read, n_written
        except failed.RayTaskError as error:
            raise error.cause from error
        except failed.RayError as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(
                f"a job of the kind {job.kind!r} was lost {RETRIES + 1} times with its worker ({reason}). "
                "Give the workers more memory, or the job less by --memory, and run again: what is done stays done."
            ) from error

    def _count(self, moved: tuple[int, int]) -> None:
        self.store.bytes_read += moved[0]
        self.store.bytes_written += moved[1]

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        quiet = {"log_to_driver": False, "logging_level": "error"}
        with ExitStack() as stack:
            try:
                if self.address is not None:
                    self.ray.init(address=self.address, **quiet)
                else:
                    stack.enter_context(_environment(LOCAL))
                    self.ray.init(
                        address="local",
                        num_cpus=self.workers,
                        _memory=self.workers * self.budget,
                        _node_ip_address="127.0.0.1",
                        object_store_memory=OBJECT_STORE,
                        include_dashboard=False,
                        **quiet,
                    )
            except (ConnectionError, ValueError, RuntimeError) as cause:
                reason = " ".join(str(cause).split())[:300]
                where = "here" if self.address is None else f"at --address {self.address}"
                raise InputError(f"no Ray cluster {where}: {reason}") from cause
            stack.callback(self.ray.shutdown)
            yield

    def _drop_copies(self) -> None:
        """Every machine removes its copies; one that does not answer keeps them."""
        tasks = [
            self._on(node, _drop_copies).remote(self.place, self.store.given_cache)
            for node in self._machines()
        ]
        self.ray.wait(tasks, num_returns=len(tasks), timeout=PROBE_SECONDS)
        self.store.drop_copies()

    def _machines(self) -> list[dict[str, Any]]:
        """Those that can do jobs."""
        return [node for node in self.ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]

    def _on(self, node: dict[str, Any], function: Callable[..., Any]) -> Any:
        """A task for one machine, which takes no processor from jobs."""
        place = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        return self.ray.remote(num_cpus=0, max_retries=RETRIES, scheduling_strategy=place)(function)

    def _check(self) -> None:
        """Refuse before any work a cluster that cannot do it: too little memory, another altopt, a storage apart."""
        nodes = self._machines()
        most = max((node["Resources"].get("memory", 0) for node in nodes), default=None)
        if most is None or most < self.budget:
            offer = (
                "no machine has a processor" if most is None else f"none offers more than {most:,.0f} bytes"
            )
            raise InputError(
                f"a job needs one processor and {self.budget:,} bytes of memory, but {offer} in the Ray cluster."
            )
        if len({node["NodeManagerAddress"] for node in nodes}) > 1 and self.store.local is not None:
            self.place = self.store.local.as_uri()  # of a folder on the network every machine keeps copies
        token = f"token-{uuid4().hex}"
        draft = self.store.draft(token)
        draft.write_text(token)
        self.store.put(token, draft)
        try:
            for node in nodes:
                self._probe(node, token)
        finally:
            self.store.discard(token)

    def _probe(self, node: dict[str, Any], token: str) -> None:
        """One machine reads what was written here, and writes what is read here."""
        where = node["NodeManagerAddress"]
        probe = self._on(node, _answer)
        reply = f"{token}-{node['NodeID']}"
        try:
            sees, found = self.ray.get(
                probe.remote(self.place, self.store.given_cache, token, reply), timeout=PROBE_SECONDS
            )
        except self.ray.exceptions.RayError as error:
            reason = " ".join(str(error).split())[-300:]
            raise InputError(f"machine {where} of the Ray cluster cannot run altopt: {reason}") from error
        if found != __version__:
            raise InputError(
                f"machine {where} has altopt {found}, but {__version__} is here. Install the same everywhere."
            )
        if not sees or not self.store.has(reply):
            raise InputError(
                f"--storage {self.store.shown} is not shared: machine {where} of the Ray cluster does not see what "
                "is written here. Name a folder that every machine can read and write, or a URL such as s3://bucket/run."
            )
        self.store.discard(reply)


def _do(job: Job, module: str, place: str, cache: str | None, budget: int) -> tuple[int, int]:
    """A job in a worker, unless a run of it ended before its worker was lost; the bytes read and written."""
    import_module(module)
    store = _store(place, cache)
    before = store.bytes_read, store.bytes_written
    if not job.is_done(store):
        do(job, store, budget)
    return store.bytes_read - before[0], store.bytes_written - before[1]


def _answer(place: str, cache: str | None, token: str, reply: str) -> tuple[bool, str]:
    """Whether a worker sees the driver's token, and its altopt; the reply shows that it can write."""
    store = Store(place, cache)
    if not store.has(token):
        return False, __version__
    draft = store.draft(reply)
    draft.write_text(reply)
    store.put(reply, draft)
    return True, __version__


def _drop_copies(place: str, cache: str | None) -> None:
    _store(place, cache).drop_copies()


@cache
def _store(place: str, cache: str | None) -> Store:
    """One store for all jobs of a worker: it knows which files it has checked."""
    return Store(place, cache)


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
