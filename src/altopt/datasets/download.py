"""Downloads of raw files from those who publish them; a file is complete and the expected one, or absent."""

import csv
import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.request import urlopen

from altopt.errors import InputError, require_extra

FIRST_SUMS = "first-download.json"  # sha256 of files that altopt knows no sum of
TIMEOUT = 60.0  # seconds without an answer


class Origin(Protocol):
    """The publisher of a data set."""

    def fetch(self, root: Path) -> None:
        """Put the raw files where they belong under `root`."""


@dataclass(frozen=True)
class FromGeometric:
    """A data set class of PyTorch Geometric, which downloads when it is made."""

    kind: str
    folder: str
    options: dict[str, Any] = field(default_factory=dict)

    def fetch(self, root: Path) -> None:
        datasets = require_extra("torch_geometric.datasets", "graphs", f"Downloading {self.kind} data")
        getattr(datasets, self.kind)(str(root / self.folder), **self.options)


@dataclass(frozen=True)
class FromOGB:
    """A node property data set of ogb: its list of addresses, its download."""

    name: str

    def fetch(self, root: Path) -> None:
        ogb = require_extra("ogb.nodeproppred", "ogb", f"Downloading {self.name}")
        url = import_module("ogb.utils.url")
        with (Path(ogb.__file__).parent / "master.csv").open(newline="") as file:
            about = {row[""]: row[self.name] for row in csv.DictReader(file)}
        archive = url.download_url(about["url"], str(root))
        url.extract_zip(archive, str(root))
        shutil.move(root / about["download_name"], root / self.name.replace("-", "_"))


@dataclass(frozen=True)
class FromAddress:
    """Files below an address, fetched as they are and read by nobody on the way."""

    url: str
    folder: str
    files: tuple[str, ...]

    def fetch(self, root: Path) -> None:
        (root / self.folder).mkdir(parents=True)
        for file in self.files:
            copy = root / self.folder / file
            with urlopen(f"{self.url}/{file}", timeout=TIMEOUT) as answer, copy.open("wb") as opened:
                shutil.copyfileobj(answer, opened)


def fetch(name: str, origin: Origin, root: Path, folder: str, files: tuple[str, ...]) -> None:
    """Download into a temporary folder, then move into `root / folder`: an interrupted download leaves nothing."""
    if not root.is_dir():
        root.mkdir(parents=True)
        try:
            return fetch(name, origin, root, folder, files)
        except InputError:
            root.rmdir()
            raise
    with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as temporary:
        attempt(lambda: origin.fetch(Path(temporary)), name, root / folder, files)
        absent = [file for file in files if not (Path(temporary) / folder / file).is_file()]
        if absent:
            raise InputError(
                f"The download of {name} did not bring {absent[0]}. {by_hand(name, root / folder, files)}"
            )
        compare_sums(name, Path(temporary), root, folder, files)
        for file in files:
            (root / folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path(temporary) / folder / file, root / folder / file)


@cache
def known_sums() -> dict[str, str]:
    """The sha256 of raw files, by their place below the data folder."""
    sums: dict[str, str] = json.loads(Path(__file__).with_name("sums.json").read_text())
    return sums


def compare_sums(name: str, temporary: Path, root: Path, folder: str, files: tuple[str, ...]) -> None:
    """Refuse files that are not the known ones; of files without a known sum remember the first one's."""
    record = root / folder / FIRST_SUMS
    first = json.loads(record.read_text()) if record.is_file() else {}
    fresh = {file: sum_of(temporary / folder / file) for file in files}
    for file, found in fresh.items():
        expected = known_sums().get(f"{folder}/{file}", first.get(file))
        if expected not in (None, found):
            raise InputError(
                f"The download of {name} brought another {file} than expected: its sha256 is {found}, not {expected}. "
                f"Nothing was kept. Try again, or put the right file into {root / folder} yourself."
            )
    unknown = {file: found for file, found in fresh.items() if f"{folder}/{file}" not in known_sums()}
    if unknown:
        record.parent.mkdir(parents=True, exist_ok=True)
        record.write_text(json.dumps(first | unknown, indent=1) + "\n")


def sum_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def attempt(job: Callable[[], None], name: str, place: Path, files: tuple[str, ...]) -> None:
    try:
        job()
    except InputError:
        raise
    except Exception as cause:  # each package and protocol raises an error of its own
        reason = (str(cause) or type(cause).__name__).strip().splitlines()[0]
        raise InputError(
            f"{name} could not be downloaded ({reason}). Is there a network? {by_hand(name, place, files)}"
        ) from cause


def by_hand(name: str, place: Path, files: tuple[str, ...]) -> str:
    return f"Or put its raw files ({', '.join(files)}) into {place} yourself."
