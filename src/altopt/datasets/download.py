"""Downloads of raw files through the packages that publish them; a file is complete or absent."""

import csv
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from altopt.errors import InputError, require_extra


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
    """A single file at an address, published by no package."""

    url: str
    folder: str

    def fetch(self, root: Path) -> None:
        data = require_extra("torch_geometric.data", "graphs", f"Downloading {self.url}")
        data.download_url(self.url, str(root / self.folder))


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
        for file in files:
            (root / folder / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(Path(temporary) / folder / file, root / folder / file)


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
