"""The jobs that make Z: columns of X diffused, or their leading directions where X is wide."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from altopt.inputs.directions import few_columns
from altopt.scale import direction_jobs  # noqa: F401  (fills the table of jobs)
from altopt.scale.job import Job
from altopt.scale.plan import columns

if TYPE_CHECKING:
    from altopt.scale.fit import Fitting

MARGIN = 10  # columns that a sketch has more than directions are wanted


class MadeInputs(NamedTuple):
    """The names of the panels of Z, and of the directions that Z is projected on, if any."""

    Z: tuple[str, ...]
    directions: str | None = None


def make_inputs(fitting: "Fitting") -> MadeInputs:
    """Z, made as `ReducedInputs` makes it."""
    recipe, n_nodes, plan = fitting.recipe, fitting.graph.n_nodes, fitting.plan
    n_features, rank = width_of_features(fitting), min(recipe.inputs.n_components, n_nodes)
    diffusion = fitting.sizes | {"restart": recipe.restart, "n_steps": recipe.n_diffusion}
    if n_features <= rank:
        return MadeInputs(diffused(fitting, diffusion, plan.z_columns, plan.z_storage))
    if few_columns(n_nodes, n_features):
        return from_whole(fitting, diffusion, rank)
    directions = sketched(fitting, diffusion, rank)
    return MadeInputs(diffused(fitting, diffusion, plan.z_columns, plan.z_storage, directions), directions)


def diffused(
    fitting: "Fitting",
    diffusion: dict[str, Any],
    bounds: list[tuple[int, int]],
    storage: str,
    directions: str | None = None,
) -> tuple[str, ...]:
    """Panels of X', or of X' V."""
    known = (fitting.edges, fitting.features, fitting.columns.file("columns"))
    inputs = known if directions is None else (*known, directions)
    made = [
        Job("diffuse panel", diffusion | {"z_storage": storage, "columns": panel}, inputs, ("Z",))
        for panel in bounds
    ]
    return tuple(job.file("Z") for job in fitting.run(*made))


def from_whole(fitting: "Fitting", diffusion: dict[str, Any], rank: int) -> MadeInputs:
    """Panels of X' V by way of X', which is small enough."""
    bounds = columns(width_of_features(fitting), fitting.plan.x_width)
    whole = diffused(fitting, diffusion, bounds, "float32")
    settings = {"n_nodes": fitting.graph.n_nodes, "z_widths": widths_of(bounds), "z_storage": "float32"}
    [found] = fitting.run(Job("principal directions", settings | {"rank": rank}, whole, ("V",)))
    settings |= {"columns": fitting.plan.z_columns, "storage": fitting.plan.z_storage}
    outputs = tuple(f"Z{k}" for k in range(len(fitting.plan.z_columns)))
    [made] = fitting.run(Job("project rows", settings, (found.file("V"), *whole), outputs))
    return MadeInputs(made.files, found.file("V"))


def sketched(fitting: "Fitting", diffusion: dict[str, Any], rank: int) -> str:
    """V by randomised subspace iteration: see `leading_directions`."""
    n_nodes, n_features, store = fitting.graph.n_nodes, width_of_features(fitting), fitting.runner.store
    width = min(rank + MARGIN, n_nodes, n_features)
    start = np.random.default_rng(fitting.recipe.schedule.seed).standard_normal((n_features, width))
    directions = f"start-{fitting.recipe.schedule.seed}-{n_features}-{width}"
    fitting.put_arrays(directions, {"V": start.astype(np.float32)})
    bounds, known = columns(width, fitting.plan.x_width), (fitting.features, fitting.columns.file("columns"))
    of_sketch = fitting.sizes | {"z_widths": widths_of(bounds), "z_storage": "float32"}
    for k in range(fitting.recipe.inputs.n_power + 1):
        last = k == fitting.recipe.inputs.n_power
        Y = diffused(fitting, diffusion, bounds, "float32", directions)
        again = (fitting.edges, *Y)
        if last:
            [level] = fitting.run(Job("level sketch", of_sketch, Y, ("M",)))
            again = (*again, level.file("M"))
        made = [
            Job("diffuse sketch", diffusion | of_sketch | {"columns": panel}, again, ("Z",))
            for panel in bounds
        ]
        sketch = [job.file("Z") for job in fitting.run(*made)]
        settings = of_sketch | {"last": last, "rank": rank}
        [turned] = fitting.run(Job("turn directions", settings, (*known, *sketch), ("V",)))
        for name in (*Y, *sketch):
            store.free(name)
        directions = turned.file("V")
    return directions


def widths_of(bounds: list[tuple[int, int]]) -> list[int]:
    return [last - first for first, last in bounds]


def width_of_features(fitting: "Fitting") -> int:
    return sum(fitting.sizes["x_widths"])
