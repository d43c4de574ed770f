"""The labelling loop in the terminal: a suggested node, a key, what it changed, the next one."""

import sys
from collections.abc import Callable

import numpy as np

from altopt.cli.console import printable
from altopt.cli.explore.effect import Effect
from altopt.cli.explore.session import Session
from altopt.errors import InputError
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN

MAX_KEYS = 9  # classes that have a key of their own
N_MOVED = 5
HELP = "A number or the name of a class answers; s skips, u undoes, r refits with all labels, q ends."

Ask = Callable[[str], str | None]  # from a prompt to an answer; None where no more will come


def label_loop(session: Session, ask: Ask, say: Callable[[str], None], most: int | None = None) -> int:
    """Ask for suggested nodes until there are none, or `most` answers were given; returns how many were."""
    given, skipped, earlier = 0, set[int](), session.journal.last()
    say(HELP)
    while most is None or given < most:
        left = [at for at, _ in session.suggestions(len(skipped)) if at not in skipped]
        if not left:
            say(
                "Every node that was left was skipped." if skipped else "There is no further node to ask for."
            )
            break
        say("")
        for line in about(session, left[0]):
            say(line)
        answer = ask(choices(session))
        if answer is None or answer == "q":
            break
        if answer == "s":
            skipped.add(left[0])
        elif answer == "u":
            given -= undo(session, earlier, say)
        elif answer == "r":
            say(f"Refitting with {int(session.fitted.labelled.sum()):,} labels.")
            say(session.refit().said)
        else:
            given += take(session, left[0], answer, say)
    return given


def about(session: Session, at: int) -> list[str]:
    """A node in words: its id, its likeliest classes, and its neighbours."""
    fitted = session.fitted
    P = fitted.readout.soften(fitted.scores[[at]], fitted.kinds(np.array([at])))[0]
    likely = [f"{session.classes[k]} {P[k]:.0%}" for k in np.argsort(-P, kind="stable")[:3]]
    lines = [f"{name_of(session.name(at))}: {', '.join(likely)}"]
    neighbours = fitted.graph.adjacency[[at]].indices
    counts = np.bincount(fitted.labels[neighbours], minlength=len(session.classes))
    known = np.bincount(
        fitted.labels[neighbours][fitted.codes[neighbours] != UNKNOWN], minlength=len(session.classes)
    )
    shown = [
        f"{counts[k]} {session.classes[k]}" + (f" ({known[k]} given)" if known[k] else "")
        for k in np.argsort(-counts, kind="stable")[:3]
        if counts[k]
    ]
    return [*lines, f"  neighbours: {', '.join(shown)}"] if shown else [*lines, "  no neighbours"]


def choices(session: Session) -> str:
    """The prompt: each class with its number, where there are few."""
    if len(session.classes) > MAX_KEYS:
        return f"1 to {len(session.classes)} or a class, s, u, r, q: "
    keys = [f"{k} {name}" for k, name in enumerate(session.classes, 1)]
    return printable("  ".join([*keys, "s skip", "u undo", "r refit", "q quit: "]))


def take(session: Session, at: int, answer: str, say: Callable[[str], None]) -> int:
    """Give the answered label; 1 where it was one."""
    names = [str(name) for name in session.classes]
    code = names.index(answer) if answer in names else None
    if code is None and answer.isdecimal() and 1 <= int(answer) <= len(names):
        code = int(answer) - 1
    if code is None:
        say(f"{answer!r} is no class. {HELP}")
        return 0
    tell(session, session.label(at, code), say)
    return 1


def undo(session: Session, earlier: int, say: Callable[[str], None]) -> int:
    """Take the last answer back; 1 where it came after the answer `earlier`, so in this session."""
    last = session.journal.last_of("")
    try:
        tell(session, session.undo(), say)
    except InputError as error:
        say(str(error))
        return 0
    return int(last is not None and last.number > earlier)


def left_to_learn(session: Session) -> list[str]:
    """What a refit would bring, where labels were given since the last one."""
    n = session.n_untaught()
    if not n:
        return []
    return [
        f"{n:,} {'label' if n == 1 else 'labels'} reached the nodes around, but the encoder has not learnt from "
        f"{'it' if n == 1 else 'them'} yet: r in altopt label or altopt explore refits."
    ]


def tell(session: Session, effect: Effect, say: Callable[[str], None]) -> None:
    """What an answer changed."""
    given = session.given(effect.at)
    others = [move for move in effect.moved if move.at != effect.at]
    n = effect.n_moved - (len(effect.moved) - len(others))
    say(
        f"{name_of(session.name(effect.at))} has {'no label' if given is None else given}; {n:,} other "
        f"{'node' if n == 1 else 'nodes'} changed label. Expected accuracy {session.expected():.1%}."
    )
    for move in others[:N_MOVED]:
        say(f"  {move.id}: {session.classes[move.before]} -> {session.classes[move.now]}")


def keys_or_lines(single: bool) -> Ask:
    """Answers from the keyboard: one key each where there are few classes, else a line each."""
    from click import getchar

    def ask(prompt: str) -> str | None:
        print(prompt, end="", flush=True)
        if single and sys.stdin.isatty():
            pressed = getchar()
            print(printable(pressed))
            return None if pressed in ("\x03", "\x04") else pressed.strip()
        line = sys.stdin.readline()
        return line.strip() if line else None

    return ask
