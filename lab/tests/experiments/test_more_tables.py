"""Tables beside the paper's: largest components, graphs apart, promises on bad data, options of the framework."""

from dataclasses import replace

from altopt.datasets import communities
from altopt.graph import Graph
from altopt_lab.experiments import context, reproduce
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import APART_CELLS, COMPONENT_CELLS, Cell, split_of
from altopt_lab.experiments.published import accuracy
from altopt_lab.experiments.robustness import FlippedLabels, RandomEdges
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.tables import PAPER_TABLES
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
