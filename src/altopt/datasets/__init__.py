"""Data to try the method on: two kinds that come with the package, and the benchmark graphs by name."""

from difflib import get_close_matches
from pathlib import Path

from altopt.datasets.communities import communities
from altopt.datasets.dataset import Dataset
from altopt.datasets.digits import digits
from altopt.datasets.raw import Source, data_folder, read
from altopt.datasets.sources import SOURCES
from altopt.errors import InputError

__all__ = ["Dataset", "available", "communities", "data_folder", "digits", "load"]

BUILT_IN = {"digits": digits, "communities": communities}


def load(
    name: str,
    data: str | Path | None = None,
    *,
    download: bool = False,
    largest_component: bool = False,
) -> Dataset:
    """A data set by name, in any case; raw files are looked for in `data`, or where ALTOPT_DATA points.

    Files that are not there are fetched into that folder only if `download` says so. `largest_component` leaves
    out all nodes but those of the largest connected part.

    >>> load("Digits").X.shape
    (1797, 64)
    """
    wanted = plain(name)
    found = BUILT_IN[wanted]() if wanted in BUILT_IN else read(source_of(name), data, download=download)
    return found.largest_component() if largest_component else found


def source_of(name: str) -> Source:
    """Where a benchmark graph comes from; a name that is not known is refused with a near one."""
    wanted = plain(name)
    for source in SOURCES:
        if source.name.lower() == wanted:
            return source
    names = [*BUILT_IN, *(source.name for source in SOURCES)]
    near = get_close_matches(wanted, [known.lower() for known in names], n=1)
    hint = "".join(f" Did you mean {known}?" for known in names if known.lower() in near)
    raise InputError(f"No data set is called {name!r}.{hint} There are {', '.join(names)}.")


def plain(name: str) -> str:
    return name.lower().replace("_", "-")


def available(data: str | Path | None = None) -> dict[str, bool]:
    """Every name that `load` knows, and whether its files are there now."""
    root = data_folder(data)
    return dict.fromkeys(BUILT_IN, True) | {source.name: not source.missing(root) for source in SOURCES}
