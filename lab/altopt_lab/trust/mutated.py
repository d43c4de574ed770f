"""Stored models with bytes, fields, arrays or files changed: each is loaded and used.

Three kinds. Damage leaves checksums as they were. A forgery makes every checksum right again but holds what no save
writes: a missing field, another type or shape, an index outside, NaN. An edit makes them right too and holds values
that a save could have written: another model, which no checksum tells from a true one, so it may answer otherwise.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from altopt_lab.trust.damage import DAMAGE, Mutation
from altopt_lab.trust.doors import copied, edit_model
from altopt_lab.trust.forgery import EDITS, FORGERIES, header_forged
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.stored_models import MODELS, answers, expected, stored

Case = dict[str, Any]


def tried(case: Case, mutate: Mutation, other_answers: bool) -> Outcome:
    """A changed copy of a stored model, loaded and used."""
    wanted = expected(case["model"])
    place = Path(tempfile.mkdtemp(prefix="mutated-"))
    different = False

    def use() -> None:
        nonlocal different
        got = answers(copy)
        promise(all(np.isfinite(array).all() for array in got), "an answer is not finite")
        same = all(a.shape == b.shape and np.allclose(a, b, rtol=0, atol=1e-6) for a, b in zip(got, wanted))
        different = not same

    try:
        copy = copied(stored(case["model"]), place / "model")
        mutate(copy, np.random.default_rng(case["seed"]))
        outcome = judged(use)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    if outcome.kind == "fine" and different:
        return (
            Outcome("fine", "valid edit") if other_answers else Outcome("fault", "loads, with other answers")
        )
    return outcome


def damaged(case: Case) -> Outcome:
    return tried(case, DAMAGE[case["mutation"]], False)


def forged(case: Case) -> Outcome:
    if case["mutation"] == "header_forged":
        return tried(case, header_forged, False)
    change = FORGERIES[case["mutation"]]
    return tried(case, lambda folder, chance: edit_model(folder, lambda h, a: change(h, a, chance)), False)


def edited(case: Case) -> Outcome:
    change = EDITS[case["mutation"]]
    return tried(case, lambda folder, chance: edit_model(folder, lambda h, a: change(h, a, chance)), True)


def cases(mutations: list[str]) -> Any:
    return st.fixed_dictionaries(
        {
            "model": st.sampled_from(sorted(MODELS)),
            "mutation": st.sampled_from(mutations),
            "seed": st.integers(0, 2**32 - 1),
        }
    )


PARTS = [
    Part(
        "damaged models",
        "stored models with bytes changed, files cut, missing, swapped, linked: refused, or the same answers",
        cases(list(DAMAGE)),
        damaged,
        trials=1200,
        seconds=30,
        batch=300,
    ),
    Part(
        "forged models",
        "stored models with fields or arrays that no save writes, checksums made right: refused, or the same answers",
        cases([*FORGERIES, "header_forged"]),
        forged,
        trials=1200,
        seconds=30,
        batch=300,
    ),
    Part(
        "edited models",
        "stored models with other values that a save could have written, checksums made right: refused, or finite "
        "answers, which may differ",
        cases(list(EDITS)),
        edited,
        trials=400,
        seconds=30,
        batch=200,
    ),
]
