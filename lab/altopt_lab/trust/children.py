"""Jobs in forked processes: no interpreter starts, and a signal, a hang or an exit ends the child alone."""

import contextlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from os import _exit
from typing import IO, Any

Job = Callable[[], Any]  # returns what JSON can hold


@dataclass(frozen=True)
class End:
    """How a child ended: what its job returned, or the error, the signal or the time limit that ended it."""

    value: Any = None
    error: str = ""  # a traceback, where the job raised
    signal: int | None = None
    timed_out: bool = False
    output: str = ""  # what it printed

    @property
    def whole(self) -> bool:
        """Whether the job came to its end."""
        return not (self.error or self.timed_out) and self.signal is None

    def fault(self) -> str:
        """What went wrong, in a line."""
        if self.timed_out:
            return "did not end in time"
        if self.signal is not None:
            return f"killed by {signal.Signals(self.signal).name}"
        return self.error.strip().splitlines()[-1] if self.error else ""


class Child:
    """A job in a process of its own, already running."""

    def __init__(self, job: Job) -> None:
        self.printed: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by wait)
        self.answer, answer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.answer)
            run(job, answer, self.printed.fileno())
        os.close(answer)

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def running(self) -> bool:
        return not select.select([self.answer], [], [], 0)[0]

    def wait(self, seconds: float) -> End:
        """Until the child ends; at the time limit it is killed."""
        timed_out, held = False, b""
        until = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([self.answer], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.answer, 1 << 16) if ready else b""
            held += piece
            if not piece:
                timed_out = not ready
                break
        if timed_out:
            self.kill()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.answer)
        self.printed.seek(0)
        output = self.printed.read()
        self.printed.close()
        if timed_out:
            return End(timed_out=True, output=output)
        if code < 0:
            return End(signal=-code, output=output)
        if not held:
            return End(error=f"exit {code}", output=output)
        return End(output=output, **json.loads(held))


def run(job: Job, answer: int, printed: int) -> None:
    """The child's side."""
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    try:
        sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
        try:
            held = {"value": job()}
        except BaseException:
            held = {"error": traceback.format_exc()}
        sys.stdout.flush()
        sys.stderr.flush()
        data = memoryview(json.dumps(held, default=str).encode())
        while data:
            data = data[os.write(answer, data) :]
    finally:
        _exit(0)


def forked(job: Job, seconds: float) -> End:
    """The end of a job that ran in a process of its own."""
    return Child(job).wait(seconds)
