"""The one writer of output files: a draft beside the file, which takes its place whole or is removed."""

import errno
import itertools
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from altopt.errors import DiskError, InputError

HOST = f"{zlib.crc32(os.uname().nodename.encode()):08x}" if hasattr(os, "uname") else "0" * 8
NUMBERS = itertools.count()
WAYS_OUT = {
    errno.ENOSPC: "Free some space there, or name another place.",
    errno.EDQUOT: "Free some of your quota there, or name another place.",
    errno.EFBIG: "Raise the limit on file sizes, or name another place.",
    errno.EIO: "Check that disk, and name another place.",
    errno.ENOENT: "The folder is gone: make it again, or name another place.",
    errno.ENAMETOOLONG: "Give it a shorter name.",
}


@contextmanager
def disk_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the disk inside the block into a DiskError about `path`."""
    try:
        yield
    except OSError as cause:
        raise disk_error(path, cause) from cause
    except Exception as cause:
        if type(cause).__name__ != "SafetensorError":  # how safetensors reports a failed write
            raise
        found = re.search(r"os error (\d+)", str(cause))
        raise disk_error(path, OSError(int(found[1]) if found else 0, str(cause))) from cause


def disk_error(path: str | os.PathLike[str], cause: OSError) -> DiskError:
    """The sentence about a file or folder that cannot be written."""
    reason = os.strerror(cause.errno) if cause.errno else " ".join(str(cause).split()) or type(cause).__name__
    way_out = WAYS_OUT.get(cause.errno or 0, "Name another place, or make this one writable.")
    return DiskError(f"{os.fspath(path)} cannot be written: {reason}. {way_out}")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A draft to write to, beside `path`; it takes the place of `path` when the block ends well.

    Whatever fails, `path` is as it was before and nothing is left beside it; folders that were made for it go again.
    A symbolic link is followed. Drafts that killed processes left are removed.
    """
    target = Path(os.path.realpath(path))
    refuse_special(target, os.fspath(path))
    with disk_errors(path), new_folder(target.parent):
        draft = target.with_name(draft_name(target.name))
        try:
            yield draft
            flush_to_disk(draft)
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink()
        remove_dead_drafts(target.parent, target.name)
        with suppress(OSError):  # the file is in place; some file systems cannot sync a folder
            flush_to_disk(target.parent)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, the whole of it or nothing."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def flush_to_disk(path: Path) -> None:
    """fsync a file or a folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """A folder for the block to write into; where the block fails, new folders that stayed empty are removed."""
    missing = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    with disk_errors(path):
        path.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # one that holds something stays, and so do those above it
                folder.rmdir()
        raise


def draft_name(name: str) -> str:
    """The name of a draft of this process: ".<name>.<host>-<process>-<number>.draft", cut to what disks take."""
    return f".{shortened(name)}.{HOST}-{os.getpid()}-{next(NUMBERS)}.draft"


def shortened(name: str) -> str:
    return os.fsdecode(os.fsencode(name)[:200])


def remove_dead_drafts(folder: Path, name: str) -> None:
    """Remove the drafts of `name` that processes of this machine left when they were killed."""
    pattern = re.compile(re.escape(f".{shortened(name)}.{HOST}-") + r"(\d+)-\d+\.draft")
    with suppress(OSError):
        for entry in os.listdir(folder):
            found = pattern.fullmatch(entry)
            if found and not is_alive(int(found[1])):
                with suppress(OSError):
                    (folder / entry).unlink()


def is_alive(process: int) -> bool:
    """Whether a process of this number runs on this machine; where that cannot be asked, it does."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return True


def check_output(path: str | os.PathLike[str], option: str, *, folder: bool = False) -> None:
    """Refuse before the work an output file, or folder, that could not be written after it; nothing is made."""
    shown = f"{option} {os.fspath(path)}"
    if "\0" in os.fspath(path) or not is_utf8(os.fspath(path)):
        raise InputError(
            f"{option} {os.fspath(path)!r} is not a name in UTF-8, or holds NUL. Give another one."
        )
    target = Path(os.path.realpath(path))
    try:
        kind = stat_or_none(target)
        if kind is not None and folder and not stat.S_ISDIR(kind):
            raise InputError(f"{shown} is a file. Name a folder.")
        if not folder:
            refuse_special(target, shown)
        inside = next(
            place for place in ((target,) if folder else ()) + tuple(target.parents) if os.path.lexists(place)
        )
        if not inside.is_dir():
            raise InputError(
                f"{shown} cannot be written: {inside} is a file, not a folder. Name another place."
            )
        for part in target.parts[len(inside.parts) :]:
            if len(os.fsencode(part)) > os.pathconf(inside, "PC_NAME_MAX"):
                raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        probe = inside / draft_name("altopt")
        probe.touch(exist_ok=False)
        probe.unlink()
        remove_dead_drafts(inside, "altopt")
    except OSError as cause:
        raise disk_error(shown, cause) from cause


def as_path(path: Any, what: str) -> Path:
    """A path given as text or Path; `what` is the argument that it came as."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"{what} must be a path, as text or pathlib.Path, but is {path!r:.80}.")
    if "\0" in os.fspath(path) or not is_utf8(os.fspath(path)) or not os.fspath(path):
        raise InputError(
            f"{what} {os.fspath(path)!r} is not a name in UTF-8, is empty or holds NUL. Give another."
        )
    return Path(path)


def is_utf8(text: str) -> bool:
    """Whether text has no bytes of another encoding, which Python keeps as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_special(target: Path, shown: str) -> None:
    """Replacing a directory, a pipe or a device such as /dev/null is never what is meant."""
    with disk_errors(shown):
        kind = stat_or_none(target)
    if kind is not None and stat.S_ISDIR(kind):
        raise InputError(f"{shown} is a folder. Name a file in it.")
    if kind is not None and not stat.S_ISREG(kind):
        raise InputError(f"{shown} is not an ordinary file and is not replaced. Name another file.")


def stat_or_none(path: Path) -> int | None:
    """The mode of a file; None where there is nothing."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
