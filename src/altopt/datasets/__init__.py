"""Data to try the method on: two kinds that come with the package, and the benchmark graphs by name."""

from difflib import get_close_matches
from pathlib import Path

from altopt.datasets.communities import communities
from altopt.datasets.dataset import Dataset
from altopt.datasets.digits import digits
from altopt.datasets.raw import SOURCES, data_folder, read
from altopt.errors import InputError

__all__ = ["Dataset", "available", "communities", "data_folder", "digits", "load"]

BUILT_IN = {"digits": digits, "communities": communities}


def load(name: str, data: str | Path | None = None) -> Dataset:
    """A data set by name, in any case; raw files are looked for in `data`, or where ALTOPT_DATA points.

    >>> load("Digits").X.shape
    (1797, 64)
    """
    wanted = name.lower().replace("_", "-")
    if wanted in BUILT_IN:
        return BUILT_IN[wanted]()
    for source in SOURCES:
        if source.name.lower() == wanted:
            return read(source, data)
    names = [*BUILT_IN, *(source.name for source in SOURCES)]
    near = get_close_matches(wanted, [known.lower() for known in names], n=1)
    hint = "".join(f" Did you mean {known}?" for known in names if known.lower() in near)
    raise InputError(f"No data set is called {name!r}.{hint} There are {', '.join(names)}.")


def available(data: str | Path | None = None) -> dict[str, bool]:
    """Every name that `load` knows, and whether its files are there now."""
    root = data_folder(data)
    return dict.fromkeys(BUILT_IN, True) | {source.name: not source.missing(root) for source in SOURCES}
