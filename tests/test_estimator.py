"""AltOpt's face: what goes in, what comes out, and what is refused in words."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.estimator_checks import estimator_checks_generator

from altopt import AltOpt, Graph, InputError
from altopt.datasets.splits import hide, per_class
from altopt.inputs import HopInputs, ReducedInputs
from altopt.training.class_priors import validation_weights
from problems import block_graph, two_communities

REPEATED = "a repeated row is another node of the graph, and a node without a label stays one"
EXPECTED_TO_FAIL = {
    "check_classifiers_classes": "it uses -1 as a class; here -1 marks an unknown label",
    "check_sample_weight_equivalence_on_dense_data": REPEATED,
    "check_sample_weight_equivalence_on_sparse_data": REPEATED,
}
CHECKS = list(estimator_checks_generator(AltOpt(), expected_failed_checks=EXPECTED_TO_FAIL, mark="xfail"))


def name_of(value):
    return getattr(getattr(value, "func", value), "__name__", type(value).__name__)


@pytest.mark.parametrize(("estimator", "check"), CHECKS, ids=name_of)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_scikit_learns_checks_are_all_there():
    """A change in how checks are collected must not let them vanish unseen."""
    names = [name_of(check.values[1] if hasattr(check, "values") else check[1]) for check in CHECKS]
    assert len(names) >= 55
    assert "check_classifiers_train" in names
    assert len(EXPECTED_TO_FAIL) == 3


# sample weights


def test_a_label_of_weight_zero_is_ignored(data):
    X, y, _, A = data
    weights, fewer = np.ones(len(y)), y.copy()
    weights[np.flatnonzero(y >= 0)[::4]] = 0.0
    fewer[np.flatnonzero(y >= 0)[::4]] = -1
    one = AltOpt(random_state=0, n_rounds=1).fit(X, y, graph=A, sample_weight=weights)
    other = AltOpt(random_state=0, n_rounds=1).fit(X, fewer, graph=A)
    assert_array_equal(one.scores_, other.scores_)
    assert_array_equal(one.labelled_, other.labelled_)
    assert one.leave_one_out_.interval == other.leave_one_out_.interval


def test_weights_count_in_the_training_and_in_the_estimate(data):
    X, y, truth, A = data
    y = y.copy()
    wrong = np.flatnonzero(y >= 0)[::3]
    y[wrong] = 1 - truth[wrong]
    weights = np.where(np.isin(np.arange(len(y)), wrong), 0.01, 1.0)
    plain = AltOpt(random_state=0, cross_fit=True).fit(X, y, graph=A)
    weighted = AltOpt(random_state=0, cross_fit=True).fit(X, y, graph=A, sample_weight=100 * weights)
    assert weighted.leave_one_out_.accuracy > plain.leave_one_out_.accuracy
    right = [np.mean(m.encoder_output_.argmax(axis=1) == truth) for m in (plain, weighted)]
    assert right[1] >= right[0]


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (lambda n: np.ones(n - 1), "Give one number a node"),
        (lambda n: np.full(n, -1.0), "is -1.0 at node"),
        (lambda n: np.full(n, np.nan), "is nan at node"),
        (lambda n: np.zeros(n), "fewer than two classes"),
        (lambda n: ["much"] * n, "must hold numbers"),
    ],
)
def test_weights_that_are_none_are_refused(data, weights, told):
    X, y, _, A = data
    with pytest.raises(InputError, match=told):
        AltOpt().fit(X, y, graph=A, sample_weight=weights(len(y)))


@pytest.fixture(scope="module")
def data():
    return two_communities()


@pytest.fixture(scope="module")
def words():
    """Sparse counts, labels and edges."""
    problem = block_graph(0, n=200, words=True, n_features=100, signal=0.4)
    return problem.X, problem.given(5, 0), problem.A


@pytest.fixture(scope="module")
def model(data):
    X, y, _, A = data
    return AltOpt(random_state=0).fit(X, y, graph=A)


# what comes out


def test_every_node_gets_a_label_and_labelled_nodes_keep_theirs(model, data):
    _, y, truth, _ = data
    assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    assert np.mean(model.transduction_ == truth) > 0.9
    assert model.transduction_.dtype == y.dtype


def test_distributions_confidence_and_scores_belong_together(model):
    S = model.label_distributions_
    assert np.isfinite(S).all()
    assert_allclose(S.sum(axis=1), 1.0)
    entropy = -(S * np.log(S)).sum(axis=1)
    assert_allclose(model.confidence_, 1 - entropy / np.log(2), atol=1e-12)
    assert_array_equal(S.argmax(axis=1), model.scores_.argmax(axis=1))


def test_scores_solve_the_system_to_a_millionth(model):
    """H F = lambda1 P + lambda2 M Y for the encoder output that was used."""
    A = model.graph_.adjacency.toarray()
    d = A.sum(axis=1)
    A_tilde = A / np.sqrt(np.outer(np.where(d > 0, d, 1), np.where(d > 0, d, 1)))
    lambda1, lambda2 = model.plan_.feature_weight, model.plan_.label_weight
    H = (1 + lambda1) * np.eye(len(A)) + lambda2 * np.diag(model.labelled_) - A_tilde
    MY = np.zeros_like(model.scores_)
    MY[model.labelled_] = model.Y_
    truth = np.linalg.solve(H, lambda1 * model.encoder_output_ + lambda2 * MY)
    assert np.linalg.norm(model.scores_ - truth) <= 1e-6 * np.linalg.norm(truth)


def test_trace_says_what_each_round_did(model):
    entry = model.trace_[-1]
    assert entry["objective"] == pytest.approx(entry["features"] + entry["graph"] + entry["labels"])
    assert entry["error_bound"] == pytest.approx(entry["residual"] / model.plan_.feature_weight)
    assert all(entry["seconds"] > 0 for entry in model.trace_)
    assert model.outcome_.endswith(".")


def test_same_seed_same_bits_and_a_drawn_seed_is_recorded(data):
    X, y, _, A = data
    first, second = (AltOpt(random_state=3).fit(X, y, graph=A) for _ in range(2))
    assert_array_equal(first.scores_, second.scores_)
    drawn = AltOpt().fit(X, y, graph=A)
    assert_array_equal(drawn.scores_, AltOpt(random_state=drawn.seed_).fit(X, y, graph=A).scores_)


def test_unreached_nodes_are_flagged(data):
    X, y, _, A = data
    X, A = X.copy(), A.tolil()
    A[-1], A[:, -1] = 0, 0
    A[-2], A[:, -2] = 0, 0
    X[-1] = 0.0
    model = AltOpt(random_state=0).fit(X, y, graph=sp.csr_array(A.tocsr()))
    assert not model.reached_[-1]
    assert model.reached_[:-1].all()
    assert np.isfinite(model.label_distributions_).all()


# a graph in any of its forms


def test_the_same_graph_in_every_form_gives_the_same_bits(data):
    X, y, _, A = data
    nx = pytest.importorskip("networkx")
    pd = pytest.importorskip("pandas")
    geometric = pytest.importorskip("torch_geometric.data")
    coo = A.tocoo()
    both = np.stack(coo.coords)
    once = both[:, both[0] < both[1]]
    shuffled = once[:, np.random.default_rng(0).permutation(once.shape[1])]
    forms = {
        "scipy": A,
        "edge index": both,
        "tensor": torch.from_numpy(both.astype(np.int64)),
        "each edge named once": once,
        "pairs": [tuple(pair) for pair in shuffled.T.tolist()],
        "networkx": nx.from_scipy_sparse_array(A),
        "PyTorch Geometric": geometric.Data(
            edge_index=torch.from_numpy(both.astype(np.int64)), num_nodes=len(y)
        ),
        "table": pd.DataFrame(shuffled.T, columns=["source", "target"]),
        "Graph": Graph(A),
    }
    expected = AltOpt(random_state=0).fit(X, y, graph=A).label_distributions_
    for name, graph in forms.items():
        found = AltOpt(random_state=0).fit(X, y, graph=graph).label_distributions_
        assert_array_equal(found, expected, err_msg=name)


def test_weights_are_normalised(data):
    X, y, _, A = data
    first = AltOpt(random_state=0).fit(X, y, graph=A)
    scaled = AltOpt(random_state=0).fit(X, y, graph=10.0 * A)
    assert_allclose(first.scores_, scaled.scores_, atol=1e-5)  # the encoder reads single precision


def test_self_loops_on_request_do_not_depend_on_the_scale_of_weights(data):
    X, y, _, A = data
    first = AltOpt(self_loops=True, random_state=0).fit(X, y, graph=A)
    scaled = AltOpt(self_loops=True, random_state=0).fit(X, y, graph=7.0 * A)
    assert_allclose(first.scores_, scaled.scores_, atol=1e-5)  # the encoder reads single precision
    assert not np.allclose(first.scores_, AltOpt(random_state=0).fit(X, y, graph=A).scores_, atol=1e-3)


def test_own_ids_from_a_table_and_an_indexed_frame(data):
    pd = pytest.importorskip("pandas")
    X, y, _, A = data
    ids = [f"n{k:03d}" for k in range(len(y))]
    coo = sp.triu(A).tocoo()
    table = pd.DataFrame(
        {"source": [ids[i] for i in coo.coords[0]], "target": [ids[j] for j in coo.coords[1]]}
    )
    frame = pd.DataFrame(X, index=ids, columns=[f"x{k}" for k in range(X.shape[1])])
    model = AltOpt(random_state=0).fit(frame, y, graph=table)
    assert model.graph_.ids.tolist() == ids
    assert_array_equal(model.scores_, AltOpt(random_state=0).fit(X, y, graph=A).scores_)


@pytest.mark.parametrize("form", ["torch", "frame", "polars", "list", "float32", "memory map"])
def test_features_in_any_form(data, model, form, tmp_path):
    X, y, _, A = data
    np.save(tmp_path / "X.npy", X)
    given = {
        "torch": lambda: torch.from_numpy(X),
        "frame": lambda: pytest.importorskip("pandas").DataFrame(X),
        "polars": lambda: pytest.importorskip("polars").DataFrame(X),
        "list": lambda: X.tolist(),
        "float32": lambda: X.astype(np.float32),
        "memory map": lambda: np.load(tmp_path / "X.npy", mmap_mode="r"),
    }[form]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = AltOpt(random_state=0).fit(given, y, graph=A)
    assert np.mean(found.transduction_ == model.transduction_) > 0.99


def test_sparse_counts_are_read_as_dense_ones(words):
    X, y, A = words
    model = AltOpt(random_state=0).fit(X, y, graph=A)
    assert_allclose(model.scores_, AltOpt(random_state=0).fit(X.toarray(), y, graph=A).scores_, atol=1e-6)
    assert_array_equal(model.scores_, AltOpt(random_state=0).fit(sp.csc_matrix(X), y, graph=A).scores_)


@pytest.mark.parametrize("inputs", [ReducedInputs, HopInputs])
def test_sparse_measurements_are_read_as_dense_ones(data, inputs):
    X, y, _, A = data
    stretched = 100.0 + X * np.linspace(1.0, 5.0, X.shape[1])
    sparse = AltOpt(inputs=inputs(), random_state=0).fit(sp.csr_array(stretched), y, graph=A)
    dense = AltOpt(inputs=inputs(), random_state=0).fit(stretched, y, graph=A)
    assert_allclose(sparse.scores_, dense.scores_, atol=1e-5)


def test_without_a_graph_it_replaces_label_spreading():
    X, truth = make_blobs(400, n_features=10, centers=4, cluster_std=5.0, random_state=0)
    ours, theirs = [], []
    for seed in range(5):
        y = hide(truth, per_class(truth, 5, 0, 1, seed=seed).train)
        model = AltOpt(random_state=seed).fit(X, y)
        peer = LabelSpreading(kernel="knn", n_neighbors=10).fit(X, y)
        ours.append(np.mean(model.transduction_ == truth))
        theirs.append(np.mean(peer.transduction_ == truth))
    assert np.mean(ours) >= np.mean(theirs)
    assert model.graph_.n_nodes == 400
    assert np.mean(model.predict(X) == truth) >= ours[-1] - 0.05


def test_isolated_nodes_alone_are_classified_by_their_features(data):
    X, y, truth, _ = data
    model = AltOpt(random_state=0).fit(X, y, graph=sp.csr_array((120, 120)))
    assert model.graph_.n_edges == 0
    assert np.mean(model.transduction_ == truth) > 0.75
    assert_array_equal(
        model.scores_.argmax(axis=1)[~model.labelled_], model.encoder_output_.argmax(axis=1)[~model.labelled_]
    )


# labels in any of their forms


@pytest.mark.parametrize(
    ("given", "unknown"),
    [
        (np.array([0, 1]), -1),
        (np.array([0.0, 1.0]), np.nan),
        (np.array([0.0, 1.0]), -1.0),
        (["no", "yes"], None),
        (["no", "yes"], -1),
        (["no", "yes"], float("nan")),
        (np.array(["no", "yes"], dtype=object), None),
        (np.array(["no", "yes"], dtype=object), -1),
    ],
)
def test_labels_of_any_type_and_any_mark_for_unknown(data, model, given, unknown):
    X, y, _, A = data
    labels = [given[code] if code >= 0 else unknown for code in y]
    found = AltOpt(random_state=0).fit(X, labels, graph=A)
    assert_array_equal(found.scores_, model.scores_)
    assert found.classes_.tolist() == list(given)
    assert_array_equal(found.transduction_, np.asarray(given)[model.transduction_])


def test_text_array_made_by_numpy_out_of_text_and_minus_one(data, model):
    X, y, _, A = data
    labels = np.array(["a" if code == 0 else "b" if code == 1 else -1 for code in y])
    assert labels.dtype.kind == "U"
    found = AltOpt(random_state=0).fit(X, labels, graph=A)
    assert found.classes_.tolist() == ["a", "b"]
    assert_array_equal(found.scores_, model.scores_)


@pytest.mark.parametrize("package", ["pandas", "polars", "torch"])
def test_labels_from_other_libraries(data, model, package):
    X, y, _, A = data
    library = pytest.importorskip(package)
    given = library.from_numpy(y) if package == "torch" else library.Series(y)
    assert_array_equal(AltOpt(random_state=0).fit(X, given, graph=A).scores_, model.scores_)


def test_two_thousand_classes():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(2000), 2)
    X = rng.normal(size=(2000, 12))[truth] + 0.05 * rng.normal(size=(4000, 12))
    y = np.where(np.arange(4000) % 2 == 0, truth, -1)
    model = AltOpt(n_rounds=1, n_warmup=10, n_epochs=5, random_state=0)
    model.fit(X, y, graph=np.stack([np.arange(0, 4000, 2), np.arange(1, 4000, 2)]))
    assert model.label_distributions_.shape == (4000, 2000)
    assert np.mean(model.transduction_ == truth) > 0.9
    assert_allclose(model.label_distributions_.sum(axis=1), 1.0, rtol=4e-6)  # two thousand float32 a row


def test_a_declared_class_without_a_label_is_warned_about_and_kept(data):
    X, y, _, A = data
    with pytest.warns(UserWarning, match=re.escape("1 of the declared classes have no labelled node (7)")):
        model = AltOpt(classes=[0, 1, 7], random_state=0).fit(X, y, graph=A)
    assert model.classes_.tolist() == [0, 1, 7]
    assert model.label_distributions_.shape[1] == 3
    assert set(model.transduction_) <= {0, 1}


# nodes that come later


def test_a_new_node_follows_its_neighbours(data, model):
    X, _, truth, _ = data
    features = np.zeros((2, X.shape[1]))  # half way between the classes
    edges = [(0, node) for node in np.flatnonzero(truth == 0)[:6]] + [
        (1, node) for node in np.flatnonzero(truth == 1)[:6]
    ]
    assert model.predict(features, edges=edges).tolist() == [0, 1]
    P = model.predict_proba(features, edges=np.array(edges))
    assert_allclose(P.sum(axis=1), 1.0)
    assert P[0, 0] > 0.6
    assert P[1, 1] > 0.6


def test_predicting_the_last_node_equals_having_had_it(data):
    """The extended solve is the solve on the whole graph, for the encoder output that was used."""
    X, y, _, A = data
    n = len(y)
    inputs, (lambda1, lambda2) = ReducedInputs(), (0.3, 1.0)
    known = AltOpt(
        restart=1.0, inputs=inputs, feature_weight=lambda1, label_weight=lambda2, random_state=0
    ).fit(X[:-1], y[:-1], graph=A[:-1][:, :-1])
    neighbours = A[[n - 1]].indices
    assert len(neighbours)
    proba = known.predict_proba(X[-1:], edges=[(0, j) for j in neighbours])

    P_new = known.encoder_.predict(known.inputs_.rows(known.inputs_.coordinates(X[-1:])))
    d = np.asarray(A.sum(axis=1)).ravel()
    A_tilde = A.toarray() / np.sqrt(np.outer(d, d).clip(1e-9))
    labelled = np.append(known.labelled_, False)
    H = (1 + lambda1) * np.eye(n) + lambda2 * np.diag(labelled) - A_tilde
    rhs = lambda1 * np.vstack([known.encoder_output_, P_new])
    rhs[labelled] += lambda2 * known.Y_
    F = np.linalg.solve(H, rhs)[-1]
    power = F ** (1 / known.temperature_)
    assert_allclose(proba[0], power / power.sum(), atol=1e-5)
    table = pytest.importorskip("pandas").DataFrame(
        {"source": ["new"] * len(neighbours), "target": neighbours}
    )
    frame = pytest.importorskip("pandas").DataFrame(X[-1:], index=["new"])
    assert_array_equal(proba, known.predict_proba(frame, edges=table))


def test_a_new_node_without_edges_goes_by_its_features(data, model):
    X, _, truth, _ = data
    assert np.mean(model.predict(X) == truth) > 0.75


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([(5, 0)], "edges starts with 5, which is neither a row of X_new, which has 2 rows"),
        ([(0, 999)], "node 999 is not in the graph"),
        ([("a", 0)], "edges starts with 'a', which is neither a row of X_new"),
        (np.zeros((3, 3), dtype=int), r"edges must be pairs, \(E, 2\) or \(2, E\), but has shape \(3, 3\)"),
        ([3, 4], "edges must be pairs"),
    ],
)
def test_bad_edges_of_new_nodes(data, model, edges, message):
    with pytest.raises(InputError, match=message):
        model.predict(data[0][:2], edges=edges)


# scikit-learn's habits


def test_clone_pipelines_and_grid_search(data):
    X, y, truth, _ = data
    assert clone(AltOpt.paper("H")).get_params()["graph_view"].__name__ == "SquaredLaplacianView"
    piped = make_pipeline(StandardScaler(), AltOpt(random_state=0)).fit(X, y)
    assert np.mean(piped[-1].transduction_ == truth) > 0.7
    search = GridSearchCV(AltOpt(random_state=0), {"feature_weight": [0.1, 1.0]}, cv=2).fit(X, truth)
    assert search.best_score_ >= 0.8


def test_validation_nodes_drawn_by_class_count_by_the_sizes_of_classes():
    """As many of every class: what is right in a large class is worth more. A draw from all nodes counts alike."""
    balanced, drawn = np.repeat([0, 1], 50), np.repeat([0, 1], [90, 10])
    said = np.where(np.arange(100) % 10 == 0, 1 - balanced, balanced)  # a tenth of each class wrong
    told = 1000 * (np.array([0.9, 0.1]) @ np.array([[0.9, 0.1], [0.1, 0.9]]))
    weights = validation_weights(balanced, said, told)
    assert 3 < weights[0] / weights[-1] < 9
    assert validation_weights(drawn, said, told) is None


def test_the_kept_round_is_the_best_by_these_counts():
    X, y, truth, A = two_communities(n=200)
    nodes = np.concatenate([np.flatnonzero((truth == k) & (y < 0))[:10] for k in range(2)])
    model = AltOpt(n_pseudo=20, n_rounds=4, cross_fit=False, random_state=0)
    model.fit(X, y, graph=A, validation=(nodes, truth[nodes]))
    found = [entry["validation"] for entry in model.trace_]
    said = model.scores_.argmax(axis=1)
    counts = validation_weights(truth[nodes], said[nodes], np.bincount(said))
    assert max(found) == pytest.approx(np.average(said[nodes] == truth[nodes], weights=counts))
    assert f"Kept round {model.trace_[np.argmax(found)]['round']}, the best" in model.outcome_
