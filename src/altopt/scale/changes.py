"""What updates changed in a model of files: rows of F and labels, in one file beside it that is replaced whole."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.io.files import replacing
from altopt.scale.panel import Labels
from altopt.scale.sheet import Sheet

FILE = "changes.safetensors"


@dataclass(frozen=True)
class Changes:
    """Rows of F by their nodes, and given classes by their nodes, -1 where one was withdrawn; nodes rise.

    Examples
    --------
    >>> none = Changes.read(Path("nowhere"), 9, 2)
    >>> one = none.and_then(np.array([4]), np.ones((1, 2)), {7: 1})
    >>> two = one.and_then(np.array([2, 4]), np.zeros((2, 2)), {3: -1})
    >>> two.nodes.tolist(), two.rows.tolist()
    ([2, 4], [[0.0, 0.0], [0.0, 0.0]])
    >>> two.labels_now(Labels(np.array([1, 3]), np.array([0, 0]))).nodes.tolist()
    [1, 7]
    """

    nodes: Array
    rows: Array
    labelled: Array
    codes: Array

    @classmethod
    def read(cls, folder: Path, n_nodes: int, n_classes: int) -> "Changes":
        """Those of a folder; none where there is no such file."""
        path = folder / FILE
        if not path.is_file():
            empty = np.zeros(0, np.int64)
            return cls(empty, np.zeros((0, n_classes), np.float32), empty, np.zeros(0, np.int32))
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            found = load_file(path)
            changes = cls(*(found[name] for name in ("nodes", "rows", "labelled", "codes")))
            changes.check(n_nodes, n_classes)
        except (SafetensorError, KeyError, ValueError, TypeError, OSError) as error:
            raise InputError(
                f"{path} is damaged: {error}. Remove it to have the model as the fit left it."
            ) from error
        return changes

    def check(self, n_nodes: int, n_classes: int) -> None:
        """Refuse what no update wrote."""
        for nodes in (self.nodes, self.labelled):
            if nodes.dtype != np.int64 or nodes.ndim != 1 or np.any(np.diff(nodes) <= 0):
                raise ValueError("its nodes do not rise")
            if len(nodes) and not 0 <= nodes[0] <= nodes[-1] < n_nodes:
                raise ValueError("it names nodes that the graph does not have")
        if self.rows.dtype != np.float32 or self.rows.shape != (len(self.nodes), n_classes):
            raise ValueError("its rows are not those of its nodes")
        if not np.isfinite(self.rows).all() or self.codes.shape != self.labelled.shape:
            raise ValueError("its numbers are not those of an update")
        if self.codes.dtype != np.int32 or np.any((self.codes < -1) | (self.codes >= n_classes)):
            raise ValueError("it names classes that the model does not have")

    def and_then(self, nodes: Array, rows: Array, labels: dict[int, int]) -> "Changes":
        """These and further ones, which count where both name a node."""
        places, codes = np.array(list(labels), np.int64), np.array(list(labels.values()), np.int32)
        return Changes(
            *later(self.nodes, self.rows, nodes.astype(np.int64), rows.astype(np.float32)),
            *later(self.labelled, self.codes, places, codes),
        )

    def write(self, folder: Path) -> None:
        from safetensors.numpy import save_file

        arrays = {
            name: np.ascontiguousarray(array) for name, array in vars(self).items() if name in self.names
        }
        with replacing(folder / FILE) as draft:
            save_file(arrays, draft)

    @property
    def names(self) -> tuple[str, ...]:
        return ("nodes", "rows", "labelled", "codes")

    @cached_property
    def any(self) -> bool:
        return bool(len(self.nodes) or len(self.labelled))

    def labels_now(self, given: Labels) -> Labels:
        """The labels of the fit with those of the updates."""
        nodes, codes = later(given.nodes, given.codes.astype(np.int32), self.labelled, self.codes)
        return Labels(nodes[codes >= 0], codes[codes >= 0])


def later(nodes: Array, values: Array, new_nodes: Array, new_values: Array) -> tuple[Array, Array]:
    """Values by node, those of the later ones where both have one."""
    every = np.concatenate([new_nodes, nodes])
    found, first = np.unique(every, return_index=True)
    return found, np.concatenate([new_values, values])[first]


@dataclass(frozen=True)
class ChangedSheet(Sheet):
    """A sheet with some rows replaced by others."""

    changed: Array
    now: Array

    def read(self, k: int, first: int, last: int) -> Array:
        found = super().read(k, first, last)
        begin, end = np.searchsorted(self.changed, (first, last))
        left, right = self.columns[k]
        found[self.changed[begin:end] - first] = self.now[begin:end, left:right]
        return found

    def _single_rows(self, k: int, rows: Array) -> Array:
        found = super()._single_rows(k, rows)
        at = np.searchsorted(self.changed, rows)
        here = np.flatnonzero(at < len(self.changed))
        here = here[self.changed[at[here]] == rows[here]]
        left, right = self.columns[k]
        found[here] = self.now[at[here], left:right]
        return found
