"""One model in memory, used by several threads at once."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from altopt_lab.trust.known import shared_model
from altopt_lab.trust.part import Outcome, Part

CHANGES = {
    "labels": shared_model.label,
    "labels and edges": shared_model.label_and_edge,
    "new nodes": shared_model.new_node,
}
READS = {
    "nothing": None,
    "explanations": shared_model.explain,
    "probabilities": shared_model.look,
    "copies": shared_model.copies,
    "saves": shared_model.saves,
}


def used(case: dict[str, Any]) -> Outcome:
    folder = Path(tempfile.mkdtemp(prefix="threads-"))
    try:
        change, read = CHANGES[case["change"]], READS[case["read"]]
        return shared_model.holds(folder, change, read, case["updates"], case["threads"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


PARTS = [
    Part(
        "threads",
        "one model updated by several threads while another explains, reads, copies or stores it: F within the bound",
        st.fixed_dictionaries(
            {
                "change": st.sampled_from(list(CHANGES)),
                "read": st.sampled_from(list(READS)),
                "updates": st.integers(3, 25),
                "threads": st.integers(2, 6),
            }
        ),
        used,
        trials=100,
        seconds=120,
        short=3,
        batch=50,
    )
]
