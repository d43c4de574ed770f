"""The record of how large report pages are and how soon they can be used."""

import numpy as np

from altopt import AltOpt
from altopt_lab import provenance
from altopt_lab.bench import pages


def test_a_record_says_when_where_and_of_what_commit_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "opened", lambda page, times: [0.5, 0.25, 1.0][:times])
    model = AltOpt(n_rounds=1, random_state=0).fit(
        np.eye(6), [0, 1, -1, 0, 1, -1], graph=[(0, 3), (1, 4), (2, 5)]
    )
    page = tmp_path / "report.html"
    record = pages.measured({"six nodes": model}, page, 3)
    assert record["commit"] == provenance.commit()
    assert {"made", "machine", "versions"} <= set(record)
    size = page.stat().st_size
    assert record["reports"] == {"six nodes": {"bytes": size, "seconds": 0.5, "slowest": 1.0}}
    assert pages.in_words(record).endswith(f"six nodes: {size / 1e6:.2f} MB, usable after 0.5 s.")
