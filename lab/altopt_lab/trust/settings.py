"""Cases for settings: every public part and every parameter of AltOpt, with values that nobody meant."""

import decimal
import fractions
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from altopt import AltOpt, encoders, inputs, solvers, views
from altopt.encoders import KernelEncoder, LinearEncoder, MLPEncoder
from altopt.graph.settings import check_settings
from altopt.inputs import HopInputs, RawInputs, ReducedInputs
from altopt.solvers import ChebyshevSteps, ConjugateGradient
from altopt.views import GraphView, LabelView, RobustLabels
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case

VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "0": 0,
    "1": 1,
    "2": 2,
    "7": 7,
    "-1": -1,
    "2**31": 2**31,
    "2**64": 2**64,
    "10**400": 10**400,
    "0.0": 0.0,
    "-0.0": -0.0,
    "0.1": 0.1,
    "0.5": 0.5,
    "1.0": 1.0,
    "1.5": 1.5,
    "-0.5": -0.5,
    "1e-12": 1e-12,
    "5e-324": 5e-324,
    "1e160": 1e160,
    "1.7e308": 1.7e308,
    "NaN": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "empty text": "",
    "text": "x",
    "long text": "x" * 5000,
    "full": "full",
    "float16": "float16",
    "float32": "float32",
    "mse": "mse",
    "ce": "ce",
    "out": "out",
    "both": "both",
    "unit": "unit",
    "bytes": b"x",
    "[]": [],
    "()": (),
    "(1,)": (1,),
    "(16, 8)": (16, 8),
    "[0, 1, 2]": [0, 1, 2],
    "(0.5, 0.5)": (0.5, 0.5),
    "(NaN,)": (float("nan"),),
    "(-1,)": (-1,),
    "{}": {},
    "many": list(range(10_000)),
    "numpy float": np.float32(0.5),
    "numpy int": np.int64(3),
    "numpy bool": np.bool_(True),
    "0-d": np.array(1),
    "array": np.array([1.0, 2.0]),
    "complex": 1j,
    "decimal": decimal.Decimal("0.5"),
    "fraction": fractions.Fraction(1, 2),
    "function": len,
    "class": int,
    "object": object(),
    "RandomState": np.random.RandomState(0),
    "Generator": np.random.default_rng(0),
    "linear": LinearEncoder(),
    "kernel": KernelEncoder(),
    "mlp": MLPEncoder(),
    "encoder class": LinearEncoder,
    "raw": RawInputs(),
    "hops": HopInputs(),
    "reduced": ReducedInputs(),
    "(raw, hops)": (RawInputs(), HopInputs()),
    "cg": ConjugateGradient(),
    "chebyshev": ChebyshevSteps(),
    "solver class": ConjugateGradient,
    "graph view": GraphView,
    "label view": LabelView,
    "robust": RobustLabels(),
}


def public_parts() -> dict[str, Any]:
    """Every public class of settings, by name."""
    found = {}
    for room in (encoders, inputs, solvers, views):
        for name in room.__all__:
            kind = getattr(room, name)
            if isinstance(kind, type) and is_dataclass(kind):
                found[name] = kind
    return found


PARTS_OF_ALTOPT = public_parts()
ALTOPT = tuple(sorted(AltOpt().get_params(deep=False)))
PAPER = ("variant", "diffusion", "pseudo_labels", "n_rounds", "total_epochs", "n_steps")
NAMES: dict[str, tuple[str, ...]] = {"AltOpt": ALTOPT, "AltOpt.paper": PAPER} | {
    name: tuple(field.name for field in fields(kind) if field.init) for name, kind in PARTS_OF_ALTOPT.items()
}
TAKING = sorted(name for name, taken in NAMES.items() if taken)


def settings_of(name: str) -> Any:
    """One to three settings of a part, each with any value."""
    given = st.dictionaries(
        st.sampled_from(NAMES[name]), st.sampled_from(sorted(VALUES)), min_size=1, max_size=3
    )
    return given.map(lambda settings: {"of": name, "settings": settings})


def check(case: Case) -> Outcome:
    """Make the part, or AltOpt as far as it goes without data."""
    settings = {name: VALUES[value] for name, value in case["settings"].items()}
    kind = PARTS_OF_ALTOPT.get(case["of"])
    if kind is None:
        return judged(lambda: make_altopt(case["of"], settings))
    needed = [field.name for field in fields(kind) if field.init and is_needed(field)]
    refusals = (TypeError,) if set(needed) - set(settings) else ()  # a call without what it needs
    return judged(lambda: make_part(kind, settings), refusals)


def is_needed(field: Any) -> bool:
    from dataclasses import MISSING

    return field.default is MISSING and field.default_factory is MISSING


def make_part(kind: Any, settings: dict[str, Any]) -> None:
    part = kind(**settings)
    promise(len(repr(part)) > 0, "the part has no repr")


def make_altopt(name: str, settings: dict[str, Any]) -> None:
    model = AltOpt.paper(**settings) if name == "AltOpt.paper" else AltOpt(**settings)
    check_settings(model.get_params(deep=False))
    model.parameters().resolved_encoder()
    model.default_candidate(100, 10, 20)
    repr(model)


PART = Part(
    name="settings",
    what="every public part and every parameter of AltOpt and AltOpt.paper with numbers, text, arrays and objects of "
    "any kind",
    strategy=st.one_of(*[settings_of(name) for name in TAKING], *[settings_of("AltOpt")] * 10),
    check=check,
    trials=20_000,
    seconds=30.0,
    short=100,
    batch=5000,
)
