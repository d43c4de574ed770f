"""Tuning: by validation accuracy alone, not twice the same, going on where it was; and the files it leaves."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from stand_ins import StandIn, small_context

from altopt_lab.experiments import config, methods, tuned, tuning
from altopt_lab.experiments.altopt_methods import AltOptMethod
from altopt_lab.experiments.protocols import TUNING_SPLITS, Cell, split_of
from altopt_lab.metrics import accuracy
from altopt_lab.records import Records, read_records

pytest.importorskip("optuna")
CELL = Cell("Cora", "30%")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tuned, "FOLDER", tmp_path / "settings")
    return tmp_path


def chosen(folder, method, cell=CELL, **effort):
    with Records(folder / "tuning.jsonl") as records:
        context, effort = small_context(cell.dataset), tuning.Effort(**{"n_trials": 6, **effort})
        return tuning.tune(method, cell, context, records, effort)


def test_the_best_on_validation_labels_is_chosen_and_kept(folder):
    method = StandIn()
    entry = chosen(folder, method)
    assert entry["settings"]["good"] == 0.9
    assert "useless" not in entry["settings"]
    assert set(entry["splits"]) <= set(TUNING_SPLITS)
    assert tuned.tuned_settings(method, CELL)[0] == entry["settings"]
    assert tuned.tuned_settings(method, Cell("Cora", "60%"))[0] == entry["settings"], "one for all shares"
    assert tuned.tuned_settings(method, Cell("PubMed", "5")) == ({}, "defaults: not tuned")


def test_settings_that_mean_the_same_are_tried_once(folder):
    chosen(folder, StandIn())
    tried = [(str(line["settings"]), line["split_seed"]) for line in read_records(folder / "tuning.jsonl")]
    assert len(tried) == len(set(tried))


def test_it_goes_on_from_the_record(folder):
    chosen(folder, StandIn(), n_trials=3)
    n_first = len(read_records(folder / "tuning.jsonl"))
    more = StandIn()
    chosen(folder, more)
    assert len(read_records(folder / "tuning.jsonl")) == n_first + len(more.fits)
    again = StandIn()
    chosen(folder, again)
    assert again.fits == []


def test_validation_nodes_count_by_the_size_of_their_class():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [8000, 1500, 500])
    nodes = np.concatenate([rng.choice(np.flatnonzero(y == k), 100, replace=False) for k in range(3)])
    for rights in ((0.9, 0.6, 0.6), (0.6, 0.9, 0.9), (0.97, 0.3, 0.2)):
        right = rng.random(len(y)) < np.array(rights)[y]
        labels = np.where(right, y, (y + rng.integers(1, 3, len(y))) % 3)
        truth = accuracy(labels, y, np.arange(len(y)))
        far = abs(accuracy(labels, y, nodes) - truth)
        assert abs(tuning.by_class_size(labels, y, nodes) - truth) < 0.8 * far
    assert tuning.by_class_size(np.zeros_like(y), y, nodes) == pytest.approx(1 / 3), "one name for everything"
    assert Cell("Physics", "20").stratified_validation
    assert not any(
        Cell(*names).stratified_validation
        for names in (("Cora", "20"), ("CS", "inductive"), ("Photo", "30%"))
    )


def test_scores_that_count_nodes_otherwise_are_not_mixed_in(folder):
    cell, path = Cell("Physics", "20"), folder / "tuning.jsonl"
    chosen(folder, StandIn(), cell)
    assert all(line["by_class_size"] for line in read_records(path))
    first = {"good": 0.1, "slow": False}
    chosen(folder, again := StandIn(), cell)
    assert first not in [settings for settings, _ in again.fits]
    plain = [line for line in read_records(path) if line.pop("by_class_size")]
    path.write_text("".join(json.dumps(line) + "\n" for line in plain))
    chosen(folder, anew := StandIn(), cell)
    assert first in [settings for settings, _ in anew.fits]


class Grown(StandIn):
    """The stand-in after something was added to what is chosen."""

    def space(self, *, inductive=False):
        return super().space() | {"new": (False, True)}


def test_a_space_that_grew_is_searched_again(folder):
    chosen(folder, StandIn())
    grown = Grown()
    assert chosen(folder, grown)["trials"] > 6
    assert len({str(settings) for settings, _ in grown.fits if "new" in settings}) == 6
    assert any(settings["new"] for settings, _ in grown.fits if "new" in settings)


def test_tuning_is_not_even_given_test_nodes(folder, monkeypatch):
    def without_test(dataset, rate, seed):
        return replace(split_of(dataset, rate, seed), test=None)

    monkeypatch.setattr(tuning, "split_of", without_test)
    method = StandIn()
    chosen(folder, method)
    assert len(method.fits) > 6


def test_slow_settings_are_not_chosen(folder):
    class Slow(StandIn):
        def fit(self, context, split, settings, seed):
            if settings["good"] == 0.9:
                sum(k * k for k in range(2_000_000))
            return super().fit(context, split, settings, seed)

    entry = chosen(folder, Slow(), longest_fit=0.04)
    assert entry["settings"]["good"] == 0.5


def test_the_committed_settings_are_from_the_search_space():
    assert tuned.problems() == []


@pytest.mark.parametrize("method", [m for m in methods.ALL if m.tuned_by is not None], ids=lambda m: m.name)
def test_the_committed_settings_make_models(method):
    for name, entry in tuned.read(tuned.file_of(method.name)).items():
        if not name.endswith("given"):
            assert set(entry["splits"]) <= set(TUNING_SPLITS), "chosen on splits that are reported"
        if isinstance(method, AltOptMethod):
            config.AltOptConfig.from_settings(entry["settings"]).model(0)
        else:
            method.kind(**entry["settings"])


def test_a_peer_has_settings_for_numbers_of_labels_and_others_for_shares(folder, monkeypatch):
    monkeypatch.setattr(tuned, "FOLDER", folder)
    peer, of_numbers, of_share = methods.METHODS["SGC"], Cell("Cora", "20"), Cell("Cora", "30%")
    assert tuned.tuned_settings(peer, of_share)[1] == "defaults: not tuned"
    tuned.write("SGC", "Cora", {"settings": {"n_steps": 2}})
    assert tuned.tuned_settings(peer, of_share) == ({"n_steps": 2}, "sgc.json: Cora")
    tuned.write("SGC", "Cora by share", {"settings": {"n_steps": 3}})
    assert tuned.tuned_settings(peer, of_share) == ({"n_steps": 3}, "sgc.json: Cora by share")
    assert tuned.tuned_settings(peer, of_numbers) == ({"n_steps": 2}, "sgc.json: Cora")


def test_a_search_begins_with_what_was_chosen_elsewhere_under_the_same_protocol(folder, monkeypatch):
    monkeypatch.setattr(tuned, "FOLDER", folder)
    for name, n_steps in (("Cora", 2), ("Cora by share", 3), ("PubMed", 3)):
        tuned.write("SGC", name, {"settings": {"n_steps": n_steps}})
    assert tuned.chosen_elsewhere(methods.METHODS["SGC"], "CiteSeer") == [{"n_steps": 2}, {"n_steps": 3}]
    assert tuned.chosen_elsewhere(methods.METHODS["SGC"], "CiteSeer by share") == [{"n_steps": 3}]
    assert tuned.chosen_elsewhere(methods.METHODS["SGC"], "PubMed") == [{"n_steps": 2}]


def test_what_is_on_record_was_run_under_the_settings_on_file():
    """The newest runs of each row; a study changes some settings and keeps the others."""
    newest = {}
    for line in read_records(ROOT / "results" / "runs.jsonl"):
        if "test_accuracy" in line:
            place = (line["method"], line["dataset"], line["rate"], repr(line.get("changed")))
            newest[place] = line
    assert newest
    stale = []
    for (name, dataset, rate, _), line in newest.items():
        if name.startswith("always ") and name not in methods.METHODS:
            continue  # a plan of an earlier recipe
        method, changed = methods.METHODS[name], line.get("changed") or {}
        chosen = method.full_settings(
            tuned.tuned_settings(method, Cell(dataset, rate))[0], inductive=rate == "inductive"
        )
        if {k: v for k, v in line["settings"].items() if k not in changed} != {
            k: v for k, v in chosen.items() if k not in changed
        }:
            stale.append(line["key"])
    assert not stale, "\n".join(stale)
