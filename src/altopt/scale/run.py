"""A whole fit on files: held-out labels, rounds, the estimate, and the model that they leave."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors.numpy import load_file

from altopt.errors import InputError
from altopt.fitted.fit import told
from altopt.operator.columns import Columns
from altopt.scale.evaluate import Evaluation
from altopt.scale.fit import Fitting
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.ingest import ingest
from altopt.scale.model import ModelOfFiles, refuse_foreign_model
from altopt.scale.needs import plan_of, prior_of, refuse_needs
from altopt.scale.plan import bytes_of
from altopt.scale.recipe import recipe_of, refuse_unsupported
from altopt.scale.runner import Here, Runner
from altopt.scale.sources import Sources
from altopt.scale.store import Store
from altopt.scale.work_folder import WORK, work_folder
from altopt.selection.calibration import TemperedShares
from altopt.selection.evaluation import NOT_COMPARED
from altopt.selection.leave_one_out import NOT_HELD_BACK, LeaveOneOut
from altopt.selection.parameters import Parameters
from altopt.training.alternate import why_it_ended

Features = TypeVar("Features")
OnRound = Callable[[int, int, dict[str, Any]], None]


@dataclass(frozen=True)
class Ready:
    """A fit that was checked and planned, and has not begun."""

    fitting: Fitting
    evaluation: Evaluation | None


def prepare(parameters: Parameters, graph: GraphFolder, runner: Runner) -> Ready:
    """Refuse what cannot be fitted on files, and plan the rest."""
    features = required(graph.features)
    recipe = recipe_of(parameters, graph)
    plan = plan_of(recipe, graph.n_nodes, len(graph.classes), features.n_columns, runner.budget)
    fitting = Fitting(graph, recipe, plan, runner)
    prior = prior_of(parameters, np.array(graph.classes))
    return Ready(fitting, Evaluation(fitting, prior) if parameters.cross_fit else None)


def required(features: Features | None) -> Features:
    """Refuse a fit without features: on files the encoder is what reads them."""
    if features is None:
        raise InputError(
            "a fit with memory= needs features: name a table of them, or fit without memory= to go by the graph alone."
        )
    return features


def fit_files(
    ready: Ready,
    folder: Path,
    on_round: OnRound | None = None,
    before_save: Callable[[], None] = lambda: None,
) -> ModelOfFiles:
    """The fit, and its model stored in `folder`; what was done before is not done again."""
    fitting, evaluation = ready.fitting, ready.evaluation
    if evaluation is not None:
        evaluation.prepare()
    rounds = fitting.alternate(on_round)
    unreached = np.empty(0, np.int64)
    held_out: LeaveOneOut | str = NOT_HELD_BACK
    verdict = None
    if evaluation is not None:
        unreached = evaluation.unreached()
        held_out, verdict = evaluation.conclude(rounds, unreached)
    readout = TemperedShares(1.0) if verdict is None else verdict.readout
    recipe, n_labels = fitting.recipe, fitting.graph.n_labelled
    said = [why_it_ended(rounds.n_done, rounds.changed, recipe.schedule) + ".", *told(verdict, n_labels)]
    store, sheet = fitting.runner.store, fitting.inputs_sheet()
    scaling, directions = fitting.arrays(fitting.scaling, "scaling"), fitting.inputs.directions
    learned = load_file(store.path(rounds.encoder))
    model = ModelOfFiles(
        folder=folder,
        feature_weight=recipe.weights.feature,
        label_weight=recipe.weights.label,
        restart=recipe.restart,
        n_diffusion=recipe.n_diffusion,
        seed=recipe.schedule.seed,
        encoder=replace(recipe.encoder, C=fitting.of_encoder["encoder"]["C"]),
        W=learned["W"],
        b=learned["b"],
        centre=scaling["centre"],
        scalars=scaling["scalars"],
        row_exponent=recipe.inputs.row_exponent,
        columns=Columns.restore(fitting.arrays(fitting.columns, "columns")),
        directions=None if directions is None else load_file(store.path(directions))["V"],
        f_widths=tuple(last - first for first, last in fitting.plan.f_columns),
        z_widths=sheet.widths,
        z_storage=fitting.plan.z_storage,
        readout=readout,
        unreached=unreached,
        leave_one_out=held_out,
        choice={"plan": "usual", "considered": [], "reason": NOT_COMPARED},
        trace=fitting.trace,
        outcome=" ".join(said),
    )
    before_save()
    model.save(fitting.sheet(rounds.F), sheet, fitting.graph)
    return ModelOfFiles.open(folder)


def fit_paths(
    parameters: Parameters,
    features: Any,
    labels: Any,
    edges: Any,
    folder: Path | None,
    memory: str | float,
    unknown: dict[str, Any],
    resume: bool,
) -> ModelOfFiles:
    """A fit of datasets by their paths, here; the model comes to lie in `folder`. `unknown` must not be given."""
    for name, value in unknown.items():
        if value is not None:
            raise InputError(f"fit with memory= does not take {name}. Leave one of them out.")
    for name, value in (("X", features), ("y", labels), ("graph", edges)):
        if not isinstance(value, str | os.PathLike) and (value is not None or name == "graph"):
            raise InputError(
                f"fit with memory= reads files: {name} must be a path, but is {type(value).__name__}."
            )
    if folder is None:
        raise InputError("fit with memory= needs checkpoint=, the folder that the model is to lie in.")
    refuse_unsupported(parameters)
    required(features)
    budget, work = bytes_of(memory), folder / WORK
    sources = Sources.open(edges, features, labels)
    refuse_foreign_model(folder / "model")
    with work_folder(work, resume), Here(Store(work / "jobs"), budget) as runner:
        refuse_needs(parameters, sources, runner, folder, work, lambda classes: parameters.class_prior)
        graph = ingest(edges, labels, work / "graph", features=features, memory=budget)
        return fit_files(prepare(parameters, graph, runner), folder / "model")
