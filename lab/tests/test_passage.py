"""The passage of a fit: what of the sources counts, and that the list on file is what fits run."""

import textwrap

import pytest

from altopt_lab import passage, passages, provenance
from altopt_lab.passage import meaning_of, passage_of, standing

FILES = {
    "fit.py": """
        from lib.numbers import STEP, UNUSED
        from lib import tools

        LIMIT = 3

        class Model:
            weight: float = 1.0
            never: int = 5

            def fit(self, n):
                "Words."
                return tools.twice(n) + STEP + LIMIT * self.weight

            def save(self):
                return UNUSED
        """,
    "numbers.py": "STEP = 1\nUNUSED = 2\n",
    "tools.py": "def twice(n):\n    return n * FACTOR\n\n\ndef other():\n    return 1\n\n\nFACTOR = 2\n",
}
PASSED = {"lib.fit": ["Model.fit"], "lib.tools": ["twice"]}


@pytest.fixture
def meaning(tmp_path, monkeypatch):
    """The meaning of the passage, with a text in a file changed."""
    monkeypatch.setattr(passage, "PACKAGES", {"lib": tmp_path})

    def told(name=None, before="", after=""):
        passage.source.cache_clear()
        for file, text in FILES.items():
            text = textwrap.dedent(text)
            assert file != name or before in text
            (tmp_path / file).write_text(text.replace(before, after) if file == name else text)
        return meaning_of(PASSED)

    yield told
    passage.source.cache_clear()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("fit.py", "+ STEP", "- STEP"),
        ("fit.py", "LIMIT = 3", "LIMIT = 4"),
        ("fit.py", "weight: float = 1.0", "weight: float = 2.0"),
        ("fit.py", "class Model:", "class Model(Exception):"),
        ("numbers.py", "STEP = 1", "STEP = 7"),
        ("tools.py", "n * FACTOR", "n + FACTOR"),
        ("tools.py", "FACTOR = 2", "FACTOR = 3"),
    ],
)
def test_what_a_fit_runs_and_reads_counts(meaning, name, before, after):
    assert meaning(name, before, after) != meaning()


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("fit.py", '"Words."', '"Prose."'),
        ("fit.py", "return UNUSED", "return UNUSED + 1"),
        ("fit.py", "never: int = 5", "never: int = 6"),
        ("fit.py", "weight: float", "weight: int"),
        ("numbers.py", "UNUSED = 2", "UNUSED = 3"),
        ("tools.py", "return 1", "return 2"),
    ],
)
def test_what_a_fit_does_not_run_does_not_count(meaning, name, before, after):
    assert meaning(name, before, after) == meaning()


def test_functions_that_are_called_are_found_in_threads_too():
    import threading

    from altopt_lab.metrics import accuracy

    def run():
        thread = threading.Thread(target=accuracy, args=(passages.np.zeros(2), passages.np.zeros(2)))
        thread.start()
        thread.join()

    assert passage_of(run) == {"altopt_lab.metrics": ["accuracy"]}


def test_the_lists_on_file_hold_what_small_fits_pass_through():
    known = provenance.passages()
    for kind, passed in passages.found().items():
        for module, names in passed.items():
            assert set(names) <= set(known[kind].get(module, ())), f"{kind}, {module}: {HOW}"
    assert all(standing(one) == one for one in known.values()), HOW


HOW = "python -m altopt_lab.passages writes passages.json anew"
