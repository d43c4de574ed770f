"""The option --edges: a file, or several as KIND=FILE, one for each kind of edges."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer

EdgeFiles = dict[str, Path]  # by kind; under "" a file without one
T = TypeVar("T")


def EdgeOption(about: str) -> Any:
    """The option, which may be repeated."""
    about = f"{about} KIND=FILE, repeated, for several kinds of edges."
    return typer.Option("--edges", metavar="<[kind=]path>", help=about)


def edge_files(given: list[str] | None) -> EdgeFiles:
    """The files by kind; a value that is the path of a file is that file, even with an equals sign in it."""
    from altopt.errors import InputError

    files: EdgeFiles = {}
    for text in given or []:
        kind, sign, path = "", "", text
        if "=" in text and not Path(text).exists():
            kind, sign, path = text.partition("=")
        if sign and not kind.strip():
            raise InputError(f"--edges {text} names no kind before the equals sign. Write --edges KIND=FILE.")
        if sign and not path.strip():
            raise InputError(f"--edges {text} names no file after the equals sign. Write --edges KIND=FILE.")
        if kind in files:
            named = f"names the kind {kind!r} twice" if kind else "is given twice without a kind"
            raise InputError(f"--edges {named}. Give each file a kind of its own: --edges KIND=FILE.")
        files[kind] = Path(path)
    if "" in files and len(files) > 1:
        raise InputError(f"--edges {files['']} has no kind, but others have. Write --edges KIND={files['']}.")
    return files


def by_kind(files: EdgeFiles, read: Callable[[Path], T]) -> T | dict[str, T] | None:
    """What the files hold: of one without a kind as it is, of several by kind, None where there is none."""
    if "" in files:
        return read(files[""])
    return {kind: read(path) for kind, path in files.items()} or None
