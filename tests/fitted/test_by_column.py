"""Which columns of X spoke for a label: amounts that sum, exact for a linear encoder, else Shapley values."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import RandomForestClassifier

from altopt import AltOpt
from altopt.encoders import KernelEncoder, LinearEncoder, TabularEncoder
from altopt.fitted.by_column import EXACT, MAX_NODES, SAMPLED, Evidence, mean_row
from altopt.inputs import BlockInputs, DegreeInputs, DiffusedInputs, HopInputs, RawInputs, ReducedInputs
from problems import two_communities

ENCODERS = {"linear": LinearEncoder(), "kernel": KernelEncoder(), "forest": RandomForestClassifier(20)}


def one_telling_column(seed=0, n=80, d=6, column=2):
    """Only one column differs between the classes; edges are few."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, d))
    X[:, column] += 4.0 * truth
    y = np.where(np.arange(n) < 40, truth, -1)
    return X, y, [(k, k + 2) for k in range(n - 2)]


@pytest.mark.parametrize("inputs", [RawInputs(), DiffusedInputs(), HopInputs(), ReducedInputs()], ids=repr)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_telling_column_speaks_loudest(encoder, inputs):
    X, y, edges = one_telling_column()
    model = AltOpt(encoder=ENCODERS[encoder], inputs=inputs, cross_fit=False, random_state=0).fit(
        X, y, graph=edges
    )
    why = model.explain(50)
    assert why.columns[0][0] == 2
    assert why.columns[0][1] > 0
    assert why.columns_how == (EXACT if encoder == "linear" else SAMPLED)
    assert_allclose(sum(amount for _, amount in why.columns), why.feature_evidence[why.code], atol=1e-9)


@pytest.mark.parametrize(
    "inputs", [RawInputs(), HopInputs(n_components=3), BlockInputs((HopInputs(), ReducedInputs()))]
)
def test_columns_sum_to_what_the_features_add_to_a_mean_row(inputs):
    X, y, _, A = two_communities()
    for encoder in (LinearEncoder(), KernelEncoder()):
        model = AltOpt(encoder=encoder, inputs=inputs, cross_fit=False, random_state=0).fit(X, y, graph=A)
        why = model.explain(20)
        parts, k = why.parts, why.code
        first = np.argsort(-np.abs(parts.weights), kind="stable")[:MAX_NODES]
        base = model.encoder_.predict(mean_row(model.inputs_)[None].astype(np.float32))[0, k]
        P = model.encoder_output_[parts.nodes[first], k]
        expected = model.plan_.feature_weight * float(parts.weights[first] @ (P - base))
        assert_allclose(sum(a for name, a in why.columns if name is not None), expected, atol=2e-4)


def test_sampled_shares_are_shapley_values():
    """Of three columns all six orders are few enough to be enumerated."""

    class Product:
        def predict(self, rows):
            value = rows[:, 0] * rows[:, 1] + rows[:, 2]
            return np.stack([value, 1 - value], axis=1)

    evidence = Evidence(
        np.array([[1.0, 2.0, 3.0]]), np.zeros(3), [(slice(0, 3), None)], np.ones(1), Product(), 0, 3
    )
    expected = np.zeros(3)
    for order in permutations(range(3)):
        inside = np.zeros(3)
        for k in order:
            before = evidence.masked(inside[None].astype(bool), [np.array([j]) for j in range(3)])[0]
            inside[k] = 1
            expected[k] += (
                evidence.masked(inside[None].astype(bool), [np.array([j]) for j in range(3)])[0] - before
            ) / 6
    assert_allclose(expected, [1.0, 1.0, 3.0])
    found = evidence.sampled(seed=0)
    assert_allclose(
        found.amounts[np.argsort(found.columns)], expected
    )  # an order and its reverse: exact for a pair


def test_many_columns_share_an_entry_and_inputs_without_columns_have_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    y = np.where(np.arange(60) < 30, np.arange(60) % 2, -1)
    edges = [(k, k + 2) for k in range(58)]
    model = AltOpt(encoder=KernelEncoder(), inputs=RawInputs(), cross_fit=False, random_state=0).fit(
        X, y, graph=edges
    )
    assert "all other columns" in [name for name, _ in model.explain(40).columns]
    plain = AltOpt(encoder=TabularEncoder(RandomForestClassifier(5)), inputs=DegreeInputs(), cross_fit=False)
    why = plain.fit(X, y, graph=edges).explain(40)
    assert [name for name, _ in why.columns] == [None]
    without = AltOpt(cross_fit=False, random_state=0).fit(None, y, graph=edges).explain(40)
    assert [name for name, _ in without.columns] == [None]


def test_columns_of_a_table_are_named_and_counted_as_one():
    truth = np.arange(60) % 2
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"age": rng.normal(size=60), "plan": np.where(truth, "gold", "free"), "x": rng.random(60)}
    )
    y = np.where(np.arange(60) < 30, truth, -1)
    model = AltOpt(cross_fit=False, random_state=0).fit(table, y, graph=[(k, k + 2) for k in range(58)])
    names = [name for name, _ in model.explain(40).columns]
    assert names[0] == "plan"
    assert sorted(names[:-1]) == ["age", "plan", "x"]


def test_missing_values_speak_too():
    X, y, edges = one_telling_column()
    X[::5, 0] = np.nan
    forest = RandomForestClassifier(10, random_state=0)
    model = AltOpt(encoder=forest, inputs=RawInputs(), cross_fit=False, random_state=0).fit(X, y, graph=edges)
    amounts = dict(model.explain(50).columns)
    assert np.isfinite(list(amounts.values())).all()


def test_an_explanation_reads_as_the_ledger_does():
    X, y, edges = one_telling_column()
    model = AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=edges)
    why = model.explain(50)
    text = str(why)
    assert text.startswith(f"Node 50: {why.prediction}, score {why.total:.4f} (next: ")
    for title in ("label of node", "features of node", "column of X", "Strongest path"):
        assert title in text
    assert repr(why) == f"Explanation(node=50, prediction={why.prediction}, total={why.total:.4f})"
    html = why._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 3
    assert "column of X (exact for the linear encoder)" in html


def test_names_are_escaped_in_html():
    X, y, edges = one_telling_column()
    names = ["<b>" if v else "ok" for v in y % 2]
    labels = np.where(y == -1, None, np.array(names, dtype=object))
    html = AltOpt(cross_fit=False, random_state=0).fit(X, labels, graph=edges).explain(51)._repr_html_()
    assert "<b>, score" not in html
    assert "&lt;b&gt;" in html


def test_evidence_against_a_given_label_is_said():
    X, y, edges = one_telling_column()
    y = y.copy()
    y[1] = 0  # all evidence says 1
    model = AltOpt(cross_fit=False, random_state=0, label_weight=0.01, feature_weight=0.01).fit(
        X, y, graph=edges
    )
    why = model.explain(1)
    assert why.given
    assert why.outvoted_by == 1
    assert str(why).startswith(f"Node 1: given: 0, score {why.total:.4f}; the evidence says 1 (")
    assert why.record()["outvoted_by"] == 1
