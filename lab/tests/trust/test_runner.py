"""The runner: batches in processes of their own, whatever becomes of them, and the page of their records."""

import os
import signal
import time

import pytest
from hypothesis import strategies as st

from altopt.errors import InputError
from altopt_lab.records import read_records
from altopt_lab.trust import runner
from altopt_lab.trust.batch import draw_cases
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.page import page
from altopt_lab.trust.part import FINE, Outcome, Part


def refuse():
    raise InputError("X must hold numbers, but holds text. Leave the text out.")


def warn():
    import numpy as np

    return np.array([1e308]) * 10


@pytest.mark.parametrize(
    ("action", "kind"),
    [
        (lambda: None, "fine"),
        (refuse, "refused"),
        (warn, "fault"),
        (lambda: 1 / 0, "fault"),
        (lambda: promise(False, "rows do not sum to one"), "fault"),
    ],
)
def test_outcomes(action, kind):
    assert judged(action).kind == kind


def test_a_refusal_without_a_sentence_is_a_fault():
    def mumble():
        raise InputError("bad")

    assert judged(mumble).kind == "fault"


def die(case):
    if case["what"] == "signal":
        os.kill(os.getpid(), signal.SIGSEGV)
    if case["what"] == "hang":
        time.sleep(60)
    return FINE if case["what"] == "fine" else Outcome("refused", "this is refused")


ACCIDENTS = Part(
    name="accidents",
    what="cases that end their process",
    strategy=st.builds(
        lambda what, n: {"what": what, "n": n},
        st.sampled_from(["fine", "refused", "signal", "hang"]),
        st.integers(0, 9),
    ),
    check=die,
    trials=4,
    seconds=1.0,
    batch=4,
)
WORKER = """
import sys
sys.path.insert(0, {folder!r})
from altopt_lab.trust import registry, worker
from test_runner import ACCIDENTS
registry.PARTS["accidents"] = ACCIDENTS
worker.main()
"""


@pytest.fixture
def worker_with_accidents(tmp_path, monkeypatch):
    """An interpreter that knows the part of accidents."""
    script = tmp_path / "worker.py"
    script.write_text(WORKER.format(folder=os.path.dirname(__file__)))
    start = runner.subprocess.Popen

    def popen(call, **options):
        return start([call[0], str(script), *call[3:]], **options)

    monkeypatch.setattr(runner.subprocess, "Popen", popen)


def test_death_and_hanging_are_faults_with_their_case(worker_with_accidents, tmp_path):
    cases = draw_cases(ACCIDENTS, 0, 4)
    expected = [case for case in cases if case["what"] in ("signal", "hang")]
    assert {case["what"] for case in expected} == {"signal", "hang"}
    file = tmp_path / "trust.jsonl"
    planned = runner.batches([ACCIDENTS], None, 0)
    (record,) = runner.run(planned, file, 1, None, lambda line: None)
    assert [fault["case"] for fault in record["faults"]] == expected
    assert record["trials"] == len(cases)
    assert read_records(file) == [record]
    for fault in record["faults"]:
        word = "SIGSEGV" if fault["case"]["what"] == "signal" else "hung"
        assert word in fault["detail"]


def test_batches_of_parts_take_turns():
    other = Part("other", "", st.none(), die, trials=3, seconds=1.0, batch=2)
    planned = [
        (batch.part.name, batch.seed, batch.trials) for batch in runner.batches([ACCIDENTS, other], 12, 5)
    ]
    assert planned[0] == ("accidents", 5, 4)
    assert planned[1] == ("other", 5, 2)
    assert sum(trials for name, _, trials in planned if name == "other") == 12


def record(part, counts, **values):
    kinds = dict(zip(("fine", "refused", "fault"), counts))
    plain = {
        "part": part,
        "seed": 0,
        "asked": 9,
        "trials": sum(counts),
        "commit": "abc",
        "made": "2026-01-01 00:00",
    }
    return plain | {"seconds": 60.0, "slowest": 0.1, "counts": kinds, "faults": []} | values


def test_the_page_counts_the_last_commit_and_lists_its_faults():
    fault = {"case": {"n": 0}, "detail": "ZeroDivisionError at graph/graph.py:1: division by zero"}
    records = [
        record("graph", (1, 1, 1), commit="old", faults=[fault]),
        record("graph", (5, 3, 1), seed=1, faults=[fault]),
    ]
    text = page(records)
    assert "| 9 | 5 | 3 | 1 | 1.0 | abc, 2026-01-01 00:00 |" in text
    assert "graph, once: `ZeroDivisionError" in text
    assert "Nothing has been recorded" in page([])
