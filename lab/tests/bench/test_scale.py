"""The benchmark of scale: parts that are done stay done, and figures follow from what was measured."""

from dataclasses import replace

import pytest
from threadpoolctl import threadpool_info

from altopt.errors import InputError
from altopt.scale.runner import Here
from altopt.threads import kernel_threads
from altopt_lab.bench import graphs, scale, scale_tasks
from altopt_lab.bench.formatting import HEADINGS
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.scale_tasks import threads
from altopt_lab.bench.targets import TARGETS, latest


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
    return {"runs": {who: [run(s)] for who, s in seconds.items()}}


def run(seconds, made="f0"):
    return {"hash": made, "seconds": seconds, "solve": seconds / 2, "cpu": seconds}


ANSWERS = {
    "steps": {"timings": [timing("memory", 1.0), timing("blocks", 1.1), timing("disk", 1.25)]},
    "widths": {"timings": [timing("8 columns", 0.5, width=8), timing("64 columns", 2.0, width=64)]},
    "tables": {"folder": "there"},
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


def answer(task, **arguments):
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
    }
    assert {name: report.measures[name] for name in expected} == pytest.approx(expected)
    assert {target.measure for target in TARGETS if target.bench == "scale"} <= set(report.measures)
    shown = [heading for table in report.tables for heading in table.columns]
    assert {"per_column", "per_million", "over"} <= set(shown) <= set(HEADINGS)


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
            found = {"runs": {**found["runs"], "Ray, 1 worker": [run(1.0, "f1")]}}
        return found

    monkeypatch.setattr(scale.worker, "run", differing)
    assert scale.run(case, 1, lambda line: None).measures["workers_same"] == 0.0


def test_some_parts_are_run_and_others_are_kept_from_before(case):
    whole = scale.run(case, 1, lambda line: None).record()
    some = scale.run(case, 1, lambda line: None, only=["raylets"]).record()
    assert list(some["measures"]) == ["four_raylets"]
    some["measures"]["four_raylets"] = 1.1
    [found] = latest([whole, some]).values()
    assert found["measures"] == whole["measures"] | {"four_raylets": 1.1}
    assert len(found["tables"]) == len(whole["tables"])
    with pytest.raises(InputError, match="--parts must be of steps, .* but has walks"):
        scale.run(case, 1, lambda line: None, only=["walks"])


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A size whose features are more than the columns of Z, as cora's are."""
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path))
    size = replace(graphs.SIZES["cora"], n_nodes=600, n_edges=1500, n_classes=4, n_features=300)
    monkeypatch.setitem(graphs.SIZES, "cora", size)


def test_a_fit_of_more_features_than_columns_of_Z_gives_the_same_bits_twice(tiny):
    problem = scale_tasks.problem("cora", 1.0, 4)
    found = []
    for _ in range(2):
        with scale_tasks.fresh_store() as store, threads(1):
            found.append(scale_tasks.fit(problem, Here(store, 1 << 30), judged=True))
            kinds = {path.name.partition("-")[0] for path in store.local.iterdir()}
    assert found[0]["hash"] == found[1]["hash"]
    assert {"solve", "finish", "project", "short", "find", "deal"} <= kinds
    with scale_tasks.fresh_store() as store:
        assert scale_tasks.fit(problem, Here(store, 1 << 30))["hash"] != found[0]["hash"]


def test_threads_bound_the_linear_algebra_as_well():
    with threads(1):
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}
        assert kernel_threads() == 1


def test_tables_are_made_before_memory_is_counted(tiny, tmp_path):
    with pytest.raises(InputError):  # an ingestion makes none
        scale_tasks.ingestion("cora", 1.0, 1e9)
    scale_tasks.tables("cora", 1.0)
    there = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert scale_tasks.ingestion("cora", 1.0, 1e9)["nodes"] == 600
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == there


def test_the_order_of_parts(case, monkeypatch):
    asked = []
    monkeypatch.setattr(scale.worker, "run", lambda task, **given: asked.append(task) or answer(task))
    scale.run(case, 1, lambda line: None, only=["ingestion", "workers"])
    assert asked == ["tables", "ingestion", "tables", "workers"]
