"""The sum of sources: meaning counts, words do not; and every record carries it with the commit."""

import subprocess

import pytest

from altopt_lab import passages, provenance
from altopt_lab.baselines import BASELINES, HETEROPHILY
from altopt_lab.equal.runs import FreshRun
from altopt_lab.equal.trials import Trial
from altopt_lab.experiments.methods import find_method
from altopt_lab.experiments.protocols import Cell
from altopt_lab.experiments.run import Run
from altopt_lab.experiments.work import made_on
from altopt_lab.passage import place_of

SOURCE = '"""Words."""\n\n\ndef f(x):\n    """More words."""\n    return x + 1  # why\n'


def test_words_do_not_count_and_meaning_does(tmp_path):
    def summed(text, name="a.py"):
        (tmp_path / name).write_text(text)
        found = provenance.sum_of([tmp_path])
        (tmp_path / name).unlink()
        return found

    assert summed(SOURCE) == summed(SOURCE.replace("words", "prose").replace("# why", "# because"))
    assert summed(SOURCE) != summed(SOURCE.replace("+ 1", "+ 2"))
    assert summed("n = number(5, 'folds', 'why')") == summed("n = number(5, 'folds', 'because')")
    assert summed("n = number(5, 'folds', 'why')") != summed("n = number(6, 'folds', 'why')")
    assert summed("int a; // one\n", "a.cpp") == summed("int a; // two\n", "a.cpp")
    assert summed("int a;\n", "a.cpp") != summed("int b;\n", "a.cpp")


def test_all_that_is_named_exists():
    package = provenance.Path(provenance.altopt.__file__).parent
    named = (
        *provenance.FIT,
        *provenance.PEER_FIT,
        *provenance.FILES_FIT,
        *provenance.LEFT_OUT,
        provenance.OF_NETWORKS,
    )
    assert all((package / part).exists() for part in named)
    lab = provenance.Path(provenance.altopt_lab.__file__).parent
    assert all((lab / part).exists() for part in (*provenance.PEER_METHOD, *provenance.CONTEST_SPLITS))
    assert len(set(provenance.code().values())) == 8


# what a fit passes through beside the rooms named in provenance: it checks, keeps and says, and no figure depends on it
BESIDE = (
    "errors.py",
    "fitted/attributes.py",
    "fitted/known.py",
    "fitted/lock.py",
    "io/fingerprint.py",
    "table/frame.py",
)


def modules_passed(method):
    """The files of the package and of the lab that a fit on a small graph passes through."""
    sample = passages.Sample("any", method, Cell("Cora", "5"), settings_of(method))
    return [place_of(module) for module in sample.passed(passages.small(sample))]


def settings_of(method):
    """A few epochs, where it has any."""
    kind = getattr(find_method(method), "kind", None)
    return {"n_epochs": 3} if hasattr(kind, "n_epochs") else {}


def outside(files, rooms):
    return {str(file) for file in files if not any(file.is_relative_to(room) for room in rooms)}


def test_rooms_named_by_hand_hold_all_that_default_fits_pass_through():
    package = provenance.Path(provenance.altopt.__file__).parent
    rooms = [package / part for part in (*provenance.FIT, *BESIDE)]
    passed = [file for file in modules_passed("AltOpt()") if file.is_relative_to(package)]
    assert len(passed) > 40
    assert not outside(passed, rooms)


@pytest.mark.parametrize("method", [*BASELINES, *HETEROPHILY])
def test_rooms_named_by_hand_hold_all_that_peers_pass_through(method):
    package, lab = (
        provenance.Path(module.__file__).parent for module in (provenance.altopt, provenance.altopt_lab)
    )
    rooms = [package / part for part in provenance.PEER_FIT] + [lab / part for part in provenance.PEER_METHOD]
    rooms += [lab / "equal" / "splits.py", lab / "experiments" / "protocols.py"]
    assert not outside(modules_passed(method), rooms)


def test_figures_of_peers_depend_on_their_own_sources():
    cell = Cell("Cora", "20")
    assert Run("APPNP", cell, 0, 0).depends_on == provenance.PEERS
    assert Run("AltOpt()", cell, 0, 0).depends_on == provenance.OURS
    assert Run("ALT-OPT", cell, 0, 0).depends_on == provenance.SEARCHED


def test_figures_of_the_papers_method_depend_on_it_and_on_the_splits_of_the_contest():
    cell = Cell("Cora", "20")
    assert FreshRun("ALT-OPT (paper, mse)", cell, 7000).depends_on == provenance.PAPER
    assert FreshRun("ALT-OPT-H (GCN as encoder)", cell, 7000).depends_on == provenance.PAPER_ON_GRAPH
    sums = provenance.code()
    for kind in (provenance.PAPER, provenance.CONTEST):
        changed = sums | {kind: "0123456789"}
        before, after = (provenance.in_contest(each, provenance.PAPER) for each in (sums, changed))
        assert before != after
    assert provenance.in_contest(sums, provenance.OURS) != sums[provenance.OURS]
    for work in (FreshRun("APPNP", cell, 7000), Trial("APPNP", cell, 0, 1000)):
        assert work.fit_code == provenance.in_contest(sums, provenance.PEERS)


def test_what_is_left_out_does_not_count(tmp_path):
    def summed(text):
        for name, held in (("a.py", "1"), ("files.py", text)):
            (tmp_path / name).write_text(held)
        return provenance.sum_of([tmp_path], (tmp_path / "files.py",))

    assert summed("1") == summed("2")


def test_a_record_names_the_commit(tmp_path):
    assert made_on()["commit"] == provenance.commit()
    assert provenance.git(tmp_path, "rev-parse", "HEAD") is None
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert provenance.git(tmp_path, "rev-parse", "--is-inside-work-tree") == "true"
