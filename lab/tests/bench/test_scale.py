"""The benchmark of scale: parts that are done stay done, and figures follow from what was measured."""

from dataclasses import replace

import pytest

from altopt_lab.bench import graphs, scale
from altopt_lab.bench.formatting import HEADINGS
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.targets import TARGETS


def timing(who, best, **more):
    return {
        "who": who,
        "kind": "ours",
        "best": best,
        "median": best,
        "cpu": best,
        "runs": 1,
        "note": "",
        **more,
    }


def runs(**seconds):
    return {"runs": {who: [{"hash": "f0", "seconds": s, "solve": s / 2}] for who, s in seconds.items()}}


ANSWERS = {
    "steps": {"timings": [timing("memory", 1.0), timing("blocks", 1.1), timing("disk", 1.25)]},
    "widths": {"timings": [timing("8 columns", 0.5, width=8), timing("64 columns", 2.0, width=64)]},
    "ingestion": {"seconds": 3.0, "cpu": 3.0, "nodes": 10, "edges": 2_000_000, "peak_gb": 1.0},
    "workers": runs(**{"one process, one core": 10.0, "Ray, 1 worker": 11.0, "Ray, 2 workers": 5.0}),
    "four_raylets": runs(**{"one process, all cores": 10.0, "4 raylets": 12.0}),
    "kills": {
        "plain": 7.0,
        "rows": [
            {"who": "worker in 'solve panel'", "runs": 10, "same": 10, "job": 1.0, "lost": 4.0, "over": 3.0},
            {"who": "machine", "runs": 10, "same": 9, "job": 1.0, "lost": 21.0, "over": 20.0},
        ],
    },
}


def answer(task, *, tasks, times=1.0, **arguments):
    if task == "costs":  # the rates say half of what it takes, and at full size less
        seconds = 2.0 * times * (1.25 if times == 1.0 else 1.0)
        return {
            "nodes": 1,
            "edges": 1,
            "seconds": seconds,
            "by_rates": times,
            "peak_gb": 1.0,
            "by_model_gb": 1.1,
        }
    return ANSWERS[task]


@pytest.fixture
def case(monkeypatch, tmp_path):
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path))
    monkeypatch.setattr(scale.worker, "run", answer)
    return Case(replace(graphs.SIZES["products"]), None, None, None, None)


def test_figures_follow_from_what_was_measured(case):
    report = scale.run(case, None, lambda line: None)
    expected = {
        "disk_step": 0.8,
        "ingestion_s": 1.5,
        "two_workers": 2.0,
        "four_raylets": 1.2,
        "kills_same": 0.9,
        "kill_over_s": 3.0,
        "machine_over_s": 20.0,
        "cost_load": 2.0,
        "cost_time": 0.2,
        "cost_memory": 0.1,
    }
    assert {name: report.measures[name] for name in expected} == pytest.approx(expected)
    assert {target.measure for target in TARGETS if target.bench == "scale"} <= set(report.measures)
    shown = [heading for table in report.tables for heading in table.columns]
    assert {"per_column", "per_million", "over", "time_error"} <= set(shown) <= set(HEADINGS)


def test_a_run_that_was_stopped_goes_on_after_its_last_part(case, monkeypatch):
    asked = []

    def dying(task, **arguments):
        asked.append(task)
        if task == "kills" and asked.count("kills") == 1:
            raise KeyboardInterrupt
        return answer(task, **arguments)

    monkeypatch.setattr(scale.worker, "run", dying)
    with pytest.raises(KeyboardInterrupt):
        scale.run(case, 3, lambda line: None)
    report = scale.run(case, 3, lambda line: None)
    assert asked.count("steps") == asked.count("workers") == 1
    assert report.measures["disk_step"] == pytest.approx(0.8)
    scale.run(case, 3, lambda line: None)
    assert asked.count("steps") == 2  # a finished run leaves nothing that a later one would take


def test_other_bits_are_said(case, monkeypatch):
    def differing(task, **arguments):
        found = answer(task, **arguments)
        if task == "workers":
            found = {
                "runs": {**found["runs"], "Ray, 1 worker": [{"hash": "f1", "seconds": 1.0, "solve": 1.0}]}
            }
        return found

    monkeypatch.setattr(scale.worker, "run", differing)
    assert scale.run(case, 1, lambda line: None).measures["workers_same"] == 0.0
