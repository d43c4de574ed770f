"""The examples run, and say what they promise."""

import re
from pathlib import Path

import numpy as np
import pytest

import landmark_view
import own_view
from altopt import AltOpt
from problems import two_communities

EXAMPLES = [own_view, landmark_view]
FOLDER = Path(__file__).parent.parent / "examples"


def test_every_example_is_tested():
    assert {Path(example.__file__).name for example in EXAMPLES} == {
        path.name for path in FOLDER.glob("*.py")
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.__name__)
def test_an_example_runs_and_its_view_works(example, capsys):
    example.main()
    theirs, own = (float(share) for share in re.findall(r": ([\d.]+)% right", capsys.readouterr().out))
    assert theirs > 80
    assert own > 80


def test_a_view_of_ones_own_takes_less_than_sixty_lines():
    assert len((FOLDER / "own_view.py").read_text().splitlines()) < 60


def test_the_page_on_adding_a_view_shows_the_example():
    example = [line.strip() for line in (FOLDER / "own_view.py").read_text().splitlines()]
    page = (FOLDER.parent / "docs" / "adding_a_view.md").read_text()
    shown = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class " in block]
    assert len(shown) == 3
    for line in "".join(shown[:2]).splitlines():  # the third is a solver
        assert any(text.startswith(line.strip()) for text in example), line


def test_a_model_with_a_view_of_ones_own_is_stored_and_serves_later_nodes(tmp_path):
    X, y, truth, A = two_communities()
    model = AltOpt(graph_view=own_view.Triangles(2.0), random_state=0).fit(X, y, graph=A)
    assert np.mean(model.transduction_ == truth) > 0.85
    model.save(tmp_path / "m")
    again = AltOpt.load(tmp_path / "m", parts=[own_view.Triangles])
    assert again.graph_view == own_view.Triangles(2.0)
    assert (
        again.predict(X[:3], edges=[(0, 1), (1, 2)]) == model.predict(X[:3], edges=[(0, 1), (1, 2)])
    ).all()
