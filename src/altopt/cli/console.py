"""Lines on the terminal: whatever an id or a path holds, it is shown and never obeyed."""

import sys
from collections.abc import Iterable
from contextlib import suppress

import typer


def show(*lines: str, err: bool = False) -> None:
    """Print each line on one line, with control characters escaped."""
    for line in lines:
        typer.echo(printable(line), err=err)


def printable(text: str) -> str:
    r"""Text with every character that a terminal may obey written out, as Python writes it.

    >>> printable("id\x1b[2J\nnew")
    'id\\x1b[2J\\nnew'
    """
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def say(line: str) -> None:
    """One line on stderr, whatever line breaks the message holds; a closed or full one takes none."""
    if sys.stderr is not None:
        with suppress(OSError):
            print(printable(" ".join(line.split())), file=sys.stderr, flush=True)


def tolerate_encodings(streams: Iterable[object]) -> None:
    """Show what the terminal's encoding cannot hold as an escape, instead of failing."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
