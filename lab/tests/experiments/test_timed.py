"""What is timed: the parts add up to a training, and more updates of F cost more."""

import pytest
from stand_ins import small_context

from altopt_lab.bench.worker import WorkerError
from altopt_lab.experiments import timing_tasks
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.tables.costs import cost_rows, total
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.timed import Cost, EpochTime


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ALTOPT_CACHE", str(tmp_path))


def test_the_parts_of_our_training():
    found = timing_tasks.ours("cora", n_epochs=3)
    assert found["epoch_cpu"] > 0
    assert min(found["update_cpu"], found["setup_cpu"]) >= 0
    assert found["n_rows"] > found["n_labels"] > 100
    assert found["peak_gb"] > 0
    assert total(found, 100, 5) >= total(found, 100, 1) >= total(found, 100, None)
    line = found | {"key": Cost("ALT-OPT", "arxiv").key}
    assert Cost("ALT-OPT", "arxiv").is_current(line)
    assert not Cost("ALT-OPT", "arxiv").is_current({"key": line["key"]})
    rows = {name: seconds for name, _, seconds in cost_rows(RecordIndex([line]), "arxiv")}
    assert rows["MLP"] is None
    assert rows["ALT-OPT-1"] <= rows["ALT-OPT-5"] <= rows["ALT-OPT-Full"]


def test_a_task_that_breaks_is_a_record(monkeypatch):
    def broken(task, **arguments):
        raise WorkerError(f"{task} did not finish: out of memory")

    monkeypatch.setattr("altopt_lab.experiments.timed.worker.run", broken)
    assert Cost("GCN", "cora").perform(None)["failed"] == "network did not finish: out of memory"


@pytest.mark.parametrize("method", ["MLP", "SGC", "SIGN"])
def test_networks_train_on_the_rows_they_should(method):
    found = timing_tasks.network(method, "cora", n_epochs=2)
    assert found["epoch_cpu"] > 0
    assert found["epochs_timed"] == 2


@pytest.mark.parametrize("method", ["MLP", "ALT-OPT-Full on reduced inputs"])
def test_an_epoch_is_what_a_longer_training_takes_more(method):
    line = EpochTime(method, Cell("Cora", "30%"), n_epochs=30).perform(lambda name: small_context())
    assert line["milliseconds"] > 0
