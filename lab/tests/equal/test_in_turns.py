"""Timing in turns: each part by itself and above zero, and trainings put together from them."""

import pytest

from altopt_lab.equal.in_turns import (
    ENCODER,
    PARTS,
    PREDICTION,
    SELECTION,
    UPDATE,
    InTurns,
    in_turns,
    trainings,
)
from altopt_lab.experiments.tables import turns
from altopt_lab.experiments.tables.paper_table import RecordIndex


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALTOPT_CACHE", str(tmp_path_factory.mktemp("graphs")))
        return in_turns("cora", n_turns=2, cap=20.0)


def test_an_update_of_F_takes_time_of_its_own(line):
    assert set(PARTS) <= line["times"].keys()
    assert not line["notes"]
    for found in line["times"].values():
        assert min(found["wall"], found["cpu"], found["least_wall"]) > 0
        assert found["runs"] == 2


def test_a_training_is_its_epochs_and_its_updates(line):
    total, times = trainings(line, 10), {name: found["wall"] for name, found in line["times"].items()}
    once = times[UPDATE] + times[SELECTION] + times[PREDICTION]
    assert total["APPNP"] == pytest.approx(10 * times["APPNP"])
    assert total["ALT-OPT-5"] - total["ALT-OPT-1"] == pytest.approx(4 * once)
    assert total["ALT-OPT-Full"] - total["ALT-OPT-5"] == pytest.approx(5 * once)
    assert total["ALT-OPT-1"] > 10 * times[ENCODER]
    assert "ALT-OPT-5, mini-batches" in total


def test_the_table_shows_parts_and_trainings(line):
    index = RecordIndex([line | {"key": InTurns("arxiv").key}])
    arxiv, products = turns.show(index)
    names = [row[0] for row in arxiv.rows]
    assert f"ALT-OPT: {UPDATE}" in names
    assert "ALT-OPT-Full" in names
    assert products.rows[0][0] == "not run"
