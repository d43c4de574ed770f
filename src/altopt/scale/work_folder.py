"""The folder of a fit's unfinished work: marked, so that a fit removes nothing but what a fit has made."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from altopt.errors import InputError
from altopt.io.files import check_output, new_folder, write_text

WORK = "work"
MARK = "ALTOPT-WORK.txt"
TEXT = "altopt fit keeps unfinished work here, from which --resume goes on. It is removed when the fit is done.\n"
OWN = ("graph", "graph.ingest", "jobs")


@contextmanager
def work_folder(work: Path, resume: bool) -> Iterator[None]:
    """A folder for the block's work, begun anew or gone on with; it is removed when the block ends well."""
    refuse_foreign_work(work)
    check_output(work, "the folder", folder=True)
    if not resume:
        clear(work)
    with new_folder(work):
        write_text(work / MARK, TEXT)
        try:
            yield
        except BaseException:
            remove_if_empty(work)
            raise
    clear(work)


def refuse_foreign_work(work: Path) -> None:
    """Refuse a folder that no fit has made."""
    if not os.path.lexists(work) or (work / MARK).is_file():
        return
    if not work.is_dir() or any(work.iterdir()):
        raise InputError(
            f"{work} exists and was not written by altopt, which keeps unfinished work there. Move it, or name "
            "another folder for the fit: nothing was overwritten."
        )


def clear(work: Path) -> None:
    """Remove what a fit has made, the mark last, and the folder if nothing else is in it."""
    for name in OWN:
        shutil.rmtree(work / name, ignore_errors=True)
    with suppress(OSError):
        (work / MARK).unlink()
        work.rmdir()


def remove_if_empty(work: Path) -> None:
    """The mark goes where there is no work to go on with."""
    for name in OWN:
        with suppress(OSError):
            (work / name).rmdir()
    with suppress(OSError):
        if os.listdir(work) == [MARK]:
            (work / MARK).unlink()


def bytes_in(work: Path) -> int:
    """What work takes on its disk; a file with several names counts once."""
    found = {}
    for path in work.rglob("*"):
        with suppress(OSError):
            status = path.lstat()
            found[status.st_dev, status.st_ino] = status.st_size if path.is_file() else 0
    return sum(found.values())
