"""Benchmarks: who takes part, in which order, and that what is said follows from what was measured."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.arrays import one_hot
from altopt.cli.main import run
from altopt.datasets import communities
from altopt_lab.bench import (
    dense,
    diffusion,
    encoder,
    fit,
    formatting,
    graphs,
    growth,
    machine,
    memory,
    optional,
    propagate,
    registry,
    solve,
    targets,
    tasks,
    timing,
    update,
    worker,
)
from altopt_lab.bench.page import page
from altopt_lab.bench.report import Report, times_table
from altopt_lab.bench.timing import Contestant, Timing, Unavailable, race

TINY = replace(
    graphs.SIZES["cora"], name="cora", n_nodes=300, n_edges=900, n_classes=3, n_features=40, per_class=5
)


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch, tmp_path):
    """Sizes of a few hundred nodes, in a cache of their own, on a machine that is measured in no time."""
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ALTOPT_DATA", raising=False)
    monkeypatch.setitem(graphs.SIZES, "cora", TINY)
    monkeypatch.setattr(machine, "TRIAD_LENGTH", 1000)
    monkeypatch.setattr(machine, "SGEMM_SIZE", 16)
    monkeypatch.setattr(timing, "SAMPLE", 0.0)
    monkeypatch.setattr(timing, "PAUSE", 0.0)


@pytest.fixture
def case():
    return graphs.load(TINY)


def hush(line: str) -> None:
    pass


def who(table) -> list[str]:
    return [row["who"] for row in table.rows]


# the stopwatch


def test_contestants_take_turns():
    heard: list[str] = []
    three = [Contestant(name, lambda name=name: lambda: heard.append(name)) for name in "abc"]
    timings = race(three, repeats=2, cap=10.0)
    assert "".join(heard) == "abc" * 3  # once to warm up
    assert [len(timing.walls) for timing in timings] == [2, 2, 2]


def test_the_slow_rest_after_their_share_of_time():
    slow = Contestant("slow", lambda: lambda: None)
    [timing] = race([slow], repeats=5, cap=-1.0)
    assert len(timing.walls) == 1  # judged by its first run


def test_a_peer_that_fails_is_a_row_but_ours_must_not():
    def broken():
        raise ValueError("no such kernel")

    def absent():
        raise Unavailable("not in this build")

    [timing] = race([Contestant("peer", broken)], 1, 1.0)
    assert (timing.best, timing.note) == (None, "failed: ValueError: no such kernel")
    [timing] = race([Contestant("ours", absent, "ours")], 1, 1.0)
    assert (timing.best, timing.note) == (None, "not in this build")
    with pytest.raises(ValueError, match="no such kernel"):
        race([Contestant("ours", broken, "ours")], 1, 1.0)


def test_who_needs_too_much_memory_is_not_even_prepared():
    big = Contestant("big", lambda: pytest.fail("was prepared"), needs_gb=23.6)
    [timing] = race([big], 1, 1.0)
    assert timing.note == "skipped: would need 23.6 GB"


def test_ratios_are_best_over_best():
    timings = [
        Timing("roof", "roof", [0.1], [0.1]),
        Timing("ours", "ours", [2.0, 1.0, 4.0], [1.5, 2.0, 3.0]),
        Timing("peer", "peer", [7.0, 5.0], [6.0, 9.0]),
        Timing("gone", "peer", note="skipped"),
    ]
    roof, ours, peer, gone = times_table("one step", timings, "ours").rows
    assert (ours["best"], ours["median"], ours["cpu"], ours["ratio"]) == (1.0, 2.0, 1.5, 1.0)
    assert (peer["best"], peer["median"], peer["cpu"], peer["ratio"]) == (5.0, 6.0, 6.0, 5.0)
    assert (gone["best"], gone["ratio"], roof["ratio"]) == (None, None, None)


def test_a_part_of_the_work_is_scaled_up(monkeypatch):
    monkeypatch.setattr(timing, "sample", lambda job, count: (3.0, 2.0))
    [scaled] = race([Contestant("some steps", lambda: lambda: None, share=0.25)], 1, 100.0)
    assert (scaled.walls, scaled.cpus) == ([12.0], [8.0])


# the graphs


def test_a_size_is_what_it_says_and_generated_once(case):
    assert (len(case.indptr) - 1, case.nnz, case.X.shape) == (300, 2 * 900, (300, 40))
    A = case.adjacency()
    assert (A != A.T).nnz == 0
    assert A.diagonal().sum() == 0
    assert A.has_sorted_indices
    [folder] = graphs.cache_folder().iterdir()
    assert folder.name == f"cora-seed0-v{graphs.VERSION}"
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    again = graphs.load(TINY)
    assert before == {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    np.testing.assert_array_equal(again.indices, case.indices)
    assert (again.X != case.X).nnz == 0


def test_a_broken_off_generation_leaves_nothing(monkeypatch):
    def full(*_):
        raise OSError("disk full")

    monkeypatch.setattr(graphs.np, "save", full)
    with pytest.raises(OSError, match="disk full"):
        graphs.load(TINY)
    assert list(graphs.cache_folder().iterdir()) == []


def test_grown_graphs_keep_their_degrees():
    four = graphs.find("arxiv-4x")
    arxiv = graphs.SIZES["arxiv"]
    assert four.n_nodes == 4 * arxiv.growth_base
    assert four.n_edges / four.n_nodes == pytest.approx(arxiv.n_edges / arxiv.n_nodes, rel=1e-3)


# the benchmarks


def test_every_installed_peer_is_in_the_table_of_steps(case):
    report = propagate.run(case, 1, hush)
    [table] = report.tables
    names = who(table)
    assert names[:5] == [machine.TRIAD, *propagate.OURS]
    assert {"torch CSR, int32", "torch CSR, int64", "scipy CSR"} <= set(names)
    assert ("MKL" in names) == (optional.find(optional.MKL) is not None)
    assert any(name.startswith("PyG APPNP") for name in names) == (
        optional.find(optional.GEOMETRIC) is not None
    )
    assert report.not_installed == optional.missing(optional.MKL, optional.GEOMETRIC)
    measured = {row["who"]: row["best"] for row in table.rows}
    assert all(measured[name] for name in names if not name.startswith("altopt")), table.rows
    best = min(measured[name] for name in propagate.PRODUCTS if name in measured)
    assert report.measures["step_float32"] == pytest.approx(best / measured["altopt float32"])


def test_everyone_computes_the_same_product(case):
    F = np.random.default_rng(1).random((300, 3), dtype=np.float32)
    expected = case.operator.matrix @ F.astype(np.float64)
    for contestant in propagate.products(case, F):
        np.testing.assert_allclose(np.asarray(contestant.prepare()()), expected, rtol=1e-5, atol=1e-6)
    for contestant in propagate.geometric(case, F):
        if "propagate" in contestant.who:
            np.testing.assert_allclose(contestant.prepare()().numpy(), expected, rtol=1e-5, atol=1e-6)


def test_everyone_diffuses_alike(case):
    F = np.random.default_rng(0).random((300, 3), dtype=np.float32)
    results = [one.prepare()() for one in (*diffusion.ours(case, F), *diffusion.peers(case, F))]
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], atol=1e-5)
    report = diffusion.run(case, 1, hush)
    assert report.measures["diffuse_again"] > 0


def test_missing_peers_are_named_and_nothing_fails(case, monkeypatch, capsys):
    for module in optional.MODULES.values():
        monkeypatch.setitem(sys.modules, module, None)
    assert run(["bench", "propagate", "--size", "cora", "--repeats", "1", "--quiet"]) == 0
    said = capsys.readouterr().out
    assert "not installed: MKL (sparse_dot_mkl), PyTorch Geometric" in said
    assert "torch CSR" in said
    assert "PyG" not in said


def test_solvers_reach_the_target_in_the_fewest_steps(case):
    task = solve.make(case, 0.5, 5.0, hush)
    for contestant in (
        *(ours := solve.our_solvers(task, hush)),
        *solve.plain_steps(task, ours[3].facts["steps"]),
    ):
        contestant.prepare()()
        assert contestant.facts["error"] <= 1.001 * solve.TARGET, contestant.who
    paper = next(solver for solver in ours if solver.who == solve.PAPER)
    assert paper.facts["steps"] > 1
    fewer = solve.GradientSteps(n_steps=paper.facts["steps"] - 1).solve(task.objective, task.Y)
    assert solve.error(task, fewer.F) > solve.TARGET


@pytest.mark.parametrize("least", [1, 2, 3, 17, 64])
def test_the_fewest_steps_are_found(least):
    assert solve.fewest(lambda k: k >= least) == least


def test_the_solve_report(case):
    report = solve.run(case, 1, hush)
    first, second, whole = report.tables
    assert solve.TORCH in who(first)
    assert who(first) == who(second)
    assert "scikit-learn LabelSpreading" in who(whole)
    assert report.measures["F"] > 0
    json.dumps(report.record(), allow_nan=False)


def test_the_encoder_report(case):
    report = encoder.run(case, 1, hush)
    [table] = report.tables
    measured = {row["who"]: row["best"] for row in table.rows}
    assert report.measures["epoch_full"] == pytest.approx(
        measured["eager torch, full batch, dropout"] / measured["altopt, full batch, dropout"]
    )
    assert len(table.rows) == 2 + 8


def made_up(task: str, **arguments) -> dict:
    """Stands in for a process: the larger n_steps or size, the more it takes."""
    large = 3.0 if arguments.get("n_steps") == 30 or task == "five_rounds" else 2.0
    found = {"seconds": large, "cpu": large, "peak_gb": large, "before_gb": 1.0, "empty_gb": 0.5}
    if task == "default_fit":
        times = int(arguments["size"].split("-")[1][:-1]) if "-" in arguments["size"] else 1
        found |= {"seconds": 2.0 * times**1.1, "peak_gb": 0.5 + times, "accuracy": 0.9, "rounds": 4}
    return found


def test_the_fit_report(case, monkeypatch):
    monkeypatch.setattr(worker, "run", made_up)
    report = fit.run(case, 1, hush)
    epochs, five = report.tables
    assert fit.OURS in who(epochs)
    if not report.not_installed:
        assert fit.APPNP_CSR in who(epochs)
        row = next(row for row in epochs.rows if row["who"] == fit.APPNP_CSR)
        assert row["many"] == pytest.approx(200 * row["best"])
        assert report.measures["epochs_of_appnp"] == pytest.approx(1 / row["ratio"])
    assert who(five) == ["ALT-OPT-5", "its encoder alone", fit.EAGER]
    assert report.measures["five_rounds_time"] == pytest.approx(1.5)
    assert any("raw files of Cora" in note for note in report.notes)


def test_the_memory_report(case, monkeypatch):
    monkeypatch.setattr(worker, "run", made_up)
    report = memory.run(case, 1, hush)
    assert report.measures["n_steps"] == pytest.approx(1.5)
    assert report.measures["default_gb"] == pytest.approx(1.5)


def test_the_growth_report(case, monkeypatch):
    monkeypatch.setattr(worker, "run", made_up)
    monkeypatch.setitem(graphs.SIZES, "cora", replace(TINY, growth_base=300))
    report = growth.run(replace(case, size=graphs.SIZES["cora"]), 1, hush)
    [table] = report.tables
    assert [row["per_node_memory"] for row in table.rows] == pytest.approx([1, 1, 1, 1])
    assert [row["per_node_time"] for row in table.rows] == pytest.approx([1, 2**0.1, 4**0.1, 8**0.1])
    assert report.measures["time"] == pytest.approx(8**0.1)


def test_the_update_report(case):
    report = update.run(case, 5, hush)
    [table] = report.tables
    assert [row["who"] for row in table.rows] == ["full solve", "update, one label", "explain, one node"]
    assert table.rows[1]["touched"] <= 300
    assert report.measures["ledger"] <= 1e-5
    assert report.measures["p99_ms"] > 0


# in a process of its own


def test_a_dense_graph_is_updated_and_compared(monkeypatch):
    made = communities(300, 2, seed=0)
    train = np.arange(300) % 2 == 0
    splits = {"train": train[None], "validation": ~train[None], "test": ~train[None]}
    graph = replace(made, splits=splits)
    monkeypatch.setattr(dense, "available", lambda: {"Tolokers": True})
    monkeypatch.setattr(dense, "load", lambda name: graph)
    monkeypatch.setattr(dense, "LABELS", 3)
    monkeypatch.setattr(dense, "FITS", 1)
    monkeypatch.setattr(dense, "SPLITS", 1)
    report = Report("update", "cora", "", 1)
    dense.update_by_a_label(report, hush)
    dense.beside_boosted_trees(report, hush)
    assert report.measures.keys() == {"dense_update", "boosted_trees", "dense_auc"}
    update = report.tables[0].rows[1]
    assert 0 < update["ratio"] < 1
    assert update["error"] < 1e-3
    monkeypatch.setattr(dense, "available", lambda: {"Tolokers": False})
    dense.update_by_a_label(report, hush)
    assert "not measured" in report.notes[0]


def test_a_task_in_its_own_process_reports_its_own_memory():
    ballast = np.ones(40_000_000)  # this process's size must not show in the child's
    found = worker.run("nothing")
    assert 0 < found["peak_gb"] < worker.resident_gb() - ballast.nbytes / 2e9
    with pytest.raises(RuntimeError, match="no_such_task did not finish: AttributeError"):
        worker.run("no_such_task")


def test_tasks_measure_what_they_do(case, tmp_path):
    found = tasks.default_fit("cora")
    assert found["peak_gb"] >= found["before_gb"] > 0
    assert found["accuracy"] > 0.5
    assert tasks.paper_fit("cora", n_steps=3)["seconds"] > 0
    tasks.five_rounds("cora", total_epochs=10, recording=str(tmp_path))
    assert len(list(tmp_path.glob("*-X.npy"))) == 5  # a warm-up, and the encoder between five updates of F
    assert tasks.encoder_alone("cora", str(tmp_path))["seconds"] > 0
    assert tasks.encoder_eager("cora", str(tmp_path))["peak_gb"] > 0
    if optional.find(optional.GEOMETRIC):
        assert tasks.appnp_epoch("cora", "CSR", 2)["seconds"] > 0


# goals, words and the page


def record(bench: str, size: str, **measures: float) -> dict:
    rows = [
        Timing("altopt, dropout", "ours", [1.0], [1.0], facts={"gflops": 50.0}).row(1.0),
        Timing("a | b", "peer", note="skipped: would need 23.6 GB").row(1.0),
    ]
    table = {"title": "one step", "columns": ["who", "best", "ratio", "note"], "rows": rows}
    return {
        "bench": bench,
        "size": size,
        "facts": "10 nodes, seed 0",
        "tables": [table],
        "measures": {"stream_gb_s": 20.0, "sgemm_gflops": 100.0, "step_gb_s": 15.0, **measures},
        "notes": ["STREAM triad in this run: 20.0 GB/s."],
        "not_installed": ["MKL (sparse_dot_mkl)"],
        "machine": machine.describe(),
        "made": "2026-01-01 00:00",
    }


def test_goals_are_met_at_the_bound_and_not_beyond_it():
    def outcome(value):
        verdicts = targets.judge([record("propagate", "arxiv", step_float32=value)])
        [verdict] = [v for t, v in verdicts if (t.size, t.measure) == ("arxiv", "step_float32")]
        return verdict.outcome

    assert [outcome(value) for value in (3.49, 3.5, 9.0)] == ["not met", "met", "met"]
    [most] = [v for t, v in targets.judge([record("growth", "arxiv", time=1.2)]) if t.measure == "time"]
    assert most.outcome == "not met"
    assert {verdict.outcome for _, verdict in targets.judge([])} == {"not run"}


def test_every_goal_names_a_benchmark_and_a_size():
    benches = {*registry.BENCHES, "whole", "cost"}  # of `scale_whole` and `scale_cost`
    assert all(target.bench in benches and target.size in graphs.SIZES for target in targets.TARGETS)


def test_the_page_shows_the_last_record_of_each():
    records = [
        record("propagate", "arxiv", step_float32=2.0),
        record("propagate", "arxiv", step_float32=3.9, step_float16=4.2),
        record("encoder", "arxiv", epoch_full=2.5),
    ]
    text = page(records)
    assert "float32 | arxiv | at least 3.5x | 3.9x | met |" in text
    assert "float16 storage | arxiv | at least 5x | 4.2x | not met |" in text
    assert "float32 | products | at least 2.8x | - | not run |" in text
    assert "| step, float32, arxiv | 15.0 GB/s of logical traffic | STREAM triad 20.0 GB/s | 0.75 |" in text
    assert "| encoder epoch with dropout, arxiv | 50 GFLOP/s | sgemm 100 GFLOP/s | 0.50 |" in text
    assert text.count("### One propagation step: arxiv") == 1
    assert "| a / b | - | - | skipped: would need 23.6 GB |" in text
    assert "Not installed: MKL (sparse_dot_mkl)." in text
    assert machine.cpu_model() in text
    assert "Nothing has been recorded yet." in page([])


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.000001234, "1.23 us"),
        (0.0123, "12.3 ms"),
        (1.5, "1.50 s"),
        (146e-6, "146 us"),
        (12345.0, "12,345 s"),
    ],
)
def test_durations_have_three_digits(seconds, said):
    assert formatting.duration(seconds) == said


# the command


def test_the_command_records_and_prints_json(tmp_path, capsys):
    file = tmp_path / "new" / "bench.jsonl"
    call = ["bench", "propagate", "--size", "cora", "--repeats", "1", "--json", "--record", str(file)]
    assert run(call) == 0
    said = capsys.readouterr()
    [line] = said.out.splitlines()
    found = json.loads(line)
    assert (found["bench"], found["size"], found["repeats"]) == ("propagate", "cora", 1)
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["versions"]["torch"]
    assert "round 1 of 1" in said.err
    assert file.read_text() == line + "\n"
    assert "### One propagation step: cora" in page([found])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            ["bench", "speed"],
            "Error: WHAT must be one of propagate, diffuse, solve, encoder, fit, memory, growth, update, scale or all",
        ),
        (
            ["bench", "solve", "--size", "huge"],
            "Error: size must be one of cora, arxiv, products, but is 'huge'.",
        ),
        (["bench", "solve", "--repeats", "0"], "Error: Invalid value for '--repeats'"),
        (["bench", "solve", "--record", "/dev/null/x"], "Error: --record /dev/null/x cannot be written"),
    ],
)
def test_a_wrong_call_is_one_sentence(call, said, capsys):
    assert run(call) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(said)
    assert found.err.count("\n") == 1


def test_a_peers_matrix_is_the_one_we_use(case):
    A = sp.csr_array((case.values, case.indices, case.indptr), shape=(300, 300))
    assert abs(A - case.operator.matrix).max() < 1e-6
    assert one_hot(case.known(), 3).sum() == len(case.train) == 15
