"""Kinds of edges read apart: where one ties like to like and another opposites, both tell."""

import numpy as np
import pytest

from altopt import AltOpt
from altopt.encoders import LinearEncoder
from altopt.inputs import HopInputs
from altopt.selection.by_kind import with_kinds_apart
from altopt.selection.candidates import Candidate
from two_kinds import hidden, two_good_kinds, with_opposed_kind

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_a_kind_that_ties_opposites_helps_without_weight():
    data = two_good_kinds(seed=903, n=800, n_classes=4, share_within=0.6)
    kinds = with_opposed_kind(data)
    y = hidden(data, n_labels=120)
    both, alone = (AltOpt(random_state=0).fit(data.X, y, graph=graph) for graph in (kinds, kinds["cites"]))
    assert both.edge_weights_["opposed"] < 0.1
    right = [np.mean(model.transduction_[y < 0] == data.y[y < 0]) for model in (both, alone)]
    assert right[0] > right[1] + 0.01
    assert "kinds apart" in both.choice_["plan"]


def test_one_telling_kind_adds_no_candidate():
    usual = Candidate("usual", HopInputs(), LinearEncoder())
    assert with_kinds_apart(usual, [], ("cites",)) == []
    assert with_kinds_apart(usual, [], ("cites", "shares"))[0].inputs.reads_kinds
