"""The cost model fitted to records: constants come back, errors and the page follow, measuring goes on where it was."""

from dataclasses import asdict, replace

import pytest

from altopt.errors import InputError
from altopt.scale import cost
from altopt.scale.cost import Constants, Parts, Size, cost_of
from altopt.scale.probe import Rates
from altopt_lab.bench import scale_cost
from altopt_lab.bench.scale_cost import FITTED, HELD_OUT, errors, fitted_constants
from altopt_lab.bench.targets import judge
from altopt_lab.records import append_record, read_records

TRUE = Constants(1.3, 2.0, 0.02, 2e-10, 0.5, 6e-7, 1e-8, 3e8, 12.0, 3.4e8, 20.0, 10.0)
RATES = Rates(read=1e9, write=1e9, entry=2e-10, flops=4e10)


def record(case, slower=1.0):
    """What would be measured of a case if the model with TRUE were right."""
    name, times, memory = case
    n, e, c, d = {"arxiv": (169_343, 1_166_243, 40, 128), "products": (2_449_029, 61_859_140, 47, 100)}[name]
    size = Size(round(times * n), 2 * round(times * e), d, c, round(times * n / 10))
    parts, edges = Parts(size, memory, RATES), size.n_entries / 2
    fitting = cost_of(size, memory, RATES, constants=replace(TRUE, tables=0.0, edge=0.0, number=0.0)).seconds
    read = TRUE.tables + TRUE.edge * edges + TRUE.number * size.n_nodes * d
    peak = TRUE.process + TRUE.row * size.n_labels * (size.n_inputs + c) + parts.in_memory
    more = max(min(TRUE.of_edge * edges, memory / 2), TRUE.of_number * min(size.n_nodes, cost.ROWS) * d)
    return {
        "bench": scale_cost.BENCH,
        "case": list(case),
        "problem": asdict(size),
        "rates": asdict(RATES),
        "reading": {"seconds": read * slower, "peak_gb": (TRUE.reading + more) / 1e9},
        "fitting": {"seconds": fitting * slower, "peak_gb": peak / 1e9},
        "fit_code": "f0",
    }


def test_constants_come_back_and_hold_elsewhere():
    records = [record(case) for case in (*FITTED, *HELD_OUT)]
    found = fitted_constants(records)
    rows = errors(records, found)
    assert {row["note"] for row in rows} == {"fitted", "held out"}
    assert max(abs(row["time_error"]) for row in rows) < 0.02
    assert max(abs(row["memory_error"]) for row in rows) < 0.05
    assert found.load == pytest.approx(TRUE.load, rel=0.05)
    with pytest.raises(InputError, match="1 of 7 cases are on record; measure at least 4 first"):
        fitted_constants(records[:1])


def test_errors_are_those_of_sizes_that_were_not_fitted_to():
    records = [record(case) for case in FITTED] + [record(case, slower=1.25) for case in HELD_OUT]
    judged = scale_cost.verdict(records, fitted_constants(records))
    assert judged["measures"]["cost_time"] == pytest.approx(0.2, abs=0.01)
    assert judged["measures"]["cost_memory"] < 0.05
    said = {target.measure: verdict.outcome for target, verdict in judge([judged], only=("cost", "products"))}
    assert said["cost_memory"] == "met"


def test_the_page_says_errors_and_very_large_graphs(monkeypatch, tmp_path):
    where, page, model = tmp_path / "scale.jsonl", tmp_path / "page.md", tmp_path / "cost.py"
    for case in (*FITTED, *HELD_OUT):
        append_record(where, record(case))
    page.write_text("a\n<!-- cost -->\n<!-- end -->\nb\n<!-- whole -->\n<!-- end -->\n")
    model.write_text("before\nCONSTANTS = Constants(\n    load=1.0,\n)\nafter\n")
    monkeypatch.setattr(cost, "__file__", str(model))
    call = ["scale_cost", "fit", "--record", str(where), "--write", "--page", str(page)]
    monkeypatch.setattr("sys.argv", call)
    scale_cost.main()
    text = page.read_text()
    assert "Fitted to 7 whole fits, ingestion and predictions included, and held to 5 others" in text
    assert text.count("| ogbn-papers100M |") == 2
    assert text.endswith("b\n<!-- whole -->\n<!-- end -->\n")
    scope: dict = {"Constants": cost.Constants}
    exec(model.read_text().removeprefix("before\n").removesuffix("after\n"), scope)
    assert scope["CONSTANTS"] == fitted_constants(read_records(where))
    assert read_records(where)[-1]["bench"] == "cost"


def test_measuring_goes_on_after_what_is_on_record(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(scale_cost, "measure", lambda case: asked.append(case) or record(case))
    monkeypatch.setattr(scale_cost, "made_on_files", lambda: {"fit_code": "f0"})
    append_record(tmp_path / "scale.jsonl", record(FITTED[0]))
    append_record(tmp_path / "scale.jsonl", record(FITTED[1]) | {"fit_code": "of old code"})
    scale_cost.measure_all(tmp_path / "scale.jsonl", None)
    assert sorted(asked) == sorted({*FITTED, *HELD_OUT} - {FITTED[0]})
    asked.clear()
    scale_cost.measure_all(tmp_path / "scale.jsonl", [["products", "0.5", "2GB"]])
    assert asked == []


def test_a_small_case_is_measured_in_processes_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path))
    found = scale_cost.measure(("arxiv", 1 / 256, 1e9))
    assert found["problem"]["n_nodes"] == 661
    assert found["fitting"]["seconds"] > 0
    assert 0.1 < found["reading"]["peak_gb"] < 2.0
    assert not list(tmp_path.glob("cost-*"))
    assert Rates(**found["rates"]).read > 0
