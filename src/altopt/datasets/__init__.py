"""Data sets by name: two that come with the package, and benchmark graphs from raw files."""

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
    """A data set by name.

    Parameters
    ----------
    name : str
        One of `available()`, in upper or lower case.
    data : path, optional
        The folder of raw files. Default: the environment variable ALTOPT_DATA, else ./data.
    download : bool, default False
        Download raw files that are missing. Nothing is written to disk otherwise.
    largest_component : bool, default False
        Keep the nodes of the largest connected component only.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load("Digits").X.shape
    (1797, 64)
    >>> load("kora")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    altopt.errors.InputError: No data set is called 'kora'. Did you mean Cora? There are ...
    """
    wanted = plain(name)
    dataset = BUILT_IN[wanted]() if wanted in BUILT_IN else read(source_of(name), data, download=download)
    return dataset.largest_component() if largest_component else dataset


def source_of(name: str) -> Source:
    """The source of a benchmark graph; an unknown name is refused, with the nearest known one."""
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
    """Every name that `load` knows, and whether its files are on disk."""
    root = data_folder(data)
    return dict.fromkeys(BUILT_IN, True) | {source.name: not source.missing(root) for source in SOURCES}
