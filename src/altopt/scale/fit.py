"""The fit on files: warm-up, rounds, folds and the last solve as lists of jobs; the driver keeps what labels need."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from altopt.arrays import Array, working_dtype
from altopt.scale import jobs  # noqa: F401  (fills the table of jobs)
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.job import Job
from altopt.scale.jobs import norms_at, write_arrays
from altopt.scale.make_inputs import MadeInputs, make_inputs
from altopt.scale.plan import Plan
from altopt.scale.recipe import Recipe
from altopt.scale.runner import Runner
from altopt.scale.sheet import Sheet, SheetOfFiles
from altopt.scale.solve import steps_needed
from altopt.scale.store import Store
from altopt.selection.evaluation import FEWEST_FOLDS
from altopt.solvers import ChebyshevSteps
from altopt.training.class_priors import prior_trust
from altopt.training.journal import LOG

FIRST_STEPS, NEXT_STEPS = 3, 2  # tried first in the first round and in later ones, which start near their end


@dataclass
class Fitting:
    """A fit under way.

    Parameters
    ----------
    graph : GraphFolder
    recipe : Recipe
    plan : Plan
        Widths of panels, and precisions.
    runner : Runner
    """

    graph: GraphFolder
    recipe: Recipe
    plan: Plan
    runner: Runner
    trace: list[dict[str, Any]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # of all that the fit has in the store

    def run(self, *made: Job) -> tuple[Job, ...]:
        self.names.update(name for job in made for name in job.files)
        self.runner.run(made)
        return made

    def put(self, name: str, put: Callable[[Store], None]) -> str:
        """The name of something in the store, where it is put unless it is there."""
        self.names.add(name)
        if not self.runner.store.has(name):
            put(self.runner.store)
        return name

    def put_arrays(self, name: str, arrays: dict[str, Array]) -> str:
        def put(store: Store) -> None:
            draft = store.draft(name)
            write_arrays(draft, arrays)
            store.put(name, draft)

        return self.put(name, put)

    def clear(self) -> None:
        """Remove from the store all that the fit has there."""
        for name in sorted(self.names):
            self.runner.store.discard(name)

    def arrays(self, job: Job, output: str) -> dict[str, Array]:
        return load_file(self.runner.store.path(job.file(output)))

    # inputs of the fit in the store

    @cached_property
    def edges(self) -> str:
        return self._folder(f"edges-{self.graph.csr.key}", "edges")

    @cached_property
    def features(self) -> str:
        sums = [value for name, value in self.graph.checksums.items() if name.startswith("features/")]
        return self._folder(f"features-{digest(sums)}", "features")

    def _folder(self, name: str, source: str) -> str:
        return self.put(name, lambda store: store.put_folder(name, self.graph.folder / source))

    @cached_property
    def labels(self) -> str:
        nodes, codes = self.graph.labelled, self.graph.labels
        name = f"labels-{digest([nodes.tobytes(), codes.tobytes()])}"
        return self.put_arrays(name, {"nodes": nodes, "codes": codes})

    # encoder inputs

    @cached_property
    def sizes(self) -> dict[str, Any]:
        sheet = self.graph.features
        assert sheet is not None
        return {"n_nodes": self.graph.n_nodes, "x_widths": list(sheet.widths)}

    @cached_property
    def columns(self) -> Job:
        return self.run(Job("read columns", self.sizes, (self.features,), ("columns", "featureless")))[0]

    @cached_property
    def inputs(self) -> MadeInputs:
        return make_inputs(self)

    @property
    def Z(self) -> tuple[str, ...]:
        """The names of the panels of Z."""
        return self.inputs.Z

    def inputs_sheet(self) -> Sheet:
        """Z."""
        files = tuple(self.runner.store.path(name) for name in self.Z)
        widths = tuple(last - first for first, last in self.plan.z_columns)
        return SheetOfFiles(files[0].parent, self.graph.n_nodes, widths, np.dtype(self.plan.z_storage), files)

    @cached_property
    def of_inputs(self) -> dict[str, Any]:
        """What jobs that read Z must know."""
        return {
            "n_nodes": self.graph.n_nodes,
            "n_classes": len(self.graph.classes),
            "z_widths": [last - first for first, last in self.plan.z_columns],
            "z_storage": self.plan.z_storage,
            "row_exponent": self.recipe.inputs.row_exponent,
            "dtype": self.dtype,
        }

    @property
    def dtype(self) -> str:
        """Of P, as in a fit in memory."""
        return working_dtype(self.graph.n_nodes, len(self.graph.classes)).name

    @cached_property
    def scaling(self) -> Job:
        return self.run(Job("scale rows", self.of_inputs, self.Z, ("scaling",)))[0]

    @cached_property
    def of_encoder(self) -> dict[str, Any]:
        """What jobs that read the encoder must know."""
        encoder = asdict(self.recipe.encoder)
        if encoder["C"] is None:
            encoder["C"] = float(self.arrays(self.scaling, "scaling")["C"][0])
        return self.of_inputs | {"encoder": encoder}

    @cached_property
    def label_rows(self) -> str:
        inputs = (self.labels, self.scaling.file("scaling"), *self.Z)
        return self.run(Job("gather rows", self.of_inputs, inputs, ("rows",)))[0].file("rows")

    @cached_property
    def folds(self) -> str:
        """The fold of each label."""
        settings = self.sizes | {"seed": self.recipe.schedule.seed, "n_folds": FEWEST_FOLDS}
        inputs = (self.edges, self.features, self.columns.file("columns"), self.labels)
        return self.run(Job("deal folds", settings, inputs, ("folds",)))[0].file("folds")

    @cached_property
    def order(self) -> str:
        """All nodes in the order from which samples are drawn."""
        inputs = (self.edges, self.features, self.columns.file("columns"))
        return self.run(Job("order nodes", self.sizes, inputs, ("order",)))[0].file("order")

    def warm_up(self, fold: int | None = None) -> str:
        """The encoder trained on given labels, all or those outside a fold."""
        settings = self.of_encoder | {"n_epochs": self.recipe.schedule.n_warmup, "fold": fold}
        inputs = (self.labels, self.label_rows, *(() if fold is None else (self.folds,)))
        return self.run(Job("train encoder", settings, inputs, ("encoder",)))[0].file("encoder")

    # solving

    def panel_jobs(
        self,
        kind: str,
        encoder: str,
        outputs: tuple[str, ...],
        nodes: str | None = None,
        start: str | Sequence[str] = "labels",
        fold: int | None = None,
        **more: Any,
    ) -> list[Job]:
        """A job for each panel of F; `start`: labels, encoder, or panels of an earlier solve."""
        weights, named = self.recipe.weights, isinstance(start, str)
        settings = self.of_encoder | {
            "feature_weight": weights.feature,
            "label_weight": weights.label,
            "storage": self.plan.storage,
            "fold": fold,
            "start": start if named else "panel",
            **more,
        }
        known = (self.edges, self.labels, self.scaling.file("scaling"), encoder, *self.Z)
        known += () if fold is None else (self.folds,)
        made = []
        for k, columns in enumerate(self.plan.f_columns):
            inputs = (*known, *(() if named else (start[k],)), *(() if nodes is None else (nodes,)))
            made.append(Job(kind, settings | {"columns": columns}, inputs, outputs))
        return made

    def solve(self, rtol: float, n_steps: int, *arguments: Any, **more: Any) -> tuple[list[Job], int]:
        """The panels after as few steps as make all together certain to be within rtol, and how many these are.

        One panel finds that out by itself. Several must have made the same number: it is tried first with n_steps.
        """
        most = ChebyshevSteps(rtol=rtol).max_steps(self.recipe.weights.bounds)
        alone = len(self.plan.f_columns) == 1
        more |= {"rtol": rtol if alone else None}
        n_steps = most if alone else n_steps
        while True:
            made = self.panel_jobs("solve panel", *arguments, n_steps=n_steps, **more)
            self.run(*made)
            norms = [norms_at(self.runner.store.path(job.file("norms"))) for job in made]
            needed = steps_needed(norms, self.recipe.weights, rtol)
            if alone or needed == n_steps or (needed is None and n_steps >= most):
                return made, n_steps if needed is None else needed
            n_steps = n_steps + 1 if needed is None else needed
            for job in made:  # of no use any more; its norms stay, by which a resumed fit finds its way
                if "G" in job.outputs:
                    self.runner.store.free(job.file("G"))

    def chosen_nodes(self, n_done: int) -> Job:
        """The nodes that a round looks at."""
        settings = (
            self.of_inputs | self.of_round(n_done) | {"prior_sample": self.recipe.defaults.prior_sample}
        )
        return self.run(Job("choose nodes", settings, (self.labels, self.order), ("nodes",)))[0]

    def of_round(self, n_done: int) -> dict[str, Any]:
        return {"limit": self.recipe.defaults.pseudo_limit, "seed": self.recipe.schedule.seed + n_done}

    # the rounds

    def alternate(self, on_round: Callable[[int, int, dict[str, Any]], None] | None = None) -> "Rounds":
        """Update F, train the encoder, again; and the last update of F."""
        schedule, store = self.recipe.schedule, self.runner.store
        encoder = self.warm_up()
        start: str | list[str] = "labels"
        reading: Job | None = None
        n_steps, rtol = FIRST_STEPS, self.recipe.defaults.rtol_rounds
        for n_done in range(schedule.n_rounds + 1):
            began = time.perf_counter()
            nodes = self.chosen_nodes(n_done).file("nodes")
            final = n_done == schedule.n_rounds
            if final:
                F = self.finish(encoder, start)
                reading = self.read(n_done, nodes, self.picked(F, nodes), reading)
                break
            panels, n_steps = self.solve(rtol, n_steps, encoder, ("G", "rows", "norms"), nodes, start=start)
            before, start = start, [job.file("G") for job in panels]
            reading = self.read(n_done, nodes, [job.file("rows") for job in panels], reading)
            if schedule.converged(n_done, self.changed(reading)):
                F = self.finish(encoder, start)
                self.record(n_done, reading, None, n_steps, began)
                break
            if not isinstance(before, str):
                for name in before:
                    store.free(name)
            taught = self.teach(encoder, reading)
            encoder = taught.file("encoder")
            self.record(n_done, reading, taught, n_steps, began)
            n_steps = min(n_steps, NEXT_STEPS)
            LOG.info("round %d of %d", n_done + 1, schedule.n_rounds)
            if on_round is not None:
                on_round(n_done + 1, schedule.n_rounds, self.trace[-1])
        else:
            raise AssertionError
        return Rounds(F, encoder, n_done, self.changed(reading))

    def finish(self, encoder: str, start: str | Sequence[str]) -> list[Job]:
        """The last update of F, to float32."""
        made = self.panel_jobs("finish panel", encoder, ("F",), start=start)
        self.run(*made)
        return made

    def sheet(self, F: list[Job]) -> Sheet:
        """The finished F."""
        files = tuple(self.runner.store.path(job.file("F")) for job in F)
        widths = tuple(last - first for first, last in self.plan.f_columns)
        return SheetOfFiles(files[0].parent, self.graph.n_nodes, widths, np.dtype(np.float32), files)

    def picked(self, F: list[Job], nodes: str) -> list[str]:
        """Rows of the finished F."""
        made = [
            Job("pick rows", self.of_inputs | {"columns": columns}, (job.file("F"), nodes), ("rows",))
            for job, columns in zip(F, self.plan.f_columns)
        ]
        return [job.file("rows") for job in self.run(*made)]

    def read(self, n_done: int, nodes: str, rows: list[str], before: Job | None) -> Job:
        """What a round reads from F."""
        recipe, n_labels = self.recipe, self.graph.n_labelled
        settings = self.of_inputs | self.of_round(n_done)
        settings |= {
            "n_panels": len(rows),
            "temperature": recipe.temperature,
            "min_confidence": recipe.min_confidence,
            "trust": prior_trust(n_labels, len(self.graph.classes), recipe.defaults),
        }
        inputs = (self.labels, nodes, *rows, *(() if before is None else (before.file("reading"),)))
        return self.run(Job("read round", settings, inputs, ("reading",)))[0]

    def changed(self, reading: Job) -> float:
        return float(self.arrays(reading, "reading")["changed"][0])

    def teach(self, encoder: str, reading: Job) -> Job:
        settings = self.of_encoder | {"n_epochs": self.recipe.schedule.n_epochs}
        inputs = (
            self.labels,
            self.label_rows,
            encoder,
            reading.file("reading"),
            self.scaling.file("scaling"),
        )
        return self.run(Job("teach encoder", settings, (*inputs, *self.Z), ("encoder", "record")))[0]

    def record(self, n_done: int, reading: Job, taught: Job | None, n_steps: int, began: float) -> None:
        said = {} if taught is None else json.loads(self.runner.store.path(taught.file("record")).read_text())
        entry = {"round": n_done, "n_products": n_steps + 1, "changed": self.changed(reading), **said}
        self.trace.append(entry | {"seconds": time.perf_counter() - began})


@dataclass(frozen=True)
class Rounds:
    """What the rounds leave: the panels of F, the encoder, how many were made, and what the last one changed."""

    F: list[Job]
    encoder: str
    n_done: int
    changed: float


def digest(parts: Sequence[Any]) -> str:
    """A name for contents."""
    return blake2b(repr(list(parts)).encode(), digest_size=8).hexdigest()
