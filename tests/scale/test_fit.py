"""The fit on files is the fit in memory with the same candidate, and the same bits within any budget."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from altopt import AltOpt
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.inputs import ReducedInputs
from altopt.scale import fit as module
from altopt.scale import wanted
from altopt.scale.fit import Fitting
from altopt.scale.plan import Plan
from altopt.scale.recipe import recipe_of
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here
from altopt.scale.store import Store
from problems_on_disk import communities, on_disk, same_candidate


def fitted(folder, model, place, budget, storage=None):
    recipe = recipe_of(model.parameters(), folder)
    n_inputs = min(folder.features.n_columns, recipe.inputs.n_components)
    plan = Plan.of(folder.n_nodes, len(folder.classes), n_inputs, budget, "float32", storage)
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


def test_the_estimate_is_that_of_a_large_graph_in_memory(tmp_path):
    A, X, y = communities(n=600)
    model = same_candidate(defaults=replace(DEFAULTS, large=1)).fit(X, y, graph=A)
    folder = on_disk(tmp_path / "problem", A, X, y)
    ready = prepare(model.parameters(), folder, Here(Store(tmp_path / "store"), 1 << 30))
    stored = fit_files(ready, tmp_path / "model")
    expected, found = model.leave_one_out_, stored.leave_one_out
    assert_array_equal(found.nodes, expected.nodes)
    assert_array_equal(found.predictions, expected.predictions)
    assert found.scores == pytest.approx(expected.scores, abs=2e-3)
    assert found.accuracy == pytest.approx(expected.accuracy, abs=2e-3)
    assert found.interval == pytest.approx(expected.interval, abs=2e-3)
    assert stored.readout.temperature == pytest.approx(model.temperature_, rel=0.02)
    codes, confidence, P = stored.predictions(0, stored.n_nodes)
    assert_array_equal(stored.classes[codes], model.transduction_)
    assert pytest.approx(model.label_distributions_, abs=0.01) == P
    assert confidence == pytest.approx(model.confidence_, abs=0.02)
    assert stored.outcome == model.outcome_


@pytest.mark.parametrize("n_features", [60, 1001])  # diffused whole, and sketched
def test_wide_features_are_reduced_as_in_memory(tmp_path, n_features):
    A, X, y = communities(n=300, n_classes=4, n_features=n_features)
    model = AltOpt(inputs=ReducedInputs(n_components=12), random_state=0, cross_fit=False, n_rounds=1)
    model.fit(X, y, graph=A)
    _, F = fitted(on_disk(tmp_path / "problem", A, X, y), model, tmp_path / "store", 400_000)
    assert np.abs(F - model.scores_).max() < 1e-4


def test_a_model_of_wide_features_reads_those_of_new_nodes(tmp_path):
    A, X, y = communities(n=300, n_classes=4, n_features=60)
    model = AltOpt(inputs=ReducedInputs(n_components=12), random_state=0, cross_fit=False, n_rounds=1)
    folder, runner = on_disk(tmp_path / "problem", A, X, y), Here(Store(tmp_path / "store"), 1 << 30)
    stored = fit_files(prepare(model.parameters(), folder, runner), tmp_path / "model")
    expected = model.fit(X, y, graph=A).fitted_.inputs.coordinates(X[:5])
    np.testing.assert_allclose(stored.projection(X[:5]), expected, atol=1e-4)


def test_a_fit_of_paths_within_memory(tmp_path):
    A, X, y = communities(n=300, n_classes=4, n_features=6)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    np.save(tmp_path / "edges.npy", np.stack(sp.triu(A).tocoo().coords).astype(np.int64).T)
    paths = (tmp_path / "X.npy", tmp_path / "y.npy", tmp_path / "edges.npy")
    model = AltOpt(random_state=0).fit(*paths, memory="400MB", checkpoint=tmp_path / "out")
    codes, _, _ = model.model_of_files_.predictions(0, 300)
    assert_array_equal(codes[y >= 0], y[y >= 0])
    with pytest.raises(InputError, match="needs checkpoint="):
        AltOpt().fit(*paths, memory="400MB")
    with pytest.raises(InputError, match="X must be a path, but is ndarray"):
        AltOpt().fit(X, y, graph=A, memory="400MB", checkpoint=tmp_path / "out")


def test_a_round_moves_at_most_six_bytes_for_each_node_and_class_through_the_storage(tmp_path, monkeypatch):
    """Samples and labels apart, which do not grow with the graph: here they are small beside it."""
    monkeypatch.setattr(wanted, "WATCHED", 1 << 10)
    few = replace(DEFAULTS, pseudo_limit=50, prior_sample=50, confidence_sample=50)
    monkeypatch.setattr(wanted, "DEFAULTS", few)
    n, n_classes = 8_000, 24
    A, X, y = communities(n, n_classes, 8)
    y[1000:] = -1
    folder = on_disk(tmp_path / "problem", A, X, y)
    recipe = recipe_of(same_candidate().parameters(), folder)
    schedule = replace(recipe.schedule, n_rounds=4, stop_when_changed_below=None)
    recipe = replace(recipe, defaults=few, schedule=schedule)
    store, moved = Store(f"file://{tmp_path}/store", tmp_path / "cache"), []

    def count(job):
        if job.kind == "choose nodes":  # the first of a round
            moved.append(store.bytes_read + store.bytes_written)

    plan = Plan.of(n, n_classes, 8, 1_600_000, "float16", "float16")
    Fitting(folder, recipe, plan, Here(store, 1_600_000, count)).alternate()
    assert len(plan.f_columns) > 1
    assert len(moved) == 5
    assert (moved[-1] - moved[0]) / (len(moved) - 1) <= 6 * n * n_classes
    assert np.diff(moved).max() <= 9 * n * n_classes  # where the first number of steps was not the right one


def test_panels_of_another_number_of_steps_are_freed_and_leave_no_trace_in_the_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "FIRST_STEPS", 1)
    A, X, y = communities(n_classes=20)
    folder, model = on_disk(tmp_path / "problem", A, X, y), same_candidate(n_rounds=2)
    one, whole = fitted(folder, model, tmp_path / "whole", 1 << 30, "float16")
    several, parts = fitted(folder, model, tmp_path / "parts", 80_000, "float16")
    assert_array_equal(parts, whole)
    n_panels = len(several.plan.f_columns)
    assert len(one.plan.f_columns) == 1 < n_panels
    assert [entry["n_products"] for entry in several.trace] == [entry["n_products"] for entry in one.trace]
    made, left = (len(list((tmp_path / "parts").glob(f"solve-panel-*.{end}"))) for end in ("G.sum", "G"))
    assert made > n_panels * len(several.trace)  # some were of another number of steps
    assert left == n_panels
