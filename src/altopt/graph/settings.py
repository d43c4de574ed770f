"""The rules for AltOpt's numeric settings: one table, one check, one wording."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from altopt.errors import InputError

MAX_SEED = 2**32 - 1  # as scikit-learn's random_state


SMALL, LARGE = 1e-6, 1e9  # beyond these, F loses its digits and solvers make thousands of steps
MAX_COUNT = 10**9


@dataclass(frozen=True)
class Rule:
    """What a setting may be: a whole or a real number between bounds, or one of a few other values."""

    kind: Literal["whole", "real"]
    expected: str  # completes "<setting> must be ..."
    least: float = 0.0
    most: float = MAX_COUNT
    or_zero: bool = False  # 0 is allowed beside the range
    others: tuple[str | None, ...] = ()
    hint: str = ""

    def allows(self, value: Any) -> bool:
        """Whether the value meets the rule; numpy's numbers count, bools do not."""
        if value is None or isinstance(value, str):
            return value in self.others
        kind = numbers.Integral if self.kind == "whole" else numbers.Real
        if not isinstance(value, kind) or isinstance(value, bool):
            return False
        number: Any = value
        return bool((self.or_zero and number == 0) or self.least <= number <= self.most)


WEIGHT = f"0, a number from {SMALL:g} to {LARGE:g}, or None to let held-out labels choose it"
COUNT = f"a whole number from 0 to {MAX_COUNT:,}"

RULES: dict[str, Rule] = {
    "feature_weight": Rule("real", WEIGHT, SMALL, LARGE, True, (None,), "0 leaves the features out."),
    "label_weight": Rule("real", WEIGHT, SMALL, LARGE, True, (None,), "0 leaves the given labels out."),
    "restart": Rule(
        "real",
        f"a number from {SMALL:g} to 1, or None for the default",
        least=SMALL,
        most=1.0,
        others=(None,),
        hint="1 means no diffusion.",
    ),
    "n_diffusion": Rule("whole", COUNT, hint="0 means no diffusion."),
    "temperature": Rule(
        "real",
        f"a number from {SMALL:g} to {LARGE:g}",
        least=SMALL,
        most=LARGE,
        hint="Lower is surer; the default is 0.2.",
    ),
    "n_rounds": Rule(
        "whole", f"{COUNT} or 'full'", others=("full",), hint="0 trains the encoder on labels alone."
    ),
    "n_warmup": Rule("whole", COUNT, hint="0 starts the rounds with an untrained encoder."),
    "n_epochs": Rule("whole", COUNT, hint="0 leaves the encoder as the warm-up trained it."),
    "n_pseudo": Rule(
        "whole",
        f"{COUNT} or None",
        others=(None,),
        hint="None uses every unlabelled node, weighted by confidence; 0 uses none.",
    ),
    "min_confidence": Rule(
        "real", "a number from 0 to 1", most=1.0, hint="0 uses pseudo-labels of any confidence."
    ),
    "n_neighbors": Rule(
        "whole", f"a whole number from 1 to {MAX_COUNT:,}", least=1, hint="The default is 10."
    ),
}


def check_setting(name: str, value: Any) -> None:
    """Refuse a value that breaks the rule of its setting.

    >>> check_setting("n_neighbors", 0)
    Traceback (most recent call last):
    altopt.errors.InputError: n_neighbors must be a whole number from 1 to 1,000,000,000, but is 0. The default is 10.
    """
    rule = RULES[name]
    if not rule.allows(value):
        raise InputError(f"{name} must be {rule.expected}, but is {value!r}. {rule.hint}")


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse the first setting that breaks its rule; settings without a rule are left to the parts that use them."""
    for name in RULES:
        if name in settings:
            check_setting(name, settings[name])


def seed_of(random_state: Any) -> int:
    """The seed that a `random_state` stands for: None draws one, a RandomState is asked for one.

    >>> seed_of(7)
    7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not whole or not 0 <= random_state <= MAX_SEED:
        raise InputError(
            f"random_state must be a whole number from 0 to {MAX_SEED}, a numpy RandomState or None, "
            f"but is {random_state!r}. A number makes fits repeatable; None draws a new seed."
        )
    return int(random_state)
