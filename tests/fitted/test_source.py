"""What fit takes: tables, labels by id, no features, a Data; and what later rows are matched by."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from torch_geometric.data import Data

from altopt import AltOpt, Graph, InputError
from customers import customers, few
from problems import two_communities

table, y, edges = customers()
known = few(y)


@pytest.fixture(scope="module")
def model():
    return AltOpt(random_state=0).fit(table, known, graph=edges)


def right(fitted):
    return np.mean(fitted.transduction_ == y[fitted.graph_.ids].to_numpy())


# tables


def test_a_table_of_mixed_columns_is_taken_as_it_is(model):
    assert right(model) > 0.9
    assert model.feature_names_in_.tolist() == list(table.columns)
    assert model.n_features_in_ == 9
    kinds = ["number"] * 4 + ["category"] * 3 + ["date", "text"]
    assert [column.kind for column in model.columns_] == kinds


def test_a_stored_model_reads_later_tables_in_the_same_way(model, tmp_path):
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m")
    assert str(again.columns_) == str(model.columns_)
    assert again.n_features_in_ == 9
    new = table.iloc[:6].set_axis([f"new-{k}" for k in range(6)])
    P = model.predict_proba(new)
    assert_allclose(again.predict_proba(new[new.columns[::-1]]), P)  # columns in any order
    change = again.update(nodes=list(new.index), features=new, edges=[("new-0", "cust-0000")])
    assert [node for node, before, _ in change.moved if before is None] == list(new.index)


def test_a_forged_reader_is_refused(model, tmp_path):
    import json

    model.save(tmp_path / "m")
    head = json.loads((tmp_path / "m" / "model.json").read_text())
    assert "TableReader" in json.dumps(head["fitted"]["reader"])
    from altopt.io.fitted_checks import check_reader
    from altopt.table.columns import NumberColumn
    from altopt.table.reader import TableReader

    for column in (NumberColumn("a", 2.0, 1.0), NumberColumn("a", 0.0, np.inf)):
        with pytest.raises(InputError, match="column 'a'"):
            check_reader(TableReader((column,), True), 1)
    with pytest.raises(InputError, match="not those of the features"):
        check_reader(TableReader((NumberColumn("a", 0.0, 1.0),), True), 2)


def test_other_columns_are_refused_by_name(model):
    with pytest.raises(InputError, match="lacks the columns 'age', 'plan'.*has the column 'x'"):
        model.predict(table.drop(columns=["age", "plan"]).assign(x=1))


def test_an_array_later_goes_by_position(model):
    X = table.astype(object).to_numpy()
    assert_allclose(model.predict_proba(X), model.predict_proba(table.reset_index(drop=True)))


def test_files_are_read_where_their_paths_are_given(model, tmp_path):
    table.to_csv(tmp_path / "x.csv", index_label="node")
    known.rename("label").to_csv(tmp_path / "y.csv", index_label="node")
    edges.to_csv(tmp_path / "e.tsv", index=False, sep="\t")
    fitted = AltOpt(random_state=0).fit(tmp_path / "x.csv", str(tmp_path / "y.csv"), graph=tmp_path / "e.tsv")
    assert_array_equal(fitted.transduction_, model.transduction_)
    assert_array_equal(fitted.predict(tmp_path / "x.csv"), model.transduction_)
    assert fitted.score(tmp_path / "x.csv", y) == right(model)


# labels


def test_labels_by_id_in_any_form_and_order_are_the_same(model):
    shuffled = known.sample(frac=1, random_state=1)
    full = y.where(y.index.isin(known.index)).sample(frac=1, random_state=2)
    pairs = pd.DataFrame({"node": known.index, "label": known.to_numpy()})
    twice = pd.concat([pairs, pairs.iloc[:3]])
    for given in (
        known.to_dict(),
        shuffled,
        shuffled.to_frame(),
        full,
        full.reindex(table.index).to_numpy(),
        pairs,
        twice,
    ):
        fitted = AltOpt(random_state=0, cross_fit=False).fit(table, given, graph=edges)
        assert_array_equal(fitted.labelled_, model.labelled_)
        assert_array_equal(fitted.transduction_[fitted.labelled_], known[table.index[fitted.labelled_]])


def test_an_index_that_does_not_match_is_an_error():
    with pytest.raises(InputError, match="y names node 'x-0', which is not among the 300 nodes .*1 missing"):
        AltOpt().fit(table, pd.concat([known, pd.Series({"x-0": "bank"})]), graph=edges)
    with pytest.raises(InputError, match="by id, never by position"):
        AltOpt().fit(table, y.set_axis(range(5, 305)), graph=edges)


def test_two_labels_of_one_node_are_refused():
    pairs = pd.DataFrame({"node": ["cust-0001", "cust-0001"], "label": ["bank", "shop"]})
    with pytest.raises(InputError, match="'cust-0001' two labels, 'bank' and 'shop'"):
        AltOpt().fit(table, pairs, graph=edges)


def test_without_a_graph_a_foreign_index_goes_by_position_as_in_scikit_learn():
    X, labels, _truth, _ = two_communities()
    order = np.random.default_rng(0).permutation(len(labels))
    one = AltOpt(random_state=0, cross_fit=False).fit(X, labels)
    other = AltOpt(random_state=0, cross_fit=False).fit(X, pd.Series(labels, index=order + 7))
    assert_array_equal(one.transduction_, other.transduction_)


def test_positions_are_ids_where_nothing_else_names_the_nodes():
    X, labels, _truth, A = two_communities()
    where = np.flatnonzero(np.asarray(labels) != -1)
    one = AltOpt(random_state=0, cross_fit=False).fit(X, labels, graph=A)
    other = AltOpt(random_state=0, cross_fit=False).fit(X, {int(k): labels[k] for k in where[::-1]}, graph=A)
    assert_array_equal(one.scores_, other.scores_)
    shuffled = pd.Series(labels).sample(frac=1, random_state=0)
    other = AltOpt(random_state=0, cross_fit=False).fit(X, shuffled, graph=A)
    assert_array_equal(one.scores_, other.scores_)


def test_empty_text_is_unknown_with_a_warning_and_never_a_class():
    given = y.where(y.index.isin(known.index), "").to_numpy()
    with pytest.warns(UserWarning, match="276 entries of y are empty text; they count as unknown"):
        fitted = AltOpt(random_state=0, cross_fit=False).fit(table, given, graph=edges)
    assert fitted.classes_.tolist() == ["bank", "home", "shop"]


@pytest.mark.parametrize("y", [[-1, 1, -1, 1], {0: -1, 1: 1, 2: -1, 3: 1}])
def test_minus_one_as_a_class_is_explained(y):
    with pytest.raises(InputError, match=r"all of one class \(1\). -1 was read as unknown \(2 entries\)"):
        AltOpt().fit(np.eye(4), y, graph=[(0, 1), (2, 3)])


def test_where_every_label_is_given_it_says_that_nothing_is_left():
    with pytest.warns(UserWarning, match="nothing is left to label"):
        fitted = AltOpt(random_state=0, cross_fit=False).fit(table, y, graph=edges)
    assert "nothing is left to label" in fitted.outcome_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AltOpt(random_state=0, cross_fit=False).fit(table, known, graph=edges)


# no features, or not for all


def test_without_features_the_graph_does_what_identity_features_do():
    graph = Graph(edges, nodes=table.index)
    none = AltOpt(random_state=0).fit(None, known, graph=graph)
    identity = AltOpt(random_state=0).fit(sp.eye_array(len(table), format="csr"), known, graph=graph)
    assert_allclose(none.scores_, identity.scores_)
    assert right(none) > 0.7
    assert none.n_features_in_ == 0


def test_a_model_without_features_answers_for_known_and_new_nodes(tmp_path):
    fitted = AltOpt(random_state=0, cross_fit=False).fit(None, known.to_dict(), graph=edges)
    fitted.save(tmp_path / "m")
    fitted = AltOpt.load(tmp_path / "m")
    assert fitted.n_features_in_ == 0
    assert_array_equal(fitted.predict(None), fitted.transduction_)
    assert fitted.score(None, y[fitted.graph_.ids]) == right(fitted)
    ties = pd.DataFrame({"source": ["new"] * 2, "target": known.index[known == "shop"][:2]})
    assert fitted.predict(None, ties, ids=["new"]).tolist() == ["shop"]
    assert fitted.update(nodes=["new"], edges=ties).moved == [("new", None, "shop")]
    with pytest.raises(InputError, match="fitted without features"):
        fitted.predict(table)


def test_neither_features_nor_a_graph_is_an_error():
    with pytest.raises(InputError, match="X is None and so is the graph"):
        AltOpt().fit(None, [0, 1])
    with pytest.raises(InputError, match="which entry of y is which node"):
        AltOpt().fit(None, known.to_numpy(), graph=edges)


def test_nodes_without_a_row_of_features_are_taken_and_counted():
    some = table.drop(table.index[:30])
    with pytest.warns(UserWarning, match="30 of 300 nodes have no row of features"):
        fitted = AltOpt(random_state=0, cross_fit=False).fit(some, known, graph=edges)
    assert "30 of 300 nodes have no row of features" in fitted.outcome_
    assert fitted.graph_.n_nodes == 300
    assert right(fitted) > 0.85


# PyTorch Geometric


def test_a_data_brings_features_labels_by_its_mask_and_edges():
    X, labels, truth, A = two_communities()
    given = np.asarray(labels) != -1
    coo = A.tocoo()
    data = Data(
        x=torch.as_tensor(X),
        y=torch.as_tensor(truth),
        edge_index=torch.as_tensor(np.stack([coo.row, coo.col]).astype(np.int64)),
        train_mask=torch.as_tensor(given),
    )
    fitted = AltOpt(random_state=0, cross_fit=False).fit(data)
    by_hand = AltOpt(random_state=0, cross_fit=False).fit(X, labels, graph=A)
    assert_array_equal(fitted.labelled_, given)
    assert_array_equal(fitted.scores_, by_hand.scores_)
    assert_array_equal(fitted.predict(data), fitted.transduction_)
    data.train_mask = torch.stack([data.train_mask] * 2, dim=1)
    with pytest.raises(InputError, match=r"train_mask\[:, 0\]"):
        AltOpt().fit(data)


# scikit-learn


KINDS_OF_X = {
    "pandas": lambda: table.reset_index(drop=True),
    "polars": lambda: pl.from_pandas(table),
    "pyarrow": lambda: pa.Table.from_pandas(table, preserve_index=False),
    "objects": lambda: table.astype(object).to_numpy(),
    "lists": lambda: table.astype(object).to_numpy().tolist(),
}


@pytest.mark.parametrize("kind", KINDS_OF_X)
def test_an_estimator_of_scikit_learn_for_X_of_every_kind(kind):
    X = KINDS_OF_X[kind]()
    labels = y.where(y.index.isin(known.index)).to_numpy()
    fitted = AltOpt(random_state=0, cross_fit=False).fit(X, labels)
    again = clone(fitted).fit(X, labels)
    assert_array_equal(fitted.predict_proba(X), again.predict_proba(X))  # fit is idempotent
    assert fitted.n_features_in_ == 9
    assert hasattr(fitted, "feature_names_in_") == (kind not in ("objects", "lists"))
    P = fitted.predict_proba(X)
    assert_allclose(P.sum(axis=1), 1.0)
    assert_array_equal(fitted.predict(X), fitted.classes_[P.argmax(axis=1)])
    assert_allclose(pickle.loads(pickle.dumps(fitted)).predict_proba(X), P)
    assert 0.5 < fitted.score(X, y.to_numpy()) <= 1.0


def test_cross_validation_and_pipelines_take_tables():
    model = AltOpt(random_state=0, cross_fit=False)
    assert cross_val_score(model, table, y, cv=3).mean() > 0.7  # without a graph, nodes are held back
    steps = make_pipeline(FunctionTransformer(lambda X: X.drop(columns="note")), model).fit(table, y)
    assert steps[-1].feature_names_in_.tolist() == list(table.columns[:-1])
    assert steps.score(table, y) > 0.7


def test_a_table_as_it_is_does_as_well_as_columns_prepared_by_hand():
    """2,000 customers, 4 numbers of very different scale, 3 categories, a date, text, a tenth of all values missing."""
    table, y, edges = customers(2000, seed=901)
    known, graph = few(y, 10), Graph(edges, nodes=table.index)
    numbers, categories = ["revenue", "age", "visits", "share", "joined"], ["region", "plan", "channel"]
    ready = table.assign(
        revenue=np.log(table.revenue),
        joined=(table.joined - pd.Timestamp("1970-01-01")).dt.days,
        note=table.note.fillna(""),
        **{name: table[name].astype(object).fillna("none") for name in categories},
    )
    by_hand = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("categories", OneHotEncoder(), categories),
            ("text", TfidfVectorizer(), "note"),
        ]
    )
    hidden = ~table.index.isin(known.index)
    accuracies = [
        np.mean(AltOpt(random_state=0).fit(X, known, graph=graph).transduction_[hidden] == y[hidden])
        for X in (table, sp.csr_array(by_hand.fit_transform(ready)))
    ]
    assert accuracies[0] > 0.9
    assert accuracies[0] > accuracies[1] - 0.01


# known nodes


def test_the_X_of_the_fit_answers_for_its_nodes_with_their_edges(model):
    assert_array_equal(model.predict(table), model.transduction_)
    assert_allclose(model.predict_proba(table), model.label_distributions_)
    assert model.score(table, y) == right(model)
    some = table.sample(40, random_state=0)
    assert_array_equal(model.predict(some), model.transduction_[model.graph_.positions(some.index)])
    X, labels, _truth, A = two_communities()
    fitted = AltOpt(random_state=0, cross_fit=False).fit(X, labels, graph=A)
    assert_array_equal(fitted.predict(X), fitted.transduction_)
    assert_allclose(fitted.predict_proba(X.copy()), fitted.label_distributions_)
    assert not np.allclose(fitted.predict_proba(X + 1e-3), fitted.label_distributions_)
    frame = pd.DataFrame(X, index=[f"n{k}" for k in range(len(X))])
    fitted = AltOpt(random_state=0, cross_fit=False).fit(
        frame, labels, graph=A
    )  # positions, and yet an index
    assert_array_equal(fitted.predict(frame), fitted.transduction_)


def test_known_and_new_rows_may_be_asked_for_together(model):
    both = pd.concat([table.iloc[:2], table.iloc[5:7].set_axis(["new-a", "new-b"])])
    ties = pd.DataFrame({"source": ["new-a"], "target": ["cust-0007"]})
    P = model.predict_proba(both, edges=ties)
    assert_allclose(P[:2], model.label_distributions_[:2])
    assert_allclose(P[2:], model.predict_proba(both.iloc[2:], edges=ties))
    assert_allclose(model.predict_proba(both, edges=[(2, "cust-0007")]), P)
    with pytest.raises(InputError, match="edges begins at row 0, a node of the model"):
        model.predict(both, edges=[(0, "cust-0007")])
    with pytest.raises(InputError, match="use update"):
        model.predict(table, edges=[(0, "cust-0007")])


def test_score_leaves_unknown_rows_out(model):
    hidden = y.where(np.arange(len(y)) % 3 == 0)
    assert model.score(table, hidden) == np.mean((model.transduction_ == y)[::3])
    assert model.score(table, hidden.sample(frac=1, random_state=0)) == model.score(table, hidden)
    with pytest.raises(InputError, match="nothing to compare with"):
        model.score(table, np.full(len(y), None))
