"""A limit of all memory of a process, cached pages of files included: a cgroup, where one can be made."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Kind:
    """Where groups of a version are, and the files that hold the limit, the peak and how often it was reached."""

    root: Path
    limit: str
    peak: str
    reached: str | None = None


KINDS = (
    Kind(
        Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.max_usage_in_bytes", "memory.failcnt"
    ),
    Kind(Path("/sys/fs/cgroup"), "memory.max", "memory.peak"),
)
PATIENCE = 10.0  # seconds for a process that was killed to leave its group


@dataclass
class MemoryGroup:
    """A group that a process can be started in.

    Parameters
    ----------
    folder : Path or None
        None: no group can be made on this machine, and there is no limit.
    told : dict
        For the record: the limit or why there is none; when the group is gone also the peak with cached pages, and
        how often pages had to be given back.
    """

    folder: Path | None
    told: dict[str, Any] = field(default_factory=dict)


@contextmanager
def memory_group(limit: float | None) -> Iterator[MemoryGroup]:
    """A group with so many bytes; it is removed at the end, whatever became of its process."""
    if limit is None:
        yield MemoryGroup(None, {"limit_gb": None, "limit": "none was asked for"})
        return
    reasons = []
    for kind in KINDS:
        folder = kind.root / f"altopt-{os.getpid()}"
        try:
            folder.mkdir()
            if not (folder / kind.limit).exists():  # a folder like any other
                raise FileNotFoundError(2, "no groups of this kind")
            (folder / kind.limit).write_text(str(int(limit)))
        except OSError as error:
            reasons.append(f"{kind.root}: {error.strerror or error}")
            remove(folder)
            continue
        told = {"limit_gb": limit / 1e9, "limit": f"cgroup, {kind.limit}, cached pages counted"}
        group = MemoryGroup(folder, told)
        try:
            yield group
        finally:
            for name, file, unit in (("with_cache_gb", kind.peak, 1e9), ("reclaims", kind.reached, 1.0)):
                if file is not None and (folder / file).exists():
                    group.told[name] = int((folder / file).read_text()) / unit
            remove(folder)
        return
    yield MemoryGroup(None, {"limit_gb": None, "limit": f"none could be made: {'; '.join(reasons)}"})


def remove(folder: Path) -> None:
    """The group away; one whose process was killed a moment ago is busy yet."""
    end = time.monotonic() + PATIENCE
    while folder.exists():
        with suppress(OSError):
            folder.rmdir()
            return
        if time.monotonic() > end:
            return
        time.sleep(0.05)


def drop_cached(folder: Path) -> None:
    """Give back the cached pages of a folder's files, so that who reads them next is charged for them."""
    if not hasattr(os, "posix_fadvise"):  # macOS and Windows, which have no cgroups either
        return
    for path in folder.rglob("*"):
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            try:
                os.fsync(file)  # pages that are not on disk yet would stay
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
