"""What broke once, and variations of it: no code run, no file or update lost, no signal, NaN or false promise."""

import pytest

from altopt_lab.trust.known.__main__ import SCRIPTS, cases, outcome_of


@pytest.mark.parametrize("script", SCRIPTS)
def test_known_faults_stay_mended(script):
    faults = {}
    for case in cases(script):
        if case.in_test:
            outcome = outcome_of(case)
            if outcome.kind == "fault":
                faults[case.name] = outcome.detail
    assert not faults
