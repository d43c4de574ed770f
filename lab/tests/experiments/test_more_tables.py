"""Tables beside the paper's: largest components, graphs apart, promises on bad data, options of the framework."""

from dataclasses import replace

from altopt.datasets import communities
from altopt.datasets.splits import hide
from altopt.graph import Graph
from altopt_lab.experiments import context, reproduce
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import APART_CELLS, COMPONENT_CELLS, Cell, split_of
from altopt_lab.experiments.published import accuracy
from altopt_lab.experiments.robustness import FlippedLabels, RandomEdges
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.tables import PAPER_TABLES, costs, studies
from altopt_lab.experiments.tables.paper_table import RecordIndex, RunFilter
from altopt_lab.experiments.tuned import tuned_settings


def test_the_largest_component_is_a_cell_of_its_own(monkeypatch):
    whole = communities(n_nodes=400, n_classes=3, seed=1)
    A = whole.graph.adjacency.tolil()
    A[:20] = A[:, :20] = 0
    whole = replace(whole, graph=Graph(A.tocsr()), name="Photo")
    monkeypatch.setattr(context, "load", lambda name, folder: whole)
    cell = COMPONENT_CELLS[1]
    part = context.DatasetContexts()(cell.dataset).dataset
    assert part.X.shape[0] <= 380
    assert context.DatasetContexts()("Photo").dataset.X.shape[0] == 400
    assert len(split_of(part, "20", 0).validation) == 90, "split as Photo is"
    assert Run("ALT-OPT", cell, 0, 0).needs_dataset == "Photo"
    assert Run("ALT-OPT", cell, 0, 0).key != Run("ALT-OPT", Cell("Photo", "20"), 0, 0).key
    assert tuned_settings(METHODS["APPNP"], cell) == tuned_settings(METHODS["APPNP"], Cell("Photo", "20"))
    assert accuracy("ALT-OPT", cell) == 91.23
    wanted = reproduce.planned(["transductive"], RunFilter("Photo", "20"))
    assert cell in {work.cell for work in wanted}


def test_every_table_has_runs_and_shows_that_there_are_none_yet():
    for name in ("apart", "promises", "options"):
        table = PAPER_TABLES[name]
        assert table.plan(RunFilter())
        assert all("not run" in str(shown.rows) for shown in table.show(RecordIndex([])))


def test_promises_are_means_over_draws():
    flips = [{"key": FlippedLabels("Cora", k).key, "found": share} for k, share in enumerate((0.5, 0.7))]
    scores = {"AltOpt()": 60.0, "encoder alone": 58.0, "boosted trees": 61.0}
    edges = [{"key": RandomEdges("PubMed", 0).key, "scores": scores}]
    found, harm = PAPER_TABLES["promises"].show(RecordIndex(flips + edges))
    assert found.rows[0] == ("Cora", "60.0", "2")
    assert harm.rows[1] == ("PubMed", "60.00", "61.00", "boosted trees", "1")


def test_an_option_takes_the_place_of_one_part():
    from altopt_lab.experiments.option_methods import OPTIONS

    data = communities(n_nodes=150, n_classes=2, seed=0)
    place = context.DatasetContext(replace(data, name="Cora"))
    split = split_of(place.dataset, "30%", 0)
    for option in OPTIONS:
        fitted = option.fit(place, split, {}, 0)
        assert (fitted.labels[split.test] == data.y[split.test]).mean() > 0.7, option.name
    assert {cell.dataset for cell in APART_CELLS} == {"Wisconsin", "amherst41", "reed98"}


def test_k_updates_of_F_are_k_updates():
    line = {"setup_cpu": 1.0, "epoch_cpu": 2.0, "update_cpu": 10.0}
    assert costs.total(line, epochs=5, updates=3) == 1.0 + 5 * 2.0 + 3 * 10.0
    data = communities(n_nodes=60, n_classes=2, seed=0)
    for k in (1, 2):  # more would settle early on so small a graph
        model = AltOptConfig.from_settings(dict(studies.ROUNDS[f"ALT-OPT-{k}"])).model(seed=0)
        assert model.fit(data.X, hide(data.y, range(20)), data.graph).n_iter_ == k, "updates of F"
    assert dict(studies.ROUNDS["ALT-OPT-5"])["n_rounds"] == 4
