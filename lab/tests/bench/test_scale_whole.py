"""Whole fits on files: what is recorded, what a stopped run does again, and the limit of all memory."""

from dataclasses import replace
from importlib import import_module

import pytest

from altopt.scale.plan import Plan
from altopt_lab.bench import graphs, memory_group, scale_page, scale_whole, worker
from altopt_lab.bench.memory_group import Kind, drop_cached
from altopt_lab.bench.page import page
from altopt_lab.bench.scale_bits import BUDGETS
from altopt_lab.experiments.work import made_on_files


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A size of a few hundred nodes; workers are calls, so that they know it."""
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path / "cache"))
    size = replace(graphs.SIZES["cora"], n_nodes=600, n_edges=1500, n_classes=4, n_features=20)
    monkeypatch.setitem(graphs.SIZES, "cora", size)
    asked = []

    def run(task, *, tasks, group=None, **arguments):
        asked.append(task)
        return getattr(import_module(tasks), task)(**arguments)

    monkeypatch.setattr(worker, "run", run)
    return asked


def test_a_fit_beside_the_one_in_memory_is_recorded_and_told(tiny, tmp_path):
    record = scale_whole.beside("cora", 1e9, None) | made_on_files()
    assert tiny == ["tables", "ingestion", "in_memory", "on_files", "compared"]
    assert record["same"] > 0.8
    assert record["on_files"]["limit"] == "none was asked for"
    assert record["fit_code"]
    told = tmp_path / "page.md"
    told.write_text("before\n<!-- whole -->\nold\n<!-- end -->\nafter")
    scale_page.write_page([record], told)
    assert "without a cgroup (none was asked for)" in told.read_text()
    assert "old" not in told.read_text()
    assert "## Whole fits on files" in page([record])
    at_size = page([record | {"size": "products", "measures": record["measures"] | {"files_times": 1.4}}])
    assert "against the fit in memory | products | at most 1.5x | 1.4x | met |" in at_size


def test_a_large_fit_goes_on_after_its_last_stage(tiny, monkeypatch, tmp_path):
    fitted = scale_whole.on_files

    def stopped(**arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(scale_whole, "on_files", stopped)
    with pytest.raises(KeyboardInterrupt):
        scale_whole.large("cora", 2.0, 1e9, None)
    assert not list((tmp_path / "cache").glob("large-*/edges"))
    monkeypatch.setattr(scale_whole, "on_files", fitted)
    record = scale_whole.large("cora", 2.0, 1e9, None)
    assert tiny == ["tables", "ingestion", "on_files", "on_files", "right"]
    assert (record["nodes"], record["edges"]) == (1200, 3000)
    assert record["right"] > 0.5
    assert "without a cgroup" in scale_page.in_words([record])
    assert list((tmp_path / "cache").iterdir()) == []


TASK = """
AT_IMPORT = open("/proc/self/cgroup").read()

def belongs_to(n_bytes=0):
    return {"groups": AT_IMPORT, "held": len(b"x" * n_bytes)}
"""


def groups():
    with memory_group.memory_group(1e9) as group:
        return group.folder is not None


@pytest.mark.skipif(not groups(), reason="no cgroup can be made here")
def test_a_worker_is_in_its_group_and_the_group_goes_even_if_it_was_killed(tmp_path, monkeypatch):
    (tmp_path / "a_task.py").write_text(TASK)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with memory_group.memory_group(1e9) as group:
        folder = group.folder
        found = worker.run("belongs_to", tasks="a_task", group=folder)
    assert folder.name in found["groups"]
    assert group.told["limit_gb"] == 1.0
    assert 0.001 < group.told["with_cache_gb"] <= 1.0
    assert not folder.exists()
    with pytest.raises(worker.WorkerError, match="out of memory"), memory_group.memory_group(6e7) as group:
        worker.run("belongs_to", tasks="a_task", group=group.folder, n_bytes=2 * 10**9)
    assert not folder.exists()


def test_where_no_group_can_be_made_the_record_says_so(monkeypatch, tmp_path):
    (tmp_path / "plain").mkdir()
    kinds = [Kind(tmp_path / name, "limit", "peak") for name in ("absent/here", "plain")]
    monkeypatch.setattr(memory_group, "KINDS", kinds)
    with memory_group.memory_group(1e9) as group:
        assert group.folder is None
    assert "none could be made" in group.told["limit"]
    assert list((tmp_path / "plain").iterdir()) == []


def test_cached_pages_are_given_back_and_the_files_stay(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(b"some")
    drop_cached(tmp_path)
    assert (tmp_path / "in" / "file").read_bytes() == b"some"


def test_a_record_of_bits_says_in_how_many_panels_they_are_the_same():
    record = {"bench": "same bits", "problem": "arxiv", "hashes": {"60 MB": "f0", "Ray, 2 workers": "f0"}}
    record |= {"one_hash": True, "killed_in": ["solve panel"], "F_error": 1e-6, "same_argmax": 1.0}
    record |= {"panels": {"60 MB": 1, "Ray, 2 workers": 5}, "same_labels": 0.9999}
    told = scale_page.in_words([record])
    assert "the same bits of F by 60 MB; Ray, 2 workers (1 kinds), F in 1 and 5 panels." in told
    assert "its largest column is the same on 100.000% of the nodes, and the label on 99.990%" in told
    assert "F in 1 panel." in scale_page.in_words([record | {"panels": {"60 MB": 1}}])


def test_workers_of_the_same_bits_share_several_panels_where_the_graph_has_room():
    graph = graphs.SIZES["arxiv"]
    plan = Plan.of(graph.n_nodes, graph.n_classes, graph.n_features, int(min(BUDGETS["arxiv"])), "float32")
    assert len(plan.f_columns) == 5
