"""Data sets for runs, and what is worked out once for all runs on one of them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from altopt.datasets import Dataset, load
from altopt_lab.experiments.config import InputCache
from altopt_lab.experiments.protocols import LARGEST_COMPONENT


@dataclass
class DatasetContext:
    """A data set, with encoder inputs that its runs share.

    Parameters
    ----------
    dataset : Dataset
    feature_inputs : InputCache
        Inputs made of X.
    link_inputs : InputCache
        Inputs made of rows of the adjacency.
    """

    dataset: Dataset
    feature_inputs: InputCache = field(default_factory=InputCache)
    link_inputs: InputCache = field(default_factory=InputCache)


def read_data(name: str, folder: Path | None) -> Dataset:
    """A data set by its name, or the largest component of its graph."""
    whole = load(name.removesuffix(LARGEST_COMPONENT), folder)
    return whole.largest_component() if name.endswith(LARGEST_COMPONENT) else whole


class DatasetContexts:
    """Contexts by the name of their data set, which is read when it is first needed.

    Parameters
    ----------
    folder : Path or None
        Folder of the raw files; None: ALTOPT_DATA or ./data.
    read : callable
        From a name and that folder to the data set.
    """

    def __init__(
        self, folder: Path | None = None, read: Callable[[str, Path | None], Dataset] = read_data
    ) -> None:
        self._folder, self._read = folder, read
        self._contexts: dict[str, DatasetContext] = {}

    def __call__(self, name: str) -> DatasetContext:
        if name not in self._contexts:
            self._contexts[name] = DatasetContext(self._read(name, self._folder))
        return self._contexts[name]
