"""All benchmarks by name, and what goes with each run: the graph, the machine, the date."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from altopt.errors import InputError
from altopt_lab import provenance
from altopt_lab.bench import (
    diffusion,
    encoder,
    fit,
    graphs,
    growth,
    machine,
    memory,
    propagate,
    scale,
    solve,
    update,
)
from altopt_lab.bench.report import Report
from altopt_lab.bench.timing import Log

BENCHES: dict[str, Callable[[graphs.Case, int | None, Log], Report]] = {
    "propagate": propagate.run,
    "diffuse": diffusion.run,
    "solve": solve.run,
    "encoder": encoder.run,
    "fit": fit.run,
    "memory": memory.run,
    "growth": growth.run,
    "update": update.run,
    "scale": scale.run,
}
LONG = ("scale",)  # of an hour and more: run by their own names alone


def chosen(what: str) -> list[str]:
    """The benchmarks that a word stands for."""
    if what not in (*BENCHES, "all"):
        raise InputError(f"WHAT must be one of {', '.join(BENCHES)} or all, but is {what!r}.")
    return [name for name in BENCHES if name not in LONG] if what == "all" else [what]


def _tell(log: Log, name: str, line: str) -> None:
    log(f"{name}: {line}")


def run(
    names: Sequence[str],
    size: graphs.Size,
    repeats: int | None,
    log: Log = lambda line: None,
    parts: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Each benchmark's record as soon as it is done; `parts` are those of the benchmark of scale."""
    if parts is not None and list(names) != ["scale"]:
        raise InputError("--parts names parts of the benchmark scale, and no other has any. Leave it out.")
    for name in names:
        case = graphs.load(size, log)  # afresh each time: what the last one derived from it takes memory
        bench = BENCHES[name] if parts is None else partial(scale.run, only=parts)
        report = bench(case, repeats, partial(_tell, log, name))
        report.machine = machine.describe()
        code = (
            provenance.ON_FILES if name == "scale" else provenance.NETWORKS
        )  # whatever AltOpt() passes through
        report.commit, report.fit_code = provenance.commit(), provenance.code()[code]
        report.made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
        yield report.record()
