"""Runs parts batch by batch in worker processes, and records each batch as one JSON line."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from json import loads
from pathlib import Path
from typing import IO, Any

from altopt_lab.records import Record, Records
from altopt_lab.trust.part import KINDS, Part

START_UP = 120.0  # seconds in which a worker must have imported everything and drawn its first case
MOST_DEATHS = 20  # in one batch; after these the rest of it is left out
LONGEST_DETAIL = 1200


@dataclass(frozen=True)
class Batch:
    """Cases of one part, drawn from one seed."""

    part: Part
    seed: int
    trials: int


@dataclass
class Tally:
    """What came of the cases of a batch so far."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    faults: list[dict[str, Any]] = field(default_factory=list)
    slowest: float = 0.0
    last: int = 0  # the number of the last case begun
    case: Any = None  # the case that is being tried
    whole: bool = False

    def read(self, line: bytes) -> None:
        """Take in one line of a worker."""
        told = loads(line)
        if told["k"] == 0:
            self.whole = True
        elif "case" in told:
            self.last, self.case = told["k"], told["case"]
        else:
            self.add(told["kind"], told["detail"], told["seconds"])

    def add(self, kind: str, detail: str, seconds: float) -> None:
        self.counts[kind] += 1
        self.slowest = max(self.slowest, seconds)
        if kind == "fault":
            self.faults.append({"case": self.case, "detail": detail[:LONGEST_DETAIL]})
        self.case = None


def batches(parts: list[Part], trials: int | None, first_seed: int) -> list[Batch]:
    """All batches, those of different parts by turns, so that a run cut short has tried something of everything."""
    planned = []
    for part in parts:
        wanted = part.trials if trials is None else trials
        n = -(-wanted // part.batch)
        for k in range(n):
            size = min(part.batch, wanted - k * part.batch)
            planned.append((k / n, Batch(part, first_seed + k, size)))
    return [batch for _, batch in sorted(planned, key=lambda pair: pair[0])]


def run(
    planned: list[Batch],
    records: Path | None,
    workers: int,
    minutes: float | None,
    log: Callable[[str], None],
) -> list[Record]:
    """Try all batches that are not on record for this commit; the records of this commit."""
    commit = current_commit()
    until = None if minutes is None else time.monotonic() + 60 * minutes
    done = [] if records is None else recorded(records, commit)
    known = {(record["part"], record["seed"], record["asked"]) for record in done}
    waiting = [batch for batch in planned if (batch.part.name, batch.seed, batch.trials) not in known]
    log(f"{len(waiting):,} batches at commit {commit}; {len(known):,} are on record.")

    def work(batch: Batch) -> Record | None:
        if until is not None and time.monotonic() > until:
            return None
        record = run_batch(batch, commit)
        if records is not None:
            with Records(records) as file:
                file.add(record)
        log(told(record))
        return record

    with ThreadPoolExecutor(workers) as pool:
        fresh = [record for record in pool.map(work, waiting) if record is not None]
    return done + fresh


def recorded(records: Path, commit: str) -> list[Record]:
    """Batches that were tried at this commit; none while there are changes that no commit names."""
    with Records(records) as file:
        return [record for record in file.lines if record["commit"] == commit and "+" not in commit]


def run_batch(batch: Batch, commit: str) -> Record:
    """Try a batch; behind a case that ended its worker another worker goes on."""
    tally, start, deaths = Tally(), time.perf_counter(), 0
    while not tally.whole and deaths < MOST_DEATHS:
        died = run_worker(batch, tally)
        if died is not None:
            deaths += 1
            if tally.case is None:  # between two cases: it would end there again
                tally.add("fault", f"the worker {died}", 0.0)
                break
            tally.add("fault", died, 0.0)
    return {
        "part": batch.part.name,
        "seed": batch.seed,
        "asked": batch.trials,
        "trials": sum(tally.counts.values()),
        "commit": commit,
        "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "seconds": round(time.perf_counter() - start, 1),
        "slowest": round(tally.slowest, 2),
        "counts": tally.counts,
        "faults": tally.faults,
    }


def run_worker(batch: Batch, tally: Tally) -> str | None:
    """Try what is left of a batch in one process; how it died, if it did."""
    wanted = [batch.part.name, str(batch.seed), str(batch.trials), str(tally.last)]
    with tempfile.TemporaryDirectory(prefix="trust-") as folder, tempfile.TemporaryFile() as errors:
        worker = subprocess.Popen(
            [sys.executable, "-m", "altopt_lab.trust.worker", *wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env=os.environ
            | {
                "TMPDIR": folder,  # whatever a case writes goes with its worker
                "HYPOTHESIS_STORAGE_DIRECTORY": str(
                    Path(".hypothesis").resolve()
                ),  # what it read of the source
            },
            start_new_session=True,  # so that processes that a case has started end with it
        )
        try:
            for line in lines_of(worker, batch.part.seconds):
                tally.read(line)
                if tally.whole:
                    break
            worker.wait(timeout=10)
        except TimeoutError:
            return f"hung: nothing in {batch.part.seconds:g} seconds"
        except subprocess.TimeoutExpired:
            return "did not end"
        finally:
            end(worker)
        if tally.whole:
            return None
        return f"{ending(worker.returncode)}; on stderr: {said(errors)}"


def lines_of(worker: "subprocess.Popen[bytes]", seconds: float) -> Iterator[bytes]:
    """Lines as they come; TimeoutError where none came in time."""
    assert worker.stdout is not None
    stream, held, limit = worker.stdout.fileno(), b"", START_UP + seconds
    while True:
        if not select.select([stream], [], [], limit)[0]:
            raise TimeoutError
        read = os.read(stream, 1 << 16)
        if not read:
            return
        *whole, held = (held + read).split(b"\n")
        yield from whole
        limit = seconds if whole else limit


def end(worker: "subprocess.Popen[bytes]") -> None:
    """End a worker and everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    if worker.stdout is not None:
        worker.stdout.close()


def ending(code: int) -> str:
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def said(errors: IO[bytes]) -> str:
    """What a dead worker left on stderr: where a signal met it, else the last lines."""
    errors.seek(0)
    text = errors.read().decode(errors="replace").partition("Extension modules:")[0]
    _, fatal, where = text.partition("Fatal Python error")
    return (fatal + where)[:800] if fatal else text[-800:].strip() or "nothing"


def told(record: Record) -> str:
    """A line about a batch."""
    counts = ", ".join(f"{record['counts'][kind]:,} {kind}" for kind in KINDS)
    return f"{record['part']}, seed {record['seed']}: {counts}; {record['seconds']:.0f} s"


def current_commit() -> str:
    """The commit that is tried, with a + where altopt has changes that are not in it."""
    try:
        head = git("rev-parse", "--short", "HEAD")
        return head + ("+" if git("status", "--porcelain", "--", ":/src", ":/lab") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown+"


def git(*words: str) -> str:
    here = Path(__file__).parent
    done = subprocess.run(["git", *words], cwd=here, capture_output=True, text=True, check=True)
    return done.stdout.strip()
