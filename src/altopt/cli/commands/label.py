"""altopt label: suggested nodes answered one by one in the terminal."""

from pathlib import Path
from typing import Annotated

import typer

from altopt.cli.commands.predict import model_folder
from altopt.cli.console import show


def label(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    n: Annotated[
        int | None, typer.Option("-n", min=1, help="Answers after which it ends. Default: no end.")
    ] = None,
) -> None:
    """Label suggested nodes in the terminal.

    Shows the node whose label would correct most others, takes a key, says what changed, and goes on. Answers are kept
    beside the model at once and brought into it when you end with q or Ctrl-C. r refits the model with all labels: an
    answer alone changes the nodes around it, and a refit teaches the encoder too.
    """
    from contextlib import suppress

    from altopt.cli.explore.session import Session
    from altopt.cli.explore.terminal import MAX_KEYS, keys_or_lines, label_loop, left_to_learn
    from altopt.cli.stored import refuse_stored
    from altopt.io.folder import read_head

    folder = model_folder(model)
    refuse_stored(folder, "altopt label")
    read_head(folder, "model")
    session, given, advice = Session(folder, in_background=False), 0, list[str]()
    try:
        with suppress(KeyboardInterrupt):
            given = label_loop(session, keys_or_lines(len(session.classes) <= MAX_KEYS), show, n)
        advice = left_to_learn(session)
    finally:
        stored = session.close()
    show("", f"{given:,} {'label' if given == 1 else 'labels'} given.", *advice, *stored)
