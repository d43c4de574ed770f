"""Versions, seconds and memory of a fit stay those of the fit, whatever process stores or shows its model later."""

import json

import numpy as np
import pytest

from altopt import AltOpt
from altopt.cli.main import run
from altopt.cli.report import model_report
from altopt.io import circumstances
from altopt.io.folder import checksum
from problems import two_communities

ELSEWHERE = {
    "altopt": "0.0.7 (of another machine)",
    "Python": "3.99",
    circumstances.SECONDS: 12.5,
    circumstances.PEAK: 7e6,
}


@pytest.fixture
def stored(tmp_path):
    X, y, _, A = two_communities()
    model = AltOpt(random_state=0, n_rounds=1).fit(X, y, graph=A)
    model.save(tmp_path / "model")
    return tmp_path / "model"


def with_head(folder, change):
    """The stored model as if its head had been written otherwise."""
    head = json.loads((folder / "model.json").read_text())
    change(head)
    head["checksum"] = checksum(head)
    (folder / "model.json").write_text(json.dumps(head))


def shown(folder, tmp_path):
    model_report(AltOpt.load(folder), tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_later_report_shows_what_the_fit_ran_with(stored, tmp_path):
    with_head(stored, lambda head: head.update(circumstances=ELSEWHERE))
    page = shown(stored, tmp_path)
    for fact in ("0.0.7 (of another machine)", "3.99", ">12.50<", ">7 MB<"):
        assert fact in page
    assert np.__version__ not in page


def test_an_update_stored_by_another_process_keeps_them(stored, tmp_path):
    with_head(stored, lambda head: head.update(circumstances=ELSEWHERE))
    model = AltOpt.load(stored)
    model.update(labels={int(np.flatnonzero(~model.labelled_)[0]): 0})
    model.save(stored)
    assert json.loads((stored / "model.json").read_text())["circumstances"] == ELSEWHERE


@pytest.mark.parametrize("damaged", [None, "text", {"altopt": ["a", "list"], circumstances.PEAK: "much"}])
def test_a_model_stored_before_they_were_says_not_recorded(stored, tmp_path, damaged):
    def older(head):
        head.pop("circumstances")
        if damaged is not None:
            head["circumstances"] = damaged

    with_head(stored, older)
    page = shown(stored, tmp_path)
    assert page.count("not recorded") >= 2
    assert np.__version__ not in page
    model = AltOpt.load(stored)
    model.save(tmp_path / "again")
    assert circumstances.of(AltOpt.load(tmp_path / "again").fitted_) in (None, {})


def test_altopt_fit_takes_the_time_of_the_whole_fit(tmp_path):
    _, y, _, A = two_communities()
    given = np.flatnonzero(y >= 0)
    (tmp_path / "labels.csv").write_text("node,label\n" + "".join(f"{i},c{y[i]}\n" for i in given))
    edges = A.tocoo()
    (tmp_path / "edges.csv").write_text(
        "source,target\n" + "".join(f"{i},{j}\n" for i, j in zip(edges.row, edges.col) if i < j)
    )
    asked = ["--edges", str(tmp_path / "edges.csv"), "--labels", str(tmp_path / "labels.csv")]
    assert run(["fit", *asked, "--out", str(tmp_path / "out"), "--rounds", "1", "--quiet"]) == 0
    found = circumstances.of(AltOpt.load(tmp_path / "out" / "model").fitted_)
    assert 0 < found[circumstances.SECONDS] < 600
