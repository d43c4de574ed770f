"""Every number of the recipe in one place: what, why, on a page, and reachable through AltOpt(defaults=...)."""

import ast
import re
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import altopt
from altopt import AltOpt, InputError
from altopt.defaults import CONSTANT, DEFAULTS, FIT, PARAMETER, PART, Defaults, page
from problems import two_communities

PACKAGE = Path(altopt.__file__).parent
PAGE = PACKAGE.parents[1] / "docs" / "defaults.md"

# limits, and inner numbers of searches and estimates that end at about the same answer; not the recipe
ENGINEERING = {
    "BLOCK_SIZE",
    "UNIT_BLOCK_SIZE",
    "N_BINS",
    "SEED_SALT",
    "SUM_TOLERANCE",
    "MAX_LISTED",
    "LEVEL",
    "WIDE",
    "MIN_LABELS",
    "MIN_SHARE",
    "SMALLEST",
    "FEATURES_COUNT",
    "N_TURNS",
    "N_TEMPERATURES",
    "N_ROWS",
    "LEAST",
    "MAX_FACTOR_STEPS",
    "FACTOR_STEP",
    "FACTOR_BOUNDS",
    "FACTOR_TOLERANCE",
    "N_STEPS",
    "LOG_TEMPERATURES",
    "LEAST_SHARE",
    "FEWEST_FOLDS",
    "EM_STEPS",
    "HALVINGS",
    "SHARPEST",
    "INFORMATIVE",
    "MAX_BARS",
    "FIRST_STEP",
    "LAST_STEP",
    "LEAST_WEIGHT",
}


@pytest.mark.parametrize("entry", fields(Defaults), ids=lambda entry: entry.name)
def test_every_number_says_what_it_is_and_why(entry):
    assert len(entry.metadata["what"]) > 5
    assert len(entry.metadata["why"]) > 5
    assert entry.metadata["why"].endswith(".")
    assert entry.metadata["set_by"] in (FIT, PARAMETER, PART, CONSTANT)


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text() == page(), "run: python -m altopt.defaults > docs/defaults.md"


def test_the_page_is_printed_by_the_module():
    printed = subprocess.run(
        [sys.executable, "-m", "altopt.defaults"], capture_output=True, text=True, check=True
    )
    assert printed.stdout == page()


@pytest.mark.parametrize("room", ["selection", "training"])
def test_no_number_of_the_recipe_stands_at_the_top_of_a_module(room):
    for path in (PACKAGE / room).glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign):
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            constants = [name for name in names if re.fullmatch(r"[A-Z][A-Z0-9_]*", name)]
            numbers = [
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant) and isinstance(part.value, int | float)
            ]
            if numbers:
                assert set(constants) <= ENGINEERING, f"{path.name}: {constants} belongs to altopt.defaults"


def test_parameters_of_altopt_have_these_defaults():
    parameters = AltOpt().get_params()
    for entry in fields(Defaults):
        if entry.metadata["set_by"] == PARAMETER:
            assert parameters[entry.name] == entry.default


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"n_rounds": 3}, "a parameter of AltOpt"),
        ({"sharpness": 1.0}, "a setting of a part"),
        ({"C": 1.0}, "a constant of the code"),
    ],
)
def test_a_number_that_is_given_elsewhere_is_refused_here(change, where):
    X, y, _, A = two_communities(n=60)
    with pytest.raises(InputError, match=f"this number is {where} and would be ignored"):
        AltOpt(defaults=replace(DEFAULTS, **change)).fit(X, y, graph=A)
    with pytest.raises(InputError, match="defaults must be a Defaults"):
        AltOpt(defaults={"n_folds": 3}).fit(X, y, graph=A)


def test_other_defaults_reach_the_fit_and_are_stored_with_it(tmp_path):
    X, y, _, A = two_communities(n=120)
    other = replace(DEFAULTS, view_weight=0.5, hops=(0, 1), restart=0.7, restart_few=0.7)
    model = AltOpt(random_state=0, cross_fit=False, defaults=other).fit(X, y, graph=A)
    assert (model.plan_.feature_weight, model.plan_.label_weight) == (0.5, 0.5)
    assert model.plan_.inputs.parts[0].hops == (0, 1)
    assert model.restart_ == 0.7
    model.save(tmp_path / "model")
    loaded = AltOpt.load(tmp_path / "model")
    assert loaded.defaults == other
    again = AltOpt(random_state=0, cross_fit=False, defaults=DEFAULTS).fit(X, y, graph=A)
    default = AltOpt(random_state=0, cross_fit=False).fit(X, y, graph=A)
    assert np.array_equal(again.scores_, default.scores_)
    assert not np.array_equal(model.scores_, default.scores_)
