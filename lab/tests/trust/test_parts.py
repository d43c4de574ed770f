"""A few generated cases of every part, and all that broke before."""

import json

import pytest

from altopt_lab.records import read_records
from altopt_lab.trust.batch import draw_cases, tried
from altopt_lab.trust.page import CORPUS
from altopt_lab.trust.registry import PARTS

FOUND = read_records(CORPUS)


@pytest.mark.parametrize("name", PARTS)
def test_a_few_cases(name):
    part = PARTS[name]
    cases = draw_cases(part, 0, part.short)
    faults = {
        json.dumps(case): outcome.detail for case in cases if (outcome := tried(part, case)).kind == "fault"
    }
    assert not faults


@pytest.mark.parametrize("name", PARTS)
def test_a_case_can_be_written_down(name):
    part = PARTS[name]
    case = draw_cases(part, 1, 1)[0]
    assert json.loads(json.dumps(case)) == case


@pytest.mark.parametrize("entry", FOUND, ids=[f"{entry['part']}-{k}" for k, entry in enumerate(FOUND)])
def test_what_broke_before(entry):
    outcome = tried(PARTS[entry["part"]], entry["case"])
    assert outcome.kind != "fault", f"{entry['found']}: {outcome.detail}"
