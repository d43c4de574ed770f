"""A new fit into a folder in which labels were given: they are neither used without a word nor lost."""

import numpy as np
import pyarrow as pa
from pyarrow import csv

from altopt import AltOpt
from altopt.cli.explore.session import Session
from altopt.cli.main import run
from altopt.datasets import communities
from altopt.datasets.splits import per_class


def test_labels_given_in_a_session_outlive_a_new_fit(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = communities(120, 2, mean_degree=6.0, n_features=6, signal=0.5, seed=0)
    A = data.graph.adjacency.tocoo()
    shown = per_class(data.y, 5, 0, 0, seed=0).train
    csv.write_csv(pa.table({"source": A.row, "target": A.col}), "links.csv")
    csv.write_csv(pa.table({"node": shown, "label": data.y[shown]}), "labels.csv")
    fit = ["fit", "--edges", "links.csv", "--labels", "labels.csv", "--out", "fit", "--quiet"]
    assert run(fit) == 0
    assert "took no part" not in capsys.readouterr().err
    folder = tmp_path / "fit" / "model"
    session = Session(folder, in_background=False)
    kept, undone, in_table = np.flatnonzero(~session.fitted.labelled)[:3].tolist()
    for at in (kept, undone, in_table):
        session.label(at, 0, "ann" if at == undone else "")
    session.undo("ann")
    names = {at: session.name(at) for at in (kept, undone, in_table)}
    session.close()
    (tmp_path / "labels.csv").write_text(
        (tmp_path / "labels.csv").read_text() + f"{names[in_table]},{data.y[shown[0]]}\n"
    )
    for _ in range(2):  # also where nobody opened the page between two fits
        assert run(fit) == 0
        err = capsys.readouterr().err
        assert "1 label given in altopt explore or altopt label took no part in this fit" in err
        assert "altopt explore fit" in err
    session = Session(folder, in_background=False)
    found = {at: session.given(session.fitted.position(name)) for at, name in names.items()}
    assert found == {kept: session.classes[0], undone: None, in_table: data.y[shown[0]]}
    assert session.n_untaught() == 1
    session.close()
    assert AltOpt.load(folder).labelled_[session.fitted.position(names[kept])]
