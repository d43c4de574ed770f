"""The folder of a model or checkpoint: a JSON file that names one safetensors file and is replaced at one instant.

    model.json                               all but the arrays; the name and sha256 of the arrays' file; a checksum
    model-<start of its sha256>.safetensors  the arrays
    .lock                                    locked by the process that writes
    .altopt-draft                            what a write has not finished

Every other file in the folder is someone else's and is left alone.
"""

import hashlib
import json
import os
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.io import circumstances
from altopt.io.files import disk_error, disk_errors, flush_to_disk, new_folder

FORMAT = "altopt-model"
FILES = "model of files"  # the kind of a model whose F stays on disk
VERSION = 2
HEAD, LOCK, DRAFT = "model.json", ".lock", ".altopt-draft"
ARRAYS = re.compile(r"model-([0-9a-f]{16})\.safetensors")
LOCK_SECONDS = 60.0
MAX_READS = 100  # of a folder that others keep replacing


def write_folder(
    path: Path,
    head: dict[str, Any],
    arrays: dict[str, Array],
    expected: str | None = None,
    *,
    durable: bool = True,
) -> str:
    """Replace what the folder holds, or nothing: a kill or a failure at any instant leaves the old or the new, whole.

    `expected` is the checksum that the folder is known to have; a folder that another process changed is refused.
    Returns the new checksum. `durable=False` leaves out the waits for the disk, without which a power cut, but no
    kill, may damage the folder.
    """
    head = {"circumstances": circumstances.here()} | head
    head = json.loads(json.dumps(head))  # as a reader will find it
    refuse_foreign(path, head["kind"])
    with new_folder(path), folder_lock(path), disk_errors(path), removed_on_failure(path):
        refuse_foreign(path, head["kind"])
        refuse_changed(path, expected)
        draft = path / DRAFT
        remove_draft(draft)
        draft.mkdir()
        name, sha256 = write_arrays(draft, arrays)
        head = head | {"arrays": name, "sha256": sha256}
        head["checksum"] = checksum(head)
        (draft / HEAD).write_text(json.dumps(head, indent=1) + "\n", encoding="utf-8")
        move_in(draft / name, durable)
        move_in(draft / HEAD, durable)
        with suppress(OSError):  # the new version is in place; the next write tries again
            remove_draft(draft)
            remove_arrays(path, keep=name)
        return str(head["checksum"])


def write_arrays(draft: Path, arrays: dict[str, Array]) -> tuple[str, str]:
    """Write the arrays' file, named by what it holds; its name and sha256."""
    from safetensors.numpy import save_file

    fresh = draft / "model.safetensors"
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, fresh)
    fresh.chmod(
        draft.stat().st_mode & 0o666
    )  # save_file keeps others from reading it, whatever the umask says
    sha256 = digest(fresh)
    name = f"model-{sha256[:16]}.safetensors"
    os.replace(fresh, draft / name)
    return name, sha256


def move_in(fresh: Path, durable: bool) -> None:
    """Move a finished file out of the draft; what it holds is on the disk before its name is."""
    folder = fresh.parent.parent
    if durable:
        flush_to_disk(fresh)
    os.replace(fresh, folder / fresh.name)
    if durable and os.name == "posix":
        try:
            flush_to_disk(folder)
        except OSError as cause:
            if fresh.name != HEAD:
                raise
            warnings.warn(  # readers have the new version already: it is stored, and no failure may be told
                f"{folder} was written, but the disk did not confirm it: {cause.strerror}. A power cut may undo it.",
                UserWarning,
                stacklevel=2,
            )


def read_folder(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The head and the arrays of one version, after every check that tells a good folder from another."""
    seen = None
    for _ in range(MAX_READS):
        version = version_of(path / HEAD)
        head = read_head(path, kind)
        try:
            return head, read_arrays(path / head["arrays"], head["sha256"])
        except FileNotFoundError as cause:
            if version == seen:  # no newer save took the arrays away
                raise InputError(
                    f"{path} is not a whole {kind}: it has no {head['arrays']}. Copy it again, or fit and save again."
                ) from cause
            seen = version
    raise InputError(
        f"{path} cannot be read: other processes keep replacing it. Try again when they are done."
    )


def kind_of(path: Path) -> str | None:
    """What the folder says it holds; nothing else of it is checked."""
    try:
        head = json_in(path / HEAD)
    except InputError:
        return None
    return str(head["kind"]) if isinstance(head, dict) and "kind" in head else None


def read_head(path: Path, kind: str) -> dict[str, Any]:
    """model.json, checked as far as it goes by itself."""
    file = path / HEAD
    head = json_in(file)
    if head is None:
        raise InputError(
            f"{path} is not a stored {kind}: it has no {HEAD}. Give the folder that save() wrote."
        )
    if not isinstance(head, dict) or head.get("format") != FORMAT or head.get("kind") != kind:
        raise InputError(f"{file} was not written by altopt as a {kind}. Give another folder.")
    version = head.get("version")
    if type(version) is not int or version < VERSION:
        raise InputError(
            f"{path} has format version {version!r}, which altopt no longer reads. Fit and save again."
        )
    if version > VERSION:
        raise InputError(
            f"{path} has format version {version}, but this altopt reads version {VERSION}. Upgrade altopt."
        )
    if head.get("checksum") != checksum(head) or not names_arrays(head):
        raise InputError(f"{file} is damaged: its checksum is wrong. Fit and save again.")
    return head


def names_arrays(head: dict[str, Any]) -> bool:
    """Whether the arrays' file is one of the folder, named by its own sum."""
    name, sha256 = head.get("arrays"), head.get("sha256")
    found = ARRAYS.fullmatch(name) if isinstance(name, str) else None
    return found is not None and isinstance(sha256, str) and sha256[:16] == found[1]


def read_arrays(file: Path, sha256: str) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        if not stat.S_ISREG(os.stat(file).st_mode) or digest(file) != sha256:
            raise InputError(f"{file} is damaged: its checksum is wrong. Fit and save again.")
        return load_file(file)
    except FileNotFoundError:
        raise
    except OSError as cause:
        raise InputError(
            f"{file} cannot be read: {cause.strerror}. Check the disk and its permissions."
        ) from cause
    except (SafetensorError, KeyError, TypeError, AttributeError, OverflowError) as cause:
        raise InputError(f"{file} is not a safetensors file of plain arrays. Fit and save again.") from cause


def json_in(file: Path) -> Any:
    """What a JSON file holds; None where there is no such file."""
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            return None
        return json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as cause:
        raise InputError(
            f"{file} cannot be read: {cause.strerror}. Check the disk and its permissions."
        ) from cause
    except (ValueError, RecursionError) as cause:
        raise InputError(f"{file} is damaged: it is not JSON. Fit and save again.") from cause


def version_of(file: Path) -> tuple[int, int] | None:
    """Tells one replacement of a file from the next."""
    with suppress(OSError, ValueError):
        found = os.stat(file)
        return found.st_ino, found.st_mtime_ns
    return None


def checksum(head: dict[str, Any]) -> str:
    """sha256 over everything in the head but the checksum itself, in canonical JSON."""
    rest = {key: value for key, value in head.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# whose files these are


def refuse_foreign(path: Path, kind: str) -> None:
    """Refuse to write where files are that altopt did not write as a `kind`; makes and changes nothing."""
    if not os.path.lexists(path):
        return
    try:
        others = [name for name in os.listdir(path) if name != HEAD and not is_own(name)]
        found = json_in(path / HEAD)
    except NotADirectoryError as cause:
        raise InputError(f"{path} is a file. Name a folder: nothing was overwritten.") from cause
    except OSError as cause:
        raise disk_error(path, cause) from cause
    except InputError as cause:
        raise InputError(f"{cause} Or name another folder: nothing was overwritten.") from cause
    ours = isinstance(found, dict) and found.get("format") == FORMAT and found.get("kind") == kind
    if not ours and (others or os.path.lexists(path / HEAD)):
        raise InputError(
            f"{path} exists and is not a stored {kind} of altopt. Name another folder: nothing was overwritten."
        )


def is_own(name: str) -> bool:
    """Whether a file of this name, other than model.json, is altopt's."""
    return name in (LOCK, DRAFT) or ARRAYS.fullmatch(name) is not None


def refuse_changed(path: Path, expected: str | None) -> None:
    """Refuse to undo what another process stored since."""
    if expected is None or not os.path.lexists(path / HEAD):
        return
    if json_in(path / HEAD).get("checksum") != expected:
        raise InputError(
            f"{path} was changed by another process since it was loaded. Load it again and repeat the update."
        )


def remove_folder(path: Path, kind: str) -> None:
    """Remove what altopt wrote as a `kind`, and the folder itself if nothing else is in it."""
    with suppress(OSError, InputError):
        refuse_foreign(path, kind)
        (path / HEAD).unlink(missing_ok=True)
        remove_draft(path / DRAFT)
        remove_arrays(path)
        (path / LOCK).unlink(missing_ok=True)
        path.rmdir()


def remove_arrays(path: Path, keep: str = "") -> None:
    """Remove the arrays of former versions; one that cannot be removed takes space and does no harm."""
    for name in os.listdir(path):
        if ARRAYS.fullmatch(name) and name != keep:
            with suppress(OSError):
                (path / name).unlink()


def remove_draft(draft: Path) -> None:
    """Remove an unfinished write: only the holder of the lock writes there, so an older draft is a dead process's."""
    if draft.is_symlink() or draft.is_file():
        draft.unlink()
    shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def removed_on_failure(path: Path) -> Iterator[None]:
    """Leave no draft and no arrays without a head after a failure, and no lock in a folder that holds no model."""
    try:
        yield
    except BaseException:
        with suppress(OSError, InputError):
            remove_draft(path / DRAFT)
            head = json_in(path / HEAD)
            if head is None:
                remove_arrays(path)
                (path / LOCK).unlink()
            elif isinstance(head, dict) and names_arrays(head):
                remove_arrays(path, keep=head["arrays"])
        raise


@contextmanager
def folder_lock(
    path: Path, timeout: float = LOCK_SECONDS, on_wait: Callable[[], None] = lambda: None
) -> Iterator[None]:
    """Hold the folder: others that write wait, those that read do not. A thread that holds it may take it again.

    `on_wait` is called once, where the lock is not free within a second.
    """
    from filelock import FileLock, Timeout

    try:
        mode = path.stat().st_mode & 0o666 | 0o600  # whoever may write in the folder may lock it
        lock = FileLock(path.resolve() / LOCK, mode=mode, is_singleton=True)
        try:
            lock.acquire(timeout=min(timeout, 1.0))
        except Timeout:
            on_wait()
            lock.acquire(timeout=max(timeout - 1.0, 0.0))
    except Timeout as cause:
        raise InputError(
            f"{path} is being written by another process; gave up after waiting {timeout:g} s. "
            "Try again when it is done: nothing was changed."
        ) from cause
    except OSError as cause:
        raise disk_error(path, cause) from cause
    try:
        yield
    finally:
        lock.release()
