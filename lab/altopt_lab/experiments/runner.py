"""The runner: works through a list in order and puts each piece on record; several processes may share a list."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from altopt_lab.records import Record, Records

if TYPE_CHECKING:
    from altopt_lab.experiments.work import Contexts, Work

ProgressCallback = Callable[
    [int, int, Record, float], None
]  # done, planned, the record, estimated seconds left


def work_through(
    wanted: Sequence["Work"],
    records: Records,
    contexts: "Contexts",
    budget: float = float("inf"),
    retry: bool = False,
    on_progress: ProgressCallback = lambda done, planned, record, left: None,
    renew: bool = False,
) -> Iterator[Record]:
    """The records of all that is wanted, in that order as far as possible: read, or made now and added.

    Nothing is begun once `budget` seconds have passed. Work that another process has claimed is left to it, and
    looked for on record at the end. What failed before is not tried again unless `retry`; what was run under other
    settings than now is, and with `renew` what other code made.
    """
    began = time.monotonic()
    known = {line["key"]: line for line in records.lines}

    def is_done(work: "Work") -> bool:
        line = known.get(work.key)
        if line is None or not work.is_current(line) or (retry and "failed" in line):
            return False
        return not renew or line.get("fit_code") == work.fit_code

    todo = [work for work in dict.fromkeys(wanted) if not is_done(work)]
    spent: list[float] = []
    by_others: dict[str, Record] = {}  # records that came in since the start
    for number, work in enumerate(todo):
        if time.monotonic() - began > budget:
            break
        if not records.claim(work.key):
            continue
        try:
            by_others |= {line["key"]: line for line in records.refresh()}
            if work.key in by_others and work.is_current(by_others[work.key]):
                continue
            start = time.monotonic()
            record = work.perform(contexts)
            spent.append(time.monotonic() - start)
            records.add(record)
        finally:
            records.release(work.key)
        left = sum(spent) / len(spent) * (len(todo) - number - 1)
        on_progress(number + 1, len(todo), record, left)
    records.refresh()
    known = {line["key"]: line for line in records.lines}
    for work in dict.fromkeys(wanted):
        if work.key in known:
            yield known[work.key]


def standing(recorded: Sequence[Record], n_wanted: int, out: Any, lacking: Iterable[str]) -> str:
    """How far the runs are, in a few sentences: on record, failed, left, and not on disk."""
    ends = [f"{len(recorded):,} of {n_wanted:,} runs on record in {out}."]
    failed = [record for record in recorded if "failed" in record]
    if failed:
        ends.append(f"{len(failed)} failed, e.g. {failed[0]['key']}: {failed[0]['failed']}")
    if len(recorded) < n_wanted:
        ends.append(f"{n_wanted - len(recorded):,} are left; the same command goes on.")
    names = sorted(lacking)
    if names:
        ends.append(f"Not on disk, so not run: {', '.join(names)}.")
    return " ".join(ends)
