"""`altopt fit --memory`: datasets to a graph on disk, jobs here or on Ray, a model of files and its predictions."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.cli.console import show
from altopt.cli.outputs import NOTE, NOTE_TEXT, refuse_foreign_report
from altopt.cli.progress import LONG_STEP, Bar
from altopt.cli.report.stored import stored_report
from altopt.errors import InputError
from altopt.graph.files import ColumnNames
from altopt.io.files import check_output, new_folder, write_text
from altopt.scale.dry_run import dry_run, lines
from altopt.scale.ingest import ingest
from altopt.scale.job import Job
from altopt.scale.model import ModelOfFiles, refuse_foreign_model
from altopt.scale.needs import refuse_needs
from altopt.scale.plan import bytes_of
from altopt.scale.predictions import PREDICTIONS, refuse_foreign_predictions, replace_predictions
from altopt.scale.recipe import refuse_unsupported
from altopt.scale.run import fit_files, prepare, required
from altopt.scale.runner import Here, Runner
from altopt.scale.sources import Sources
from altopt.scale.store import Store
from altopt.scale.stored import StoredModel
from altopt.scale.work_folder import WORK, work_folder
from altopt.selection.parameters import Parameters

DEFAULT_MEMORY = "2GB"  # of a worker, where only --engine ray was given
READING = {
    "text": "other formats as Parquet",
    "nodes": "numbering the nodes",
    "labels": "labels",
    "features": "features",
    "positions": "both ends of each edge by number",
    "edges": "sorting the edges",
}


@dataclass(frozen=True)
class Engine:
    """What runs the jobs, and what memory it may use.

    Parameters
    ----------
    memory : str or None
        Of this process; with Ray of each worker.
    name : {"local", "ray"}
    workers : int
    address, storage : str or None
    """

    memory: str | None
    name: str
    workers: int | None
    address: str | None
    storage: str | None

    @property
    def asked_for(self) -> bool:
        return self.memory is not None or self.name == "ray"

    @property
    def budget(self) -> int:
        return bytes_of(self.memory or DEFAULT_MEMORY)

    def check(self) -> None:
        """Refuse options that say nothing without others, and a memory that is no size."""
        if self.memory is not None:
            bytes_of(self.memory)
        for option, value in (("--workers", self.workers), ("--address", self.address)):
            if value is not None and self.name != "ray":
                raise InputError(f"{option} is for --engine ray. Add it, or leave {option} out.")
        if self.storage is not None and not self.asked_for:
            raise InputError("--storage is for --memory and --engine ray. Add one of them, or leave it out.")

    @contextmanager
    def runner(self, work: Path, on_done: Callable[[Job], None]) -> Iterator[Runner]:
        """Open as long as the block runs; where that fails, a new folder of the storage goes again."""
        folder = work / "jobs"
        if self.storage is not None and "://" not in self.storage:
            folder = Path(self.storage)
        with ExitStack() as stack:
            if self.storage is None or "://" not in self.storage:
                stack.enter_context(new_folder(folder))
            store = Store(self.storage or folder)
            if self.name != "ray":
                yield stack.enter_context(Here(store, self.budget, on_done))
                return
            from altopt.scale.ray_runner import Ray

            yield stack.enter_context(Ray(store, self.workers or 1, self.address, self.budget, on_done))


@dataclass(frozen=True)
class Tables:
    """The datasets of a fit."""

    edges: dict[str, Path]
    features: Path | None
    labels: Path | None
    names: ColumnNames

    def the_edges(self) -> Path:
        if list(self.edges) != [""]:
            raise InputError(
                "a fit with --memory takes one kind of edges: --edges PATH. Join several kinds into one table, or fit "
                "without --memory."
            )
        return self.edges[""]


def refuse_options(given: dict[str, Any]) -> None:
    """Refuse options that a fit on files does not know."""
    for option, value in given.items():
        if value:
            raise InputError(f"{option} does not go with --memory or --engine ray. Leave one of them out.")


def run(
    parameters: Parameters,
    tables: Tables,
    engine: Engine,
    out: Path,
    *,
    class_prior: Callable[[Array], Any],
    resume: bool,
    dry: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """The command; `class_prior` reads the option once the classes are known."""
    engine.check()
    refuse_unsupported(parameters)
    required(tables.features)
    edges, work = tables.the_edges(), out / WORK
    sources = Sources.open(edges, tables.features, tables.labels, tables.names)
    if dry:
        show(*lines(*dry_run(sources, out, engine.budget)))
        return
    check_output(out, "--out", folder=True)
    refuse_foreign_report(out / "report.html")
    refuse_foreign_model(out / "model")
    refuse_foreign_predictions(out)
    with Bar(quiet or as_json) as bar, work_folder(work, resume):
        with engine.runner(work, teller(bar)) as runner:
            refuse_needs(parameters, sources, runner, out, work, class_prior)
            graph = ingest(
                edges,
                tables.labels,
                work / "graph",
                features=tables.features,
                names=tables.names,
                memory=engine.budget,
                on_stage=lambda stage: bar.say(f"reading the tables: {READING[stage]}"),
            )
            prior = class_prior(np.array(graph.classes))
            ready = prepare(replace(parameters, class_prior=prior), graph, runner)
            model = fit_files(
                ready,
                out / "model",
                lambda n, planned, record: bar.say(in_words(n, planned, record)),
                before_save=lambda: note_beside(out),
            )
        written = [replace_predictions(model, out), write_report(model, out)]
        (out / NOTE).unlink(missing_ok=True)
        ready.fitting.clear()
    tell(model, [*written, out / "model"], quiet, as_json)


def note_beside(out: Path) -> None:
    """Where an earlier fit left predictions or a report: that they may be older than the model, for after a kill."""
    if (out / PREDICTIONS).is_dir() or (out / "report.html").is_file():
        write_text(out / NOTE, NOTE_TEXT)


def teller(bar: Bar) -> Callable[[Job], None]:
    """Shows each job that is done."""
    done, ended = 0, time.monotonic()

    def on_done(job: Job) -> None:
        nonlocal done, ended
        seconds, ended, done = time.monotonic() - ended, time.monotonic(), done + 1
        if bar.on_terminal or seconds >= LONG_STEP:
            columns = job.settings.get("columns")
            which = "" if columns is None else f", columns {columns[0]} to {columns[1] - 1}"
            bar.show(job.kind, done, None, f"{job.kind}{which}: {seconds:.0f} s")

    return on_done


def in_words(n_done: int, planned: int, record: dict[str, Any]) -> str:
    return f"round {n_done} of {planned}: {record['changed']:.2%} of the labels changed, {record['seconds']:.1f} s"


def write_report(model: ModelOfFiles, out: Path) -> Path:
    """The page about the model."""
    page = out / "report.html"
    stored_report(StoredModel(model), page)
    return page


def tell(model: ModelOfFiles, written: list[Path], quiet: bool, as_json: bool) -> None:
    """What the fit came to."""
    held_out = model.leave_one_out
    known = None if isinstance(held_out, str) else held_out
    sure = known is not None and known.accuracy == known.accuracy  # not NaN, which JSON does not have
    if as_json:
        summary = {
            "nodes": model.n_nodes,
            "edges": model.graph.csr.n_entries // 2,
            "labels": model.graph.n_labelled,
            "classes": model.graph.classes,
            "plan": model.choice["plan"],
            "accuracy": known.accuracy if known is not None and sure else None,
            "interval": list(known.interval) if known is not None and sure else None,
            "expected": held_out if known is None else known.in_words(),
            "outcome": model.outcome,
            "seed": model.seed,
            "written": [str(path) for path in written],
        }
        show(json.dumps(summary, default=str))
    elif not quiet:
        show(model.outcome, *([] if known is None else [known.in_words()]))
        show(f"Wrote {', '.join(map(str, written))}.")
