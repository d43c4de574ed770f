"""Models and half-done fits on disk: what was stored comes back, and what is not a model is refused in words."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import RandomForestClassifier

from altopt import AltOpt, Graph, InputError
from altopt.io.folder import checksum
from problems import two_communities

MODELS = {
    "default": lambda: AltOpt(random_state=0),
    "paper": lambda: AltOpt.paper(n_rounds=2, total_epochs=20, random_state=0),
    "paper, N": lambda: AltOpt.paper("N", n_rounds=2, total_epochs=20, random_state=0),
    "forest": lambda: AltOpt(encoder=RandomForestClassifier(10), n_rounds=1, random_state=0),
    "declared classes": lambda: AltOpt(classes=[0, 1], random_state=0),
}


@pytest.fixture(scope="module")
def data():
    return two_communities()


@pytest.fixture
def stored(data, tmp_path):
    X, y, _, A = data
    AltOpt(random_state=0).fit(X, y, graph=A).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("with_graph", [True, False])
def test_what_was_stored_comes_back(name, with_graph, data, tmp_path):
    X, y, _, A = data
    model = MODELS[name]().fit(X, y, graph=A if with_graph else None)
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    for attribute in (
        "scores_",
        "label_distributions_",
        "confidence_",
        "transduction_",
        "reached_",
        "classes_",
    ):
        assert_array_equal(getattr(again, attribute), getattr(model, attribute), err_msg=attribute)
    assert again.outcome_ == model.outcome_
    assert again.graph_.ids.tolist() == model.graph_.ids.tolist()
    assert_array_equal(again.graph_.adjacency.toarray(), model.graph_.adjacency.toarray())
    assert_array_equal(again.predict_proba(X[:7]), model.predict_proba(X[:7]))
    edges = [(0, 3), (1, 4), (1, 5)]
    assert_array_equal(again.predict_proba(X[:7], edges=edges), model.predict_proba(X[:7], edges=edges))
    assert repr(again.get_params()) == repr(model.get_params())


@pytest.mark.parametrize("words", ["str", "object", None])
def test_what_labels_held_back_said_comes_back(words, data, tmp_path):
    """Accuracy, margins, suspicious labels and what the graph is worth; ids and labels of any plain type."""
    X, y, _, A = data
    given = y if words is None else np.where(y < 0, None, np.array(["left", "right"], dtype=object)[y])
    names = None if words is None else np.array([f"n{k}" for k in range(len(y))], dtype=words)
    graph = A if names is None else Graph(A, nodes=names)
    model = AltOpt(random_state=0, n_rounds=1).fit(X, given, graph=graph)
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert again.suspicious_labels(all=True) == model.suspicious_labels(all=True)
    assert len(again.suspicious_labels(all=True)) == (y >= 0).sum()
    stored, found = again.leave_one_out_, model.leave_one_out_
    for name in ("nodes", "given", "predictions", "margin", "scores"):
        assert_array_equal(getattr(stored, name), getattr(found, name), err_msg=name)
        assert getattr(stored, name).dtype.kind == getattr(found, name).dtype.kind
    for name in ("accuracy", "interval", "calibration_error"):
        assert getattr(stored, name) == getattr(found, name)
    assert again.graph_help_ == model.graph_help_
    assert again.graph_help_.gain == model.graph_help_.gain


def test_a_fit_that_could_hold_nothing_back_comes_back(data, tmp_path):
    """One label of each class: nothing is known, and that is stored too."""
    X, y, _, A = data
    y = np.where(np.isin(np.arange(len(y)), [np.argmax(y == 0), np.argmax(y == 1)]), y, -1)
    model = AltOpt(random_state=0, n_rounds=1).fit(
        X, y, graph=Graph(A, nodes=[f"n{k}" for k in range(len(y))])
    )
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert np.isnan(again.leave_one_out_.accuracy)
    assert again.suspicious_labels() == model.suspicious_labels() == []
    assert again.graph_help_ == model.graph_help_


def test_a_fit_without_labels_held_back_says_so_from_disk_too(data, tmp_path):
    X, y, _, A = data
    AltOpt(random_state=0, n_rounds=1, cross_fit=False).fit(X, y, graph=A).save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert again.graph_help_ is None
    with pytest.raises(InputError, match="suspicious_labels needs held-out labels"):
        again.suspicious_labels()


@pytest.mark.parametrize(
    "ids",
    [
        [f"node {k}" for k in range(120)],
        [f"ö{k}" for k in range(120)],
        list(range(1000, 1120)),
        [k if k % 2 else str(k) for k in range(120)],
        [("pair", k) for k in range(120)],
    ],
    ids=["text", "umlauts", "numbers", "mixed", "tuples"],
)
def test_ids_and_text_labels_come_back_in_their_own_type(ids, data, tmp_path):
    X, y, _, A = data
    labels = np.array([None if code < 0 else "ab"[code] for code in y], dtype=object)
    model = AltOpt(random_state=0).fit(X, labels, graph=Graph(A, nodes=ids))
    model.save(tmp_path / "model")
    again = AltOpt.load(tmp_path / "model")
    assert again.graph_.ids.tolist() == ids
    assert again.classes_.tolist() == ["a", "b"]
    assert again.transduction_.tolist() == model.transduction_.tolist()
    assert again.transduction_.dtype == model.transduction_.dtype


def test_direction_is_kept(data, tmp_path):
    X, y, _, A = data
    one_way = np.stack(A.tocoo().coords)[:, ::2]
    AltOpt(random_state=0).fit(X, y, graph=Graph(one_way, directed=True, n_nodes=120)).save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert again.graph_.directed_adjacency.nnz == one_way.shape[1]


def test_saving_again_replaces_the_model_whole(stored, data):
    X, y, _, A = data
    other = AltOpt(random_state=1, feature_weight=0.9).fit(X, y, graph=A)
    other.save(stored)
    assert AltOpt.load(stored).feature_weight == 0.9
    assert [path.name for path in stored.parent.iterdir()] == ["model"]


def test_a_folder_that_is_not_a_model_is_never_overwritten(stored, data, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    with pytest.raises(InputError, match="is not a stored model.*nothing was overwritten"):
        AltOpt.load(stored).save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


def test_an_update_of_a_model_that_another_process_changed_is_not_stored(stored):
    mine, others = AltOpt.load(stored), AltOpt.load(stored)
    others.update(labels={17: 0})
    others.save(stored)
    mine.update(labels={18: 1})
    with pytest.raises(
        InputError, match=r"was changed by another process since it was loaded. Load it again"
    ):
        mine.save(stored)
    assert AltOpt.load(stored).labelled_[17]
    mine.save(stored.with_name("elsewhere"))
    others.update(labels={19: 0})
    others.save(stored)  # what it stored itself is no change by another
    assert AltOpt.load(stored).labelled_[[17, 19]].all()


def test_a_fresh_fit_may_replace_a_model_that_others_changed(stored, data):
    X, y, _, A = data
    mine, others = AltOpt.load(stored), AltOpt.load(stored)
    others.update(labels={17: 0})
    others.save(stored)
    mine.fit(X, y, graph=A).save(stored)
    assert not AltOpt.load(stored).labelled_[17]


def test_the_folder_is_known_by_any_of_its_names(stored, monkeypatch):
    link = stored.with_name("link")
    link.symlink_to(stored)
    mine, others = AltOpt.load(link), AltOpt.load(stored)
    others.update(labels={17: 0})
    others.save(stored)
    monkeypatch.chdir(stored.parent)
    with pytest.raises(InputError, match="was changed by another process"):
        mine.save("model")
    AltOpt.load(link).save(link)
    assert link.is_symlink()


def test_there_is_no_pickle_in_a_stored_model(stored):
    lock, arrays, head = sorted(stored.iterdir())
    assert (lock.name, arrays.suffix, head.name) == (".lock", ".safetensors", "model.json")
    assert lock.read_bytes() == b""


def tensors(path):
    return next(path.glob("model-*.safetensors"))


def damage_tensors(path):
    data = bytearray(tensors(path).read_bytes())
    data[-5] ^= 0xFF
    tensors(path).write_bytes(data)


def cut_tensors(path):
    tensors(path).write_bytes(tensors(path).read_bytes()[:100])


def break_json(path):
    (path / "model.json").write_text("{")


def edit_head(**changes):
    """A valid edit: the checksum fits."""

    def edit(path):
        head = json.loads((path / "model.json").read_text()) | changes
        (path / "model.json").write_text(json.dumps(head | {"checksum": checksum(head)}))

    return edit


def damage_head(path):
    text = (path / "model.json").read_text()
    (path / "model.json").write_text(text.replace('"seed": 0', '"seed": 1'))


def foreign_class(path):
    parameters = json.loads((path / "model.json").read_text())["parameters"]
    edit_head(parameters=parameters | {"graph_view": {"class": "os:system"}})(path)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damage_tensors, r"model-\w+.safetensors is damaged: its checksum is wrong"),
        (cut_tensors, r"model-\w+.safetensors is damaged: its checksum is wrong"),
        (damage_head, "model.json is damaged: its checksum is wrong"),
        (break_json, "model.json is damaged: it is not JSON"),
        (edit_head(version=99), "format version 99, but this altopt reads version 2. Upgrade"),
        (edit_head(format="other"), "was not written by altopt as a model"),
        (edit_head(kind="checkpoint"), "was not written by altopt as a model"),
        (edit_head(fitted={}), "model.json is damaged"),
        (foreign_class, "graph_view is os:system, which is not a part of altopt"),
        (lambda path: tensors(path).unlink(), r"is not a whole model: it has no model-\w+.safetensors"),
    ],
)
def test_what_is_not_a_good_model_is_refused_with_a_sentence(stored, harm, message):
    harm(stored)
    with pytest.raises(InputError, match=message) as refusal:
        AltOpt.load(stored)
    assert "\n" not in str(refusal.value)


def test_a_path_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InputError, match="is not a stored model: it has no model.json"):
        AltOpt.load(tmp_path / "nothing")
