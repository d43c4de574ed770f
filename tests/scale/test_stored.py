"""A model of files answers as the model in memory does, from the rows it needs."""

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from altopt import Graph
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.scale import data_folder
from altopt.scale import model as model_module
from altopt.scale import stored as stored_module
from altopt.scale.changes import FILE
from altopt.scale.run import fit_files, prepare
from altopt.scale.runner import Here
from altopt.scale.sheet import Sheet
from altopt.scale.store import Store
from altopt.scale.stored import StoredModel
from problems_on_disk import communities, on_disk, same_candidate

N = 300


@pytest.fixture(scope="module", params=[False, True], ids=["unweighted", "weighted"])
def fitted(request, tmp_path_factory):
    """The same problem fitted in memory and on files, its nodes called by names."""
    A, X, y = communities(n=N, n_classes=4, weighted=request.param)
    ids = [f"n{k:04d}" for k in np.random.default_rng(1).permutation(N)]
    graph = Graph(Graph(A), nodes=ids)
    place = tmp_path_factory.mktemp("stored")
    model = same_candidate(defaults=replace(DEFAULTS, large=1)).fit(X, y, graph=graph)
    ready = prepare(
        model.parameters(), on_disk(place / "problem", graph, X, y), Here(Store(place / "store"), 1 << 30)
    )
    fit_files(ready, place / "model")
    return model, StoredModel.load(place / "model"), X, y


@pytest.fixture
def fresh(fitted, tmp_path):
    """The same model of files in a folder of its own."""
    import shutil

    shutil.copytree(fitted[1].files.folder, tmp_path / "model")
    return StoredModel.load(tmp_path / "model")


def test_rows_are_those_of_the_model_in_memory(fitted):
    model, stored, _, _ = fitted
    ids = model.graph_.ids[[5, 200, 17, 3]].tolist()
    places = model.graph_.positions(ids)
    found = stored.rows(ids)
    assert stored.classes[found.codes].tolist() == model.transduction_[places].tolist()
    assert found.probabilities == pytest.approx(model.label_distributions_[places], abs=0.01)
    assert found.given.tolist() == model.labelled_[places].tolist()
    assert stored.predict(ids=ids).tolist() == model.transduction_[places].tolist()
    with pytest.raises(InputError, match="node 'x' is not in the graph"):
        stored.rows(["x"])


@pytest.mark.parametrize("place", [0, 9, 44])
def test_an_explanation_is_that_of_the_model_in_memory(fitted, place):
    model, stored, X, _ = fitted
    node = model.graph_.ids[place]
    expected, found = model.explain(node), stored.explain(node)
    assert found.node == node
    assert found.prediction == expected.prediction
    assert found.evidence == pytest.approx(expected.evidence, abs=1e-3)
    amounts = [a for _, _, a in found.from_labels] + [a for _, a in found.from_features]
    assert sum(amounts) == pytest.approx(found.total, abs=1e-6)
    by_node = {name: amount for name, _, amount in expected.from_labels if name is not None}
    listed = [(name, amount) for name, _, amount in found.from_labels if name is not None]
    assert len(listed) == len(by_node)
    assert all(amount == pytest.approx(by_node[name], abs=1e-4) for name, amount in listed)
    assert len(dict(found.columns)) == X.shape[1] + 1
    assert found.error_bound < 1e-6
    assert found.path[0] == expected.path[0]


def test_columns_explain_as_in_memory(fitted):
    model, stored, _, _ = fitted
    node = model.graph_.ids[9]
    mine, other = dict(stored.explain(node).columns), dict(model.explain(node).columns)
    assert [mine[f"x{j}"] for j in range(5)] == pytest.approx([other[j] for j in range(5)], abs=2e-3)


def test_new_labels_move_f_as_in_memory(fitted, fresh):
    model, _, _, y = fitted
    unlabelled, labelled = np.flatnonzero(y < 0)[[2, 30]], np.flatnonzero(y >= 0)[3]
    ids = model.graph_.ids
    labels = {ids[unlabelled[0]]: 1, ids[unlabelled[1]]: 0, ids[labelled]: None}
    expected, tried = model.what_if(labels=labels), fresh.what_if(labels=labels)
    assert not tried.stored
    assert not (fresh.files.place / FILE).exists()
    before = fresh.scores_.rows(0, N)
    change = fresh.update(labels=labels)
    assert change.stored
    rows = dict(zip(expected.nodes, expected.scores))
    moved = {name: row - model.scores_[model.graph_.position(name)] for name, row in rows.items()}
    again = StoredModel.load(fresh.files.folder)
    after = again.scores_.rows(0, N)
    for name, row in moved.items():
        k = model.graph_.position(name)
        assert after[k] - before[k] == pytest.approx(row, abs=1e-4)
    assert np.array_equal(after, again.scores_.gather(np.arange(N)))
    assert change.error_bound < 1e-6
    assert {(a, c) for a, _, c in change.moved} == {(a, c) for a, _, c in expected.moved}
    codes, _, _ = again.files.predictions(0, N)
    assert codes[unlabelled].tolist() == [1, 0]
    assert labelled not in again.files.labels.nodes
    with pytest.raises(AttributeError, match="update"):
        _ = again.leave_one_out_


def test_an_update_taken_back_leaves_f_as_it_was(fresh):
    before = fresh.scores_.rows(0, N)
    node = fresh.graph.ids_at(fresh._sample(1, 0)).tolist()[0]
    fresh.update(labels={node: 2})
    assert np.abs(fresh.scores_.rows(0, N) - before).max() > 1e-3
    fresh.update(labels={node: None})
    assert np.abs(fresh.scores_.rows(0, N) - before).max() < 1e-5
    assert fresh.update(labels={node: None}).n_changed == 0


def test_what_cannot_be_updated_is_said(fresh):
    with pytest.raises(InputError, match="takes new labels alone"):
        fresh.update(edges=[("a", "b")])
    with pytest.raises(InputError, match="A new class needs a new fit"):
        fresh.update(labels={fresh.graph.ids(0, 1)[0]: 77})
    with pytest.raises(AttributeError, match="not held in memory"):
        _ = fresh.label_distributions_


def test_damaged_changes_are_refused(fresh):
    fresh.update(labels={fresh.graph.ids_at(fresh._sample(1, 0)).tolist()[0]: 2})
    path = fresh.files.place / FILE
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="is damaged"):
        _ = StoredModel.load(fresh.files.folder).files.F


def test_suggestions_are_unlabelled_and_apart(fitted):
    _, stored, _, y = fitted
    found = stored.suggest(5)
    places = stored.graph.positions([node for node, _ in found])
    assert len(found) == 5
    assert (y[places] < 0).all()
    gains = [gain for _, gain in found]
    assert gains == sorted(gains, reverse=True)
    assert gains[-1] > 0
    among = stored.graph.ids_at(np.flatnonzero(y < 0)[:3]).tolist()
    assert {node for node, _ in stored.suggest(3, among=among)} == set(among)
    with pytest.raises(InputError, match="no unlabelled node"):
        stored.suggest(1, among=stored.graph.ids_at(np.flatnonzero(y >= 0)[:3]).tolist())


def test_new_nodes_get_about_the_labels_of_the_model_in_memory(fitted):
    model, stored, X, _ = fitted
    rng, n = np.random.default_rng(3), 40
    like = rng.choice(np.arange(6, N), n, replace=False)
    edges = [
        (k, model.graph_.ids[j]) for k in range(n) for j in model.graph_.adjacency[[like[k]]].indices[:4]
    ]
    new = X[like] + 0.1 * rng.standard_normal((n, X.shape[1])).astype(np.float32)
    expected, found = model.predict_proba(new, edges=edges), stored.predict_proba(new, edges=edges)
    assert np.abs(found - expected).mean() < 0.02
    assert np.mean(found.argmax(axis=1) == expected.argmax(axis=1)) > 0.9
    assert stored.predict(new).shape == (n,)
    with pytest.raises(InputError, match="columns of the fit"):
        stored.predict(new[:, :3])


def test_an_answer_reads_few_rows(fitted, monkeypatch):
    """Whole panels are never read for one node of a sparse neighbourhood."""
    _, stored, _, _ = fitted
    counted = []
    gather = Sheet.gather
    monkeypatch.setattr(
        Sheet, "gather", lambda self, nodes: (counted.append(len(nodes)), gather(self, nodes))[1]
    )
    monkeypatch.setattr(Sheet, "rows", lambda *_: pytest.fail("all rows were read"))
    stored.explain(stored.graph.ids(9, 10)[0], tolerance=1e-2)
    assert max(counted) < N / 2


@pytest.mark.parametrize(("name", "dtype"), [("indices.i32", np.int32), ("indptr.i64", np.int64)])
def test_a_damaged_graph_is_refused(fresh, name, dtype):
    path = fresh.files.place / "graph" / "edges" / name
    values = np.fromfile(path, dtype)
    values[1:] = 10**6
    path.unlink()  # it may be another name of the same file
    values.tofile(path)
    node = StoredModel.load(fresh.files.folder).graph.ids(9, 10)[0]
    with pytest.raises(InputError, match="Copy it again"):
        StoredModel.load(fresh.files.folder).explain(node)


def test_processes_take_in_their_labels_one_after_another(fresh):
    """Whoever loaded the model before another's update does not undo that update."""
    other = StoredModel.load(fresh.files.folder)
    first, second = fresh.graph.ids_at(fresh._sample(2, 0)).tolist()
    fresh.update(labels={first: 1})
    other.update(labels={second: 2})
    known = StoredModel.load(fresh.files.folder).files.labels.nodes
    assert set(fresh.graph.positions([first, second]).tolist()) <= set(known.tolist())


def test_an_update_holds_the_folder_and_a_question_does_not(fresh, monkeypatch):
    held = []
    monkeypatch.setattr(stored_module, "folder_lock", lambda folder: held.append(folder) or nullcontext())
    fresh.update(labels={fresh.graph.ids_at(fresh._sample(1, 0)).tolist()[0]: 1})
    fresh.what_if(labels={fresh.graph.ids_at(fresh._sample(1, 1)).tolist()[0]: 1})
    assert held == [fresh.files.folder]


@pytest.mark.parametrize("name", ["F", "Z"])
def test_panels_of_the_same_size_with_other_contents_are_refused(fresh, name):
    [path] = (fresh.files.place / name).iterdir()
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(InputError, match="its checksum differs. Copy it again"):
        StoredModel.load(fresh.files.folder)


def test_other_labels_of_the_same_size_are_refused(fresh):
    path = fresh.files.place / "graph" / "labels.i32"
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(InputError, match="its checksum differs. Copy it again"):
        _ = StoredModel.load(fresh.files.folder).files.labels


def test_a_changed_byte_between_samples_is_found_by_verify(fresh, monkeypatch):
    monkeypatch.setattr(data_folder, "SAMPLES", 2)
    monkeypatch.setattr(data_folder, "SAMPLE_BYTES", 64)
    files = fresh.files
    [path] = (files.place / "F").iterdir()
    before = data_folder.sample_of(path)
    files.verify()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()
    path.write_bytes(content)
    assert data_folder.sample_of(path) == before
    with pytest.raises(InputError, match="its checksum differs. Copy it again"):
        files.verify()


class Killed(BaseException):
    """A save was killed."""


@pytest.mark.parametrize("step", range(3))
def test_a_save_that_is_killed_leaves_the_old_model_whole(fresh, step, monkeypatch):
    files, calls, replace_file = fresh.files, [], os.replace
    before = files.F.rows(0, N)
    (files.folder / "mine.txt").write_text("precious")
    F = Sheet(files.folder.parent / "F", N, files.f_widths, np.dtype(np.float32)).create()

    def killed(source, target):
        if Path(target).parent == files.folder:
            calls.append(target)
            if len(calls) == step + 1:
                raise Killed
        replace_file(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(model_module.os, "replace", killed)
        with pytest.raises(Killed):
            files.save(F, files.Z, files.graph)
    assert np.array_equal(StoredModel.load(files.folder).files.F.rows(0, N), before)
    files.save(F, files.Z, files.graph)
    assert not StoredModel.load(files.folder).files.F.rows(0, N).any()
    assert (files.folder / "mine.txt").read_text() == "precious"
    assert len(list(files.folder.glob("data-*"))) == 1
    assert not (files.folder / ".altopt-draft").exists()
