"""What a fit does can be followed: the logger altopt names each step, on the command line a bar or lines show them."""

import logging

import numpy as np

from altopt import AltOpt
from altopt.cli.progress import Rounds
from altopt.training.journal import LOG, Journal
from problems import two_communities


def test_the_logger_names_steps_rounds_and_the_result(caplog):
    X, y, _, A = two_communities()
    with caplog.at_level(logging.INFO, logger="altopt"):
        AltOpt(random_state=0).fit(X, y, graph=A)
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f"fitting {len(y)} nodes with 10 labels"
    assert any("fold 0" in line for line in lines)
    assert any(line.startswith("round 1 of") for line in lines)
    assert lines[-1].startswith("fitted: ")


def test_it_is_silent_unless_asked(caplog, capsys):
    X, y, _, A = two_communities()
    AltOpt(cross_fit=False, random_state=0).fit(X, y, graph=A)
    assert not caplog.records
    assert capsys.readouterr().err == ""


def test_long_steps_get_a_line_where_there_is_no_bar(capsys, monkeypatch):
    monkeypatch.setattr("altopt.cli.progress.LONG_STEP", 0.0)
    with Rounds(quiet=False):
        Journal().once("usual, fold 1", lambda: {"F": np.eye(2)})
    Journal().once("usual, fold 2", lambda: {"F": np.eye(2)})  # nobody listens any more
    err = capsys.readouterr().err
    assert "holding labels out: usual, fold 1: 0.0 s" in err
    assert "fold 2" not in err
    assert not LOG.handlers
