"""Stored scikit-learn classifiers: the same answers again, and no code from a file that somebody changed."""

import json
import random

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from altopt import InputError
from altopt.encoders.scikit.decode import from_state
from altopt.encoders.scikit.encode import to_state

BOOSTED = HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5, categorical_features=[3])
CLASSIFIERS = {
    "tree": DecisionTreeClassifier(),
    "forest": RandomForestClassifier(3),
    "extra trees": ExtraTreesClassifier(3),
    "boosted": BOOSTED,
    "stopped early": HistGradientBoostingClassifier(max_iter=3, early_stopping=True, scoring="accuracy"),
    "gradient": GradientBoostingClassifier(n_estimators=3),
    "adaboost": AdaBoostClassifier(n_estimators=3),
    "bagging": BaggingClassifier(DecisionTreeClassifier(), n_estimators=3, max_features=2),
    "logistic": make_pipeline(StandardScaler(), SimpleImputer(add_indicator=True), LogisticRegression()),
    "columns": make_pipeline(
        ColumnTransformer([("a", StandardScaler(), [0, 1]), ("b", OneHotEncoder(), slice(3, 4))]),
        RandomForestClassifier(3),
    ),
    "quantiles": make_pipeline(KNNImputer(), QuantileTransformer(n_quantiles=9), GaussianNB()),
    "svc": CalibratedClassifierCV(SVC(), cv=2),
    "isotonic": CalibratedClassifierCV(LinearSVC(), method="isotonic", cv=2),
    "mlp": MLPClassifier((4,), max_iter=3),
    "voting": VotingClassifier([("a", LogisticRegression()), ("b", BOOSTED)], voting="soft"),
    "stacking": StackingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier())], cv=2),
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + y[:, None]
    X[:, 3] = np.tile(np.arange(6), 10)
    return X, y


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_stored_classifier_gives_the_same_answers(name, n_classes, rows):
    X, y = rows
    model = CLASSIFIERS[name].fit(X, np.minimum(y, n_classes - 1))
    assert_array_equal(from_state(to_state(model)).predict_proba(X), model.predict_proba(X))


def test_lightgbm_is_stored_as_text_that_is_understood(rows):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows
    model = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=5, n_jobs=1, verbose=-1)
    state = to_state(model.fit(X, y, categorical_feature=[3]))
    assert_array_equal(from_state(state).predict_proba(X), model.predict_proba(X))
    ((name, text),) = [(name, a.tobytes()) for name, a in state.items() if a.tobytes().startswith(b"tree\n")]
    damage = [
        (b"left_child=", b"left_child=99"),
        (b"left_child=", b"left_child=0 "),
        (b"split_feature=", b"split_feature=7"),
        (b"num_leaves=", b"num_leaves=9"),
        (b"tree_sizes=", b"tree_sizes=1"),
        (b"max_feature_idx=3", b"max_feature_idx=9"),
        (b"\nTree=1", b"\nforce=1\nTree=1"),
        (b"multiclass num_class:3", b"multiclass num_class:9"),
        (b"num_class=3", b"num_class=300"),
    ]
    for old, new in damage:
        assert old in text
        with pytest.raises(InputError, match="stored encoder"):
            from_state(state | {name: np.frombuffer(text.replace(old, new, 1), np.uint8)})


def test_functions_are_not_stored():
    for held in (
        FunctionTransformer(np.log1p),
        make_pipeline(FunctionTransformer(print), LogisticRegression()),
    ):
        with pytest.raises(InputError, match="not loaded again for safety, so it is not stored"):
            to_state(held)


def test_a_cache_on_disk_is_not_stored(tmp_path):
    stored = from_state(to_state(make_pipeline(LogisticRegression(), memory=str(tmp_path))))
    assert stored.memory is None


def changed(state, change):
    """The state with its JSON changed."""
    head = json.loads(state["json"].tobytes())
    head["estimator"] = change(head["estimator"]) or head["estimator"]
    return state | {"json": np.frombuffer(json.dumps(head).encode(), np.uint8)}


def attribute(name, value):
    return lambda node: node["state"].update({name: value})


CODE = {"class": "FunctionTransformer", "state": {"func": {"function": "numpy.testing:runstring"}}}
ATTACKS = {
    "clone hook": attribute("__sklearn_clone__", 1),
    "method hidden": attribute("get_params", {"class": "StandardScaler", "state": {}}),
    "class changed": attribute("__class__", "os:system"),
    "state hook": attribute("__reduce__", 1),
    "function": attribute("hook", {"function": "os:system"}),
    "partial": attribute("hook", {"partial": {"func": "os:system", "args": ["true"]}}),
    "function in a known class": attribute("hook", CODE),
    "foreign class": lambda node: {"class": "os:system", "state": {}},
    "class by module": lambda node: {"class": "sklearn.tree:DecisionTreeClassifier", "state": {}},
    "dunder class": lambda node: {"class": "__class__", "state": {}},
    "type": attribute("dtype", {"type": "object"}),
    "type by path": attribute("dtype", {"type": "os.system"}),
    "scalar": attribute("seed", {"scalar": "load", "value": "evil.npy"}),
    "loss": attribute("loss", {"loss": "system", "n_classes": 3}),
    "cache": attribute("memory", "/tmp"),
    "another class": lambda node: {"class": "Tree", "state": {}},
    "not there yet": lambda node: {"again": 10**6},
    "list": lambda node: [node],
    "huge": attribute("shape", {"objects": [], "shape": [2**30, 2**30], "text": False}),
    "missing": lambda node: {"array": "nope"},
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_crafted_file_runs_nothing(attack, rows):
    state = to_state(DecisionTreeClassifier().fit(*rows))
    with pytest.raises(InputError, match="stored encoder"):
        from_state(changed(state, ATTACKS[attack]))


def test_deep_nesting_is_refused():
    bomb = ('{"estimator": ' + '{"list": [' * 50_000 + "]}" * 50_000 + "}").encode()
    with pytest.raises(InputError, match="stored encoder"):
        from_state({"json": np.frombuffer(bomb, np.uint8)})


def tree_array(state):
    return max(
        (name for name in state if name != "json" and state[name].dtype == np.uint8),
        key=lambda n: state[n].size,
    )


def with_nodes(state, dtype, change):
    name = tree_array(state)
    nodes = np.frombuffer(state[name].tobytes(), dtype).copy()
    change(nodes)
    return state | {name: nodes.view(np.uint8)}


def put(field, value):
    def change(nodes):
        nodes[field][0] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("left_child", 10**6),
        put("right_child", -7),
        put("left_child", 0),
        put("feature", 4),
        put("feature", -3),
        put("threshold", np.nan),
    ],
)
@pytest.mark.parametrize("name", ["tree", "forest", "gradient"])
def test_a_tree_cannot_lead_outside(name, change, rows):
    from sklearn.tree._tree import NODE_DTYPE

    state = to_state(CLASSIFIERS[name].fit(*rows))
    with pytest.raises(InputError, match="a tree|threshold"):
        from_state(with_nodes(state, NODE_DTYPE, change))


@pytest.mark.parametrize(
    "change", [put("left", 10**6), put("right", 0), put("feature_idx", 4), put("feature_idx", -1)]
)
def test_a_boosted_tree_cannot_lead_outside(change, rows):
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    state = to_state(BOOSTED.fit(*rows))
    with pytest.raises(InputError, match="a tree"):
        from_state(with_nodes(state, np.dtype(PREDICTOR_RECORD_DTYPE), change))


def test_trees_read_as_many_columns_as_they_are_given(rows):
    for name in ("tree", "forest", "gradient"):
        state = to_state(CLASSIFIERS[name].fit(*rows))
        with pytest.raises(InputError, match="other features"):
            from_state(changed(state, attribute("n_features_in_", 2)))


def test_support_vectors_are_counted(rows):
    state = to_state(SVC().fit(*rows))
    name = json.loads(state["json"].tobytes())["estimator"]["state"]["_n_support"]["array"]
    counts = state | {name: state[name] * 1000}
    with pytest.raises(InputError, match="miscounted"):
        from_state(counts)
    with pytest.raises(InputError, match="kernel of its own"):
        from_state(changed(state, attribute("kernel", "precomputed")))


ODD = [
    None,
    -1,
    0,
    2**40,
    1e308,
    float("nan"),
    "x",
    [],
    {},
    {"array": "0"},
    {"again": 0},
    {"list": [1]},
    True,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["forest", "boosted", "gradient", "columns", "svc", "voting"])
def test_random_damage_is_an_input_error_or_loads(name, rows):
    """What loads may answer otherwise or raise in Python; nothing reads outside of its arrays."""
    rng, (X, y) = random.Random(0), rows
    state = to_state(CLASSIFIERS[name].fit(X, y))
    for _ in range(40):
        damaged = dict(state)
        key = rng.choice(sorted(state))
        if rng.random() < 0.5:
            damaged = changed(state, lambda node: replace_leaf(node, rng))
        elif key != "json" and state[key].size:
            flat = bytearray(state[key].tobytes())
            for _ in range(3):
                flat[rng.randrange(len(flat))] = rng.randrange(256)
            damaged[key] = np.frombuffer(bytes(flat), state[key].dtype).reshape(state[key].shape)
        try:
            model = from_state(damaged)
        except InputError:
            continue
        try:
            model.predict_proba(X)
        except Exception:
            continue


def replace_leaf(node, rng):
    while True:
        keys = list(node) if isinstance(node, dict) else range(len(node))
        key = rng.choice(list(keys))
        if not isinstance(node[key], (dict, list)) or not node[key] or rng.random() < 0.1:
            node[key] = rng.choice(ODD)
            return
        node = node[key]
