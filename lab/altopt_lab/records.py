"""Files of records, one JSON line each, which several processes may append to."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any

from altopt.errors import InputError
from altopt.io.files import check_output, disk_errors

try:
    import fcntl
except ImportError:  # no such locks on this system: one process at a time is on its own anyway
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]
WHOLE_FILE = 1 << 62  # a byte of the lock file that no claim can fall on


def read_records(path: Path | None) -> list[Record]:
    """The runs on record, oldest first; a last line that was cut short does not count."""
    if path is None or not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    try:
        return [json.loads(line) for line in lines[:-1] if line.strip()]
    except json.JSONDecodeError as cause:
        number = next(k for k, line in enumerate(lines, 1) if line.strip() and not is_json(line))
        raise InputError(
            f"{path} holds something else than a record in line {number:,}: {cause}. Mend or remove that line."
        ) from cause


def is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def append_record(path: Path, record: Record) -> None:
    """One whole line at the end of a file that no other process writes to; folders are made as needed."""
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")


class Records:
    """A file of records, open for appending, with claims on work that is being done.

    A claim is a lock on one byte of .FILE.lock, which the system releases however the process ends.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    lines : list of dict
        The records read so far.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Records(Path(folder) / "runs.jsonl") as records:
    ...     records.add({"key": "a"})
    ...     records.refresh()
    [{'key': 'a'}]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Record] = []
        self._read_up_to = 0
        check_output(path, "--out")
        with disk_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("ab").close()
            self._lock = os.open(path.with_name(f".{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o644)

    def __enter__(self) -> "Records":
        self.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._lock)

    def refresh(self) -> list[Record]:
        """The records that any process has added since the last call."""
        with disk_errors(self.path), self.path.open("rb") as file:
            file.seek(self._read_up_to)
            fresh, _, _ = file.read().rpartition(b"\n")
        if not fresh:
            return []
        self._read_up_to += len(fresh) + 1
        added = [json.loads(line) for line in fresh.split(b"\n") if is_json(line)]
        self.lines += added
        return added

    def add(self, record: Record) -> None:
        """One whole line, at once, after whatever others have written; a line that was cut short gives way."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        with disk_errors(self.path), self._held(WHOLE_FILE), self.path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            if whole < size:  # a process was stopped in the middle of a line
                file.truncate(whole)
            file.seek(whole)
            file.write(line)

    def claim(self, key: str) -> bool:
        """Whether this work is ours now; False while another process is at it."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place(key))
        except OSError:
            return False
        return True

    def release(self, key: str) -> None:
        if fcntl is not None:
            fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, place(key))

    @contextmanager
    def _held(self, byte: int) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        fcntl.lockf(self._lock, fcntl.LOCK_EX, 1, byte)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN, 1, byte)


def place(key: str) -> int:
    """The byte that stands for a piece of work."""
    return int.from_bytes(sha256(key.encode()).digest()[:6], "big")
