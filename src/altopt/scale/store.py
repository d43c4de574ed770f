"""The store: files by name in a folder or any storage that pyarrow opens, each whole and with its checksum."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock

from altopt.errors import DiskError, InputError
from altopt.io.files import disk_errors, draft_name, remove_dead_drafts
from altopt.scale.file_systems import local_files, open_url, shown

CHUNK = 1 << 22  # bytes copied at a time
RECORD = ".sum"


@dataclass(frozen=True)
class Stored:
    """What was put under a name: sizes and checksums of the files, a single file being called ""."""

    files: dict[str, tuple[int, str]]
    freed: bool = False


class Store:
    """Files by name, put whole or not at all; what is read is what was put, or is refused.

    Beside each file stands its record, `<name>.sum`, which is written last: a file without one does not count.
    A plain folder is read and written where it lies. Of another storage, given as a URL such as `s3://bucket/run`, a
    job fetches copies of the files that it reads, and every machine keeps one of each folder.

    Parameters
    ----------
    place : str or Path
        A folder, or a URL that `pyarrow.fs.FileSystem.from_uri` opens.
    cache : Path, optional
        Where local copies go; a folder of this user among the temporary files by default.

    Attributes
    ----------
    bytes_read, bytes_written : int
        Through the storage by this process, and by jobs that a runner had run for it.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     draft = store.draft("greeting")
    ...     _ = draft.write_text("hello")
    ...     store.put("greeting", draft)
    ...     store.has("greeting"), store.path("greeting").read_text(), store.read("greeting", 1, 3)
    (True, 'hello', b'ell')
    """

    def __init__(self, place: str | os.PathLike[str], cache: str | os.PathLike[str] | None = None) -> None:
        self.place = os.fspath(place)
        self.shown = shown(self.place)
        self.bytes_read = self.bytes_written = 0
        self._checked: dict[str, tuple[int, int]] = {}  # path -> size and time of files found to be whole
        self.given_cache = None if cache is None else os.fspath(cache)
        if "://" in self.place:
            self.files, self.root = open_url(self.place)
            self.local = None
        else:
            self.local = Path(os.path.abspath(self.place))
            self.files, self.root = local_files(), str(self.local)
            with disk_errors(self.place):
                self.local.mkdir(parents=True, exist_ok=True)

    @cached_property
    def cache(self) -> Path:
        """Where local copies of this storage's files go."""
        if self.given_cache is not None:
            given = Path(self.given_cache)
            given.mkdir(parents=True, exist_ok=True)
            return given
        user = os.getuid() if hasattr(os, "getuid") else 0
        mine = Path(tempfile.gettempdir()) / f"altopt-{user}"
        mine.mkdir(mode=0o700, exist_ok=True)
        if hasattr(os, "getuid") and (mine.is_symlink() or mine.stat().st_uid != user):
            raise InputError(f"{mine} belongs to someone else. Set TMPDIR to a folder of your own.")
        cache = mine / blake2b(self.place.encode(), digest_size=8).hexdigest()
        cache.mkdir(exist_ok=True)
        return cache

    def has(self, name: str) -> bool:
        """Whether the file or folder was put and is there, of the right size, or was freed after use."""
        stored = self._stored(name)
        if stored is None or stored.freed:
            return stored is not None
        return all(self._size(_at(name, file)) == size for file, (size, _) in stored.files.items())

    def draft(self, name: str) -> Path:
        """Where to write what is then put under the name."""
        folder = self.cache if self.local is None else self.local
        return folder / draft_name(name)

    def put(self, name: str, draft: Path) -> None:
        """Store a draft under a name, where it appears whole; the draft is gone afterwards."""
        if not draft.is_file():
            raise InputError(f"{name} was not written: its draft {draft} is missing.")
        size, checksum = draft.stat().st_size, checksum_of(draft)
        with disk_errors(f"{self.shown}/{name}"):
            if self.local is None:
                with draft.open("rb") as source:
                    self._send(name, source)
                draft.unlink()
            else:
                os.replace(draft, self.local / name)
                remove_dead_drafts(self.local, name)
                self._note_whole(self.local / name)
        self.bytes_written += size
        self._record(name, Stored({"": (size, checksum)}))

    def put_folder(self, name: str, source: Path) -> None:
        """Store a folder of files; in a folder on the same disk they are linked, not copied."""
        files: dict[str, tuple[int, str]] = {}
        for path in sorted(source.rglob("[!.]*")):
            if not path.is_file():
                continue
            file = path.relative_to(source).as_posix()
            files[file] = path.stat().st_size, checksum_of(path)
            with disk_errors(f"{self.shown}/{name}"):
                if self.local is None:
                    with path.open("rb") as contents:
                        self._send(_at(name, file), contents)
                else:
                    _link(path, self.local / name / file)
            self.bytes_written += files[file][0]
        self._record(name, Stored(files))

    def path(self, name: str) -> Path:
        """A file as a local one; of a storage elsewhere, this machine keeps a copy."""
        stored = self._wanted(name)
        if self.local is not None:
            return self._whole(self.local / name, *stored.files[""], name)
        return self._copy(name, self.cache / name, *stored.files[""])

    def borrow(self, name: str) -> Path:
        """A file as a local one for as long as a job runs; see `give_back`."""
        stored = self._wanted(name)
        if self.local is None:
            return self._fetch(name, self.cache / draft_name(name), *stored.files[""])
        self.bytes_read += stored.files[""][0]
        return self._whole(self.local / name, *stored.files[""], name)

    def give_back(self, name: str, path: Path) -> None:
        """Remove the copy that `borrow` made, if it made one."""
        if self.local is None:
            path.unlink(missing_ok=True)

    def folder(self, name: str) -> Path:
        """A folder as a local one; of a storage elsewhere, this machine keeps one copy for all its jobs."""
        stored = self._wanted(name)
        for file, (size, checksum) in stored.files.items():
            if self.local is not None:
                self._whole(self.local / name / file, size, checksum, _at(name, file))
            else:
                self._copy(_at(name, file), self.cache / _at(name, file), size, checksum)
        return (self.cache if self.local is None else self.local) / name

    def read(self, name: str, offset: int, size: int) -> bytes:
        """Bytes of a file from `offset` on; its size is checked, not its checksum."""
        expected = self._wanted(name).files[""][0]
        found = self._size(name)
        if found != expected:
            raise self._cut(name, found, expected)
        with self._reading(name), self.files.open_input_file(self._there(name)) as file:
            data = file.read_at(size, offset)
        self.bytes_read += len(data)
        return bytes(data)

    def free(self, name: str) -> None:
        """Give the space of a file back: what made it still counts as done, and its contents are gone."""
        stored = self._stored(name)
        if stored is not None and not stored.freed:
            self._record(name, Stored(stored.files, freed=True))
            self._remove(name, stored)

    def discard(self, name: str) -> None:
        """Remove a file as if it had never been put."""
        stored = self._stored(name)
        if stored is not None:
            self.files.delete_file(self._there(name + RECORD))
            self._remove(name, stored)
            if "" not in stored.files:
                self._remove_empty_folder(name)

    def _remove(self, name: str, stored: Stored) -> None:
        for file in stored.files:
            if self._size(_at(name, file)) is not None:
                self.files.delete_file(self._there(_at(name, file)))
            if self.local is None:
                (self.cache / _at(name, file)).unlink(missing_ok=True)

    def _remove_empty_folder(self, name: str) -> None:
        from pyarrow.fs import FileSelector

        inside = FileSelector(self._there(name), allow_not_found=True, recursive=True)
        if not any(info.is_file for info in self.files.get_file_info(inside)):
            with suppress(OSError):  # an object storage may have none
                self.files.delete_dir(self._there(name))

    def drop_copies(self) -> None:
        """Remove what this machine has copied, unless the caller chose where."""
        if self.local is None and self.given_cache is None:
            shutil.rmtree(self.cache, ignore_errors=True)
            del self.cache

    def _there(self, name: str) -> str:
        return f"{self.root}/{name}"

    def _size(self, name: str) -> int | None:
        info = self.files.get_file_info(self._there(name))
        return int(info.size) if info.is_file else None

    def _stored(self, name: str) -> Stored | None:
        """The record of a name; None where nothing, or nothing readable, was put."""
        try:
            with self.files.open_input_stream(self._there(name + RECORD)) as file:
                said = json.loads(file.read())
            files = {str(file): (int(size), str(sum_)) for file, (size, sum_) in said["files"].items()}
            return Stored(files, bool(said["freed"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):  # cut off by a power failure: made again
            return None

    def _wanted(self, name: str) -> Stored:
        stored = self._stored(name)
        if stored is None:
            raise InputError(f"{self.shown} holds no {name}. Run the fit again to make it.")
        if stored.freed:
            raise InputError(
                f"{self.shown}: {name} was removed after use. Run the fit in a new storage to make it."
            )
        return stored

    def _record(self, name: str, stored: Stored) -> None:
        text = json.dumps(asdict(stored)).encode()
        with disk_errors(f"{self.shown}/{name}"):
            if self.local is None:
                with self.files.open_output_stream(self._there(name + RECORD)) as file:
                    file.write(text)
                return
            draft = self.local / draft_name(name + RECORD)
            draft.write_bytes(text)
            os.replace(draft, self.local / (name + RECORD))

    def _send(self, name: str, source: BinaryIO) -> None:
        there = self._there(name)
        self.files.create_dir(there.rpartition("/")[0], recursive=True)
        with self.files.open_output_stream(there) as target:
            shutil.copyfileobj(source, target, CHUNK)

    def _copy(self, name: str, here: Path, size: int, checksum: str) -> Path:
        """This machine's copy, made by one process while the others wait."""
        here.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(here.with_name(f".{here.name}.lock")):
            if not here.is_file() or here.stat().st_size != size:
                os.replace(self._fetch(name, here.with_name(draft_name(here.name)), size, checksum), here)
                remove_dead_drafts(here.parent, here.name)
        return self._whole(here, size, checksum, name)

    def _fetch(self, name: str, here: Path, size: int, checksum: str) -> Path:
        """A file copied to `here`, whole, or refused."""
        found = blake2b(digest_size=16)
        n_read = 0
        try:
            with (
                self._reading(name),
                self.files.open_input_stream(self._there(name)) as source,
                here.open("wb") as target,
            ):
                while chunk := source.read(CHUNK):
                    found.update(chunk)
                    target.write(chunk)
                    n_read += len(chunk)
            self.bytes_read += n_read
            if n_read != size:
                raise self._cut(name, n_read, size)
            if found.hexdigest() != checksum:
                raise self._changed(name)
        except BaseException:
            here.unlink(missing_ok=True)
            raise
        self._note_whole(here)
        return here

    def _whole(self, path: Path, size: int, checksum: str, name: str) -> Path:
        """A local file, if it is the one that was put; each process reads it all once."""
        found = path.stat().st_size if path.is_file() else None
        if found != size:
            raise self._cut(name, found, size)
        if self._checked.get(str(path)) != _version(path):
            if checksum_of(path) != checksum:
                raise self._changed(name)
            self._note_whole(path)
        return path

    def _note_whole(self, path: Path) -> None:
        self._checked[str(path)] = _version(path)

    def _cut(self, name: str, found: int | None, expected: int) -> InputError:
        if found is None:
            return InputError(f"{self.shown}: {name} is missing. Remove {name}{RECORD} and run again.")
        return InputError(
            f"{self.shown}: {name} has {found:,} bytes, but {expected:,} were written. Remove it and run again."
        )

    def _changed(self, name: str) -> InputError:
        return InputError(
            f"{self.shown}: {name} is not the file that was written: its checksum differs. Remove it and run again."
        )

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as cause:
            raise self._cut(name, None, 0) from cause
        except DiskError:
            raise
        except OSError as cause:
            reason = " ".join(str(cause).split())
            raise InputError(f"{self.shown}: {name} cannot be read ({reason}). Check the storage.") from cause


def checksum_of(path: Path) -> str:
    """blake2b of a file's contents."""
    checksum = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            checksum.update(chunk)
    return checksum.hexdigest()


def _at(name: str, file: str) -> str:
    return f"{name}/{file}" if file else name


def _version(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _link(source: Path, target: Path) -> None:
    """The same file under another name; a copy where the disk has no links, or another disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and os.path.samefile(source, target):
        return
    draft = target.with_name(draft_name(target.name))
    try:
        os.link(source, draft)
    except OSError:
        shutil.copyfile(source, draft)
    os.replace(draft, target)
