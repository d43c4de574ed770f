"""Every numeric setting: what is refused, by name, and what is taken."""

import inspect
import re

import numpy as np
import pytest

from altopt import AltOpt, InputError
from altopt.graph.settings import RULES, check_setting, check_settings, seed_of

WEIGHTS = [-1, -0.5, np.nan, np.inf, "high", True, [1.0], 1e160, 1e30, 1e-12, 1e-300, 10**400]
COUNTS = [-3, 2.5, 5.0, True, "many", np.nan, np.inf, 10**400, 2**63]

REFUSED = {
    "feature_weight": WEIGHTS,
    "label_weight": WEIGHTS,
    "restart": [0, 0.0, 1e-300, -0.1, 1.1, np.nan, np.inf, "no", True],
    "n_diffusion": [*COUNTS, None],
    "temperature": [0, 1e-300, 1e300, -1, np.nan, np.inf, None, "hot"],
    "n_rounds": [*COUNTS, None, "half"],
    "n_warmup": [*COUNTS, None],
    "n_epochs": [*COUNTS, None],
    "n_pseudo": COUNTS,
    "min_confidence": [-0.1, 7, 1.5, np.nan, None, "sure"],
    "n_neighbors": [0, -1, 2.5, True, None, "all"],
}

TAKEN = {
    "feature_weight": [0, 2, 0.5, None, 1e-5],
    "label_weight": [0, 2, 0.5, None, 1e8],
    "restart": [1, 0.1, None, 1e-5],
    "n_diffusion": [0, 10],
    "temperature": [1e-3, 1, 10.0],
    "n_rounds": [0, 5, "full"],
    "n_warmup": [0, 40],
    "n_epochs": [0, 40],
    "n_pseudo": [0, 100, None],
    "min_confidence": [0, 0.5, 1],
    "n_neighbors": [1, 10],
}


def test_every_number_among_the_settings_has_a_rule():
    defaults = {name: p.default for name, p in inspect.signature(AltOpt).parameters.items()}
    numeric = {k for k, v in defaults.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    assert numeric <= set(RULES)
    assert set(REFUSED) == set(TAKEN) == set(RULES) <= set(defaults)


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, values in REFUSED.items() for v in values])
def test_a_bad_value_is_refused_with_name_expectation_value_and_way_out(name, value):
    message = f"{name} must be {RULES[name].expected}, but is {value!r}. {RULES[name].hint}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        check_setting(name, value)
    assert RULES[name].hint


@pytest.mark.parametrize(("name", "value"), [(name, v) for name, values in TAKEN.items() for v in values])
def test_a_good_value_is_taken_as_pythons_and_as_numpys_number(name, value):
    check_setting(name, value)
    if not isinstance(value, str | None):
        kind = {"whole": [np.int32, np.int64, np.uint8], "real": [np.float32, np.float64]}[RULES[name].kind]
        for number in kind:
            check_setting(name, number(value))


@pytest.mark.parametrize("name", RULES)
def test_fit_refuses_before_it_begins(name):
    model = AltOpt(**{name: REFUSED[name][0]})
    with pytest.raises(InputError, match=f"{name} must be"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, -1])


def test_the_papers_settings_pass():
    for variant in ("mse", "ce", "H", "N"):
        check_settings(AltOpt.paper(variant).get_params(deep=False))


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "seven", np.random.default_rng(0)])
def test_a_bad_seed_is_refused(seed):
    with pytest.raises(
        InputError, match=r"random_state must be a whole number from 0 to 4294967295, .* but is"
    ):
        seed_of(seed)


def test_seeds_of_all_kinds():
    assert seed_of(np.int64(3)) == 3
    assert seed_of(2**32 - 1) == 2**32 - 1
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    assert seed_of(None) != seed_of(None)
