"""What a fit of some datasets needs, checked by their metadata before any of them is read."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.graph.validation import read_y
from altopt.scale.cost import Size, fit_bytes
from altopt.scale.dry_run import count_labels, size_of
from altopt.scale.ingest import refuse_full_disk
from altopt.scale.plan import Plan
from altopt.scale.recipe import Recipe, recipe_for
from altopt.scale.runner import Runner
from altopt.scale.sources import Sources
from altopt.scale.store import Store
from altopt.scale.work_folder import bytes_in
from altopt.selection.draw import ClassPrior, read_class_prior
from altopt.selection.parameters import Parameters

LEAST_OF_TEXT = 0.5  # of the rows that a text table is estimated to have: so many it has at least


def refuse_needs(
    parameters: Parameters,
    sources: Sources,
    runner: Runner,
    out: Path,
    work: Path,
    class_prior: Callable[[Array], Any],
) -> None:
    """Refuse labels of one class, a class prior of others, and too little memory or disk for the fit.

    `class_prior` gives that of some classes.
    """
    if sources.labels is sources.features and sources.labels.kind == "text":
        return  # its labels cannot be counted without all of it being read
    counted = count_labels(sources)
    if not counted[0]:
        return  # reading the labels says more
    classes, _ = read_y(list(counted[1]), len(counted[1]))
    with warnings.catch_warnings(action="ignore"):  # the fit warns
        prior_of(replace(parameters, class_prior=class_prior(np.array(classes.tolist()))), classes)
    size = size_of(sources, out, runner.budget, counted)
    if sources.features is not None and sources.features.kind == "text":
        plan_of_size(parameters, replace(size, n_nodes=int(LEAST_OF_TEXT * size.n_nodes)), runner.budget)
        return  # as much disk as the ingestion asks for is all that can be said
    plan, inputs = plan_of_size(parameters, size, runner.budget)
    for place, n_bytes in disks(size, inputs, plan, runner.store, out).items():
        there = bytes_in(work) if place == out else 0
        refuse_full_disk(place, n_bytes - there, "for the fit")


def prior_of(parameters: Parameters, classes: Array) -> ClassPrior:
    """The class prior, checked."""
    prior = read_class_prior(parameters.class_prior, classes)
    if isinstance(prior, np.ndarray) and not parameters.cross_fit:
        raise InputError("class_prior with memory= needs held-out labels: leave cross_fit=False out.")
    return prior


def plan_of_size(parameters: Parameters, size: Size, budget: int) -> tuple[Plan, int]:
    """The plan of a fit, and how many columns Z has."""
    recipe = recipe_for(parameters, size.n_nodes, size.n_features, size.n_labels)
    n_inputs = min(size.n_features, recipe.inputs.n_components)
    return plan_of(recipe, size.n_nodes, size.n_classes, size.n_features, budget), n_inputs


def plan_of(recipe: Recipe, n_nodes: int, n_classes: int, n_features: int, budget: int) -> Plan:
    """Panels for so many nodes; Z has no more columns than the recipe lets it have."""
    n_inputs = min(n_features, recipe.inputs.n_components)
    return Plan.of(n_nodes, n_classes, n_inputs, budget, recipe.inputs.storage)


def disks(size: Size, n_inputs: int, plan: Plan, store: Store, out: Path) -> dict[Path, int]:
    """Bytes that a fit needs after the tables are read, by the folders on different disks that they go to.

    On one disk the files of the storage, the graph and the model are the same files; on another they are copies.
    """
    n, c = size.n_nodes, size.n_classes
    graph = size.edge_bytes + 4 * n * size.n_features
    whole = fit_bytes(replace(size, n_features=n_inputs), plan)
    if store.local is not None and same_disk(store.local, out):
        return {out: graph + whole}
    item = np.dtype(plan.storage).itemsize
    rounds, predictions = 2 * item * n * c, 8 * n * c
    here = graph + whole - rounds
    if store.local is not None:
        return {out: here, store.local: graph + whole - predictions}
    copies = size.edge_bytes + whole - rounds - predictions  # beside the temporary files
    return {out: here + copies} if same_disk(store.cache, out) else {out: here, store.cache: copies}


def same_disk(a: Path, b: Path) -> bool:
    """Whether two folders, there or not yet, are on one disk."""
    first, second = (next(p for p in (path, *path.absolute().parents) if p.exists()) for path in (a, b))
    return first.stat().st_dev == second.stat().st_dev
