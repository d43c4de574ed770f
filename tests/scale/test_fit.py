"""The fit on files is the fit in memory with the same candidate, and the same bits within any budget."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from altopt.scale.fit import Fitting
from altopt.scale.plan import Plan
from altopt.scale.recipe import recipe_of
from altopt.scale.runner import Here
from altopt.scale.store import Store
from problems_on_disk import communities, on_disk, same_candidate


def fitted(folder, model, place, budget, storage=None):
    recipe = recipe_of(model.parameters(), folder)
    plan = Plan.of(folder.n_nodes, len(folder.classes), folder.features.n_columns, budget, "float32", storage)
    fitting = Fitting(folder, recipe, plan, Here(Store(place), budget))
    F = fitting.sheet(fitting.alternate().F)
    return fitting, F.rows(0, folder.n_nodes)


def test_rounds_on_files_are_the_rounds_in_memory(tmp_path):
    A, X, y = communities()
    model = same_candidate(cross_fit=False).fit(X, y, graph=A)
    fitting, F = fitted(on_disk(tmp_path / "problem", A, X, y), model, tmp_path / "store", 1 << 30)
    assert np.abs(F - model.scores_).max() < 1e-4
    assert np.mean(F.argmax(axis=1) == model.scores_.argmax(axis=1)) > 0.9995
    changed = [entry["changed"] for entry in model.trace_]
    assert [entry["changed"] for entry in fitting.trace] == pytest.approx(changed[: len(fitting.trace)])


@pytest.mark.parametrize(("storage", "budget"), [("float16", 80_000), ("float64", 160_000)])
def test_any_budget_gives_the_same_bits(tmp_path, storage, budget):
    A, X, y = communities(n_classes=20)
    folder, model = on_disk(tmp_path / "problem", A, X, y), same_candidate(n_rounds=2)
    _, whole = fitted(folder, model, tmp_path / "whole", 1 << 30, storage)
    fitting, parts = fitted(folder, model, tmp_path / "parts", budget, storage)
    assert len(fitting.plan.f_columns) > 1 < len(fitting.plan.z_columns)
    assert_array_equal(parts, whole)
