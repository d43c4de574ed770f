"""One more column of X: every kind of it is drawn, and losses are told beside the fit without it."""

import numpy as np
import pytest
import scipy.sparse as sp

from altopt_lab.experiments.irrelevant_column import COLUMNS, read, run, summary, widened


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_has_a_finite_number_for_each_node(name):
    y = np.arange(60) % 3
    column = COLUMNS[name](np.random.default_rng(0), y)
    assert column.shape == (60,)
    assert np.isfinite(column).all()
    assert len(np.unique(column)) > 1


def test_a_sparse_X_stays_sparse():
    assert sp.issparse(widened(sp.csr_array(np.eye(3)), np.ones(3)))
    assert widened(np.eye(3), np.ones(3)).shape == (3, 4)


def test_losses_are_those_against_the_same_split():
    data = read("iris")
    records = [run(data, column, 900, cross_fit=False) for column in (None, "flag")]
    lost = 100 * (records[1]["score"] - records[0]["score"])
    row = next(line for line in summary(records).splitlines() if line.startswith("flag"))
    assert row.split()[1] == f"{lost:+.2f}"
