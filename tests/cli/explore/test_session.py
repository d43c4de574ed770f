"""A session: answers change the model at once, are never lost, and reach the folder."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from altopt import AltOpt, InputError
from altopt.cli.explore import session as explored_session
from altopt.cli.explore.journal import key
from altopt.cli.explore.refit import Refit
from altopt.cli.explore.server import state
from altopt.cli.explore.session import Session
from altopt.graph.validation import UNKNOWN


def unlabelled(session, k=0):
    return int(np.flatnonzero(session.fitted.codes == UNKNOWN)[k])


def test_an_answer_changes_the_model_and_undo_changes_it_back(session):
    at, before = unlabelled(session), session.fitted.scores.copy()
    expected, n = session.expected(), int(session.fitted.labelled.sum())
    effect = session.label(at, 2, "ann")
    assert session.given(at) == session.classes[2]
    assert effect.n_changed > 1
    assert session.expected() != expected
    assert np.allclose(session.top, session.prepared(session.model), atol=1e-6)
    session.undo("ann")
    assert session.given(at) is None
    assert np.allclose(session.fitted.scores, before, atol=1e-6)
    assert session.expected() == pytest.approx(expected, abs=1e-6)
    assert [count for count, _ in session.journal.curve()] == [n, n + 1, n]


def test_undo_takes_back_ones_own_answers_and_no_others(session):
    first, second = unlabelled(session, 0), unlabelled(session, 1)
    session.label(first, 0, "ann")
    session.label(second, 1, "bob")
    session.undo("ann")
    assert session.given(first) is None
    assert session.given(second) == session.classes[1]
    with pytest.raises(InputError, match="no answer of yours"):
        session.undo("ann")
    session.label(first, 0, "ann")
    session.label(first, 1, "bob")
    with pytest.raises(InputError, match="answered again since"):
        session.undo("ann")


@pytest.mark.parametrize(("at", "code"), [(-1, 0), (10**9, 0), (0, 3), (0, -2)])
def test_what_does_not_exist_is_refused_and_leaves_no_trace(session, at, code):
    with pytest.raises(InputError, match="does not exist"):
        session.label(at, code)
    assert session.journal.answers() == []


def test_answers_reach_the_folder_when_the_session_ends(folder):
    session = Session(folder, in_background=False)
    at = unlabelled(session)
    session.label(at, 1)
    name, scores = session.name(at), session.fitted.scores.copy()
    session.close()
    stored = AltOpt.load(folder)
    assert stored.labelled_[at]
    assert stored.transduction_[stored.graph_.position(name)] == session.classes[1]
    assert np.allclose(stored.scores_, scores)


def test_what_another_process_stored_meanwhile_is_kept(folder):
    session = Session(folder, in_background=False)
    mine, theirs = unlabelled(session, 0), unlabelled(session, 1)
    session.label(mine, 0)
    other = AltOpt.load(folder)
    other.update(labels={session.name(theirs): session.classes[1]})
    other.save(folder)
    session.close()
    stored = AltOpt.load(folder)
    assert stored.labelled_[mine]
    assert stored.labelled_[theirs]


def test_suspicious_labels_outlive_the_first_update(folder):
    session = Session(folder, in_background=False)
    found = session.suspicious()
    assert found
    confirmed, mended = found[0][0], found[1][0]
    session.confirm(confirmed)
    session.label(mended, found[1][1])
    session.close()
    again = Session(folder, in_background=False)
    assert {at for at, _, _ in again.suspicious()} == {at for at, _, _ in found} - {confirmed, mended}
    again.close()


def test_the_queue_leaves_out_what_was_answered(session):
    first = session.suggestions()
    session.label(first[0][0], 0)
    assert first[0][0] not in [at for at, _ in session.suggestions()]


def test_threads_may_answer_at_once(session):
    places = [unlabelled(session, k) for k in range(24)]
    threads = [
        threading.Thread(target=lambda mine: [session.label(at, 0, "t") for at in mine], args=(places[k::4],))
        for k in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(session.given(at) == session.classes[0] for at in places)
    assert len(session.journal.answers()) == 24


ANSWERING = """
import sys, time
from pathlib import Path
import numpy as np
from altopt.cli import outputs
from altopt.cli.explore import session as explored_session
from altopt.cli.explore.session import Session
explored_session.IDLE = float(sys.argv[2])
store = outputs.store
def told(*given):
    print("saving", flush=True)
    return store(*given)
outputs.store = told
session = Session(Path(sys.argv[1]))
for at in np.flatnonzero(session.fitted.codes == -1):
    session.label(int(at), 1)
    print(int(at), flush=True)  # from here on it is confirmed
    time.sleep(0.01)
"""


@pytest.mark.parametrize("wait", [0.0, 0.02, 0.05])
def test_no_confirmed_answer_is_lost_by_kill_9(folder, wait):
    """Killed while it answers, then while it writes the folder: every answer that was told is there afterwards."""
    confirmed = set()
    for idle, until_it_says in (("20", "a label"), ("0", "saving")):
        call = [sys.executable, "-c", ANSWERING, str(folder), idle]
        child = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
        lines = [child.stdout.readline()]
        while until_it_says == "saving" and lines[-1].strip() != "saving":
            lines.append(child.stdout.readline())
        time.sleep(wait)
        os.kill(child.pid, signal.SIGKILL)
        lines += child.stdout.readlines()
        child.wait()
        child.stdout.close()
        confirmed |= {int(line) for line in lines if line.strip().isdigit()}
        session = Session(folder, in_background=False)
        assert not [at for at in confirmed if session.given(at) != session.classes[1]], idle
        session.close()
    stored = AltOpt.load(folder)
    assert stored.labelled_[sorted(confirmed)].all()


def test_a_refit_teaches_the_encoder_while_answers_go_on(folder):
    session = Session(folder)
    first, second = unlabelled(session, 0), unlabelled(session, 1)
    session.label(first, 0)
    assert session.n_untaught() == 1
    P, version = session.fitted.encoder_output.copy(), session.version
    begun = threading.Event()
    on_round = Refit.on_round

    def wait_for_an_answer(self, *progress):
        if not begun.is_set():
            begun.set()
            session.label(second, 1, "meanwhile")  # another thread holds no lock here
        on_round(self, *progress)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Refit, "on_round", wait_for_an_answer)
        refit = session.refit()
        assert session.refit() is refit
        while refit.running:
            time.sleep(0.02)
    assert refit.said.startswith("Refitted with 25 labels"), refit.said
    assert session.version == version + 1
    assert not np.allclose(session.fitted.encoder_output, P)
    assert (session.given(first), session.given(second)) == (session.classes[0], session.classes[1])
    assert session.n_untaught() == 1  # the answer that came meanwhile
    assert np.allclose(session.top, session.prepared(session.model), atol=1e-6)
    session.undo("meanwhile")
    assert session.given(second) is None
    session.close()
    stored = AltOpt.load(folder)
    assert not np.allclose(stored.encoder_output_, P)
    assert stored.labelled_[first]
    assert not stored.labelled_[second]
    again = Session(folder, in_background=False)
    assert again.n_untaught() == 0
    again.close()


def test_an_answer_about_what_is_gone_waits_in_the_journal(folder):
    """It is not marked as stored: a later model may have the node again."""
    first = Session(folder, in_background=False)
    first.journal.add('"gone"', '"north"', "null", "ann")
    first.label(unlabelled(first), 1)
    first.journal.close()
    again = Session(folder, in_background=False)
    assert len(again.pending) == 1
    again.close()
    last = Session(folder, in_background=False)
    assert last.refused == ['"gone"']
    assert last.pending == []
    last.refit()
    assert last.refused == ['"gone"']
    last.close()


def test_a_refit_that_ends_during_a_save_waits_for_the_next(folder, monkeypatch):
    session = Session(folder, in_background=False)
    session.label(unlabelled(session), 0)
    save = AltOpt.save

    def refit_meanwhile(model, path):
        monkeypatch.setattr(AltOpt, "save", save)
        session.refit()
        save(model, path)

    monkeypatch.setattr(AltOpt, "save", refit_meanwhile)
    session.store()
    assert session.refit_pending
    assert session.journal.last_refit() == 0
    session.store()
    assert not session.refit_pending
    assert session.journal.last_refit() == 1
    assert np.allclose(AltOpt.load(folder).encoder_output_, session.fitted.encoder_output)
    session.close()


def test_a_refit_that_another_process_came_before_is_given_up_aloud(folder, capsys):
    session = Session(folder, in_background=False)
    mine = unlabelled(session)
    session.label(mine, 0)
    session.refit()
    assert session.n_untaught() == 0
    other = AltOpt.load(folder)
    other.update(labels={session.name(unlabelled(session, 5)): session.classes[1]})
    other.save(folder)
    session.store()
    assert "given up" in state(session, 0)["notices"]["last"]
    assert "given up" in capsys.readouterr().err
    assert session.n_untaught() == 1
    assert session.given(mine) == session.classes[0]
    session.close()


def test_an_error_in_the_background_is_told_and_the_folder_is_written_still(folder, monkeypatch):
    monkeypatch.setattr(explored_session, "IDLE", 0.2)
    fails = iter([OSError("no memory")])

    def suggest(model, n):
        for error in fails:
            raise error
        return []

    monkeypatch.setattr(AltOpt, "suggest", suggest)
    session = Session(folder)
    session.since_queue = explored_session.REFRESH_AFTER
    until(lambda: session.notices)
    assert "OSError: no memory" in state(session, 0)["notices"]["last"]
    session.label(at := unlabelled(session), 0)
    until(lambda: AltOpt.load(folder).labelled_[at])
    session.close()


def until(holds, seconds=20):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_confirmed_label_is_asked_about_again_when_it_is_another(session):
    at, _, _ = session.suspicious()[0]
    given = session.given(at)
    session.confirm(at)
    assert at not in [each for each, _, _ in session.suspicious()]
    other = next(name for name in session.classes if name != given)
    session.label(at, session.codes_of[key(other)])
    session.journal.keep_suspicious([(key(session.name(at)), key(other), key(given), -1.0)])
    assert [each for each, _, _ in session.suspicious()] == [at]


def test_answers_about_what_the_model_no_longer_has_are_told(folder):
    first = Session(folder, in_background=False)
    first.journal.add('"gone"', '"north"', "null", "ann")
    first.journal.add('"n1"', '"no such class"', "null", "ann")
    first.journal.close()
    again = Session(folder, in_background=False)
    assert again.refused == ['"gone"', '"n1"']
    assert state(again, 0)["number"] == 2
    with pytest.raises(InputError, match="no longer has|answered again"):
        again.undo("ann")
    again.close()


def test_a_refit_that_fails_leaves_the_session_as_it_was(session, monkeypatch):
    def broken(self, on_round):
        raise InputError("no refit today.")

    monkeypatch.setattr(AltOpt, "refit", broken)
    scores = session.fitted.scores.copy()
    refit = session.refit()
    assert "no refit today" in refit.said
    assert not refit.running
    assert np.array_equal(session.fitted.scores, scores)
    session.label(unlabelled(session), 0)


def test_answers_go_on_while_the_model_is_stored(folder, monkeypatch):
    session = Session(folder, in_background=False)
    first, second = unlabelled(session, 0), unlabelled(session, 1)
    session.label(first, 0)
    reached, go_on = threading.Event(), threading.Event()
    save = AltOpt.save

    def slow(model, path):
        reached.set()
        assert go_on.wait(20)
        save(model, path)

    monkeypatch.setattr(AltOpt, "save", slow)
    storing = threading.Thread(target=session.store)
    storing.start()
    assert reached.wait(20)
    session.label(second, 1)  # would wait for ever
    go_on.set()
    storing.join()
    stored = AltOpt.load(folder)
    assert stored.labelled_[first]
    assert not stored.labelled_[second]
    session.close()
    assert AltOpt.load(folder).labelled_[second]
