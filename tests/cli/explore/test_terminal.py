"""The labelling loop in the terminal."""

from altopt import AltOpt
from altopt.cli.explore.terminal import label_loop, left_to_learn
from altopt.cli.main import run
from explored import EVIL_CLASS


def loop(session, *answers, most=None):
    said, left = [], iter(answers)
    given = label_loop(session, lambda prompt: next(left, None), said.append, most)
    return given, said


def test_keys_names_skip_and_undo(session):
    first, second, third = (at for at, _ in session.suggestions()[:3])
    given, said = loop(session, "1", "s", EVIL_CLASS, "u", "9", "", "q")
    assert given == 1
    assert session.given(first) == session.classes[0]
    assert session.given(second) is None
    assert session.given(third) is None
    assert any("'9' is no class" in line for line in said)
    assert any("Expected accuracy" in line for line in said)


def test_a_refit_is_a_key(session):
    version = session.version
    given, said = loop(session, "1", "r", "q")
    assert given == 1
    assert session.version == version + 1
    assert any(line.startswith("Refitted with 25 labels") for line in said)
    assert left_to_learn(session) == []


def test_undoing_an_answer_of_an_earlier_session_counts_as_none(session):
    at = session.suggestions()[0][0]
    session.label(at, 0)
    assert loop(session, "u", "q")[0] == 0
    assert session.given(at) is None
    assert loop(session, "1", "u", "u", "q")[0] == 0


def test_skips_go_past_the_first_suggestions(session):
    _, said = loop(session, *["s"] * 30, "q")
    assert not any("no further node" in line for line in said)
    _, said = loop(session, *["s"] * 240)
    assert said[-1] == "Every node that was left was skipped."


def test_it_ends_after_as_many_answers_as_asked_for(session):
    given, _ = loop(session, *"111111", most=2)
    assert given == 2


def test_the_command(folder, monkeypatch, capsys):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.StringIO("2\nu\n2\nq\n"))
    before = int(AltOpt.load(folder).labelled_.sum())
    assert run(["label", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "1 label given." in out
    assert "the encoder has not learnt from it yet" in out
    assert "\x1b" not in out
    assert int(AltOpt.load(folder).labelled_.sum()) == before + 1
