"""Results of the demo: what the splits cannot tell apart is not ranked."""

from altopt.cli.result import Result


def result(*accuracies):
    return Result(
        "digits", "method", "", {}, "", tuple(range(len(accuracies))), accuracies, (1.0,) * len(accuracies)
    )


def test_a_lead_within_two_standard_errors_is_none():
    steady, wavering = result(0.94, 0.95, 0.96), result(0.95, 0.94, 0.965)
    assert not steady.behind(wavering)
    assert not wavering.behind(steady)
    assert not steady.behind(steady)


def test_a_lead_on_every_split_is_one():
    better, worse = result(0.95, 0.96, 0.97), result(0.90, 0.915, 0.92)
    assert worse.behind(better)
    assert not better.behind(worse)
