"""A fitted model of files: F, the encoder's inputs and the graph stay on disk, and answers read the rows they need."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from altopt.arrays import Array, certainty
from altopt.encoders.linear import LinearEncoder, LinearLearner
from altopt.errors import InputError
from altopt.graph.tables import write_predictions
from altopt.inputs.reduced import Projection
from altopt.io.codec import NOTHING_GIVEN
from altopt.io.files import disk_errors, new_folder
from altopt.io.folder import (
    DRAFT,
    FILES,
    FORMAT,
    HEAD,
    VERSION,
    folder_lock,
    is_own,
    json_in,
    read_folder,
    refuse_foreign,
    remove_arrays,
    remove_draft,
    removed_on_failure,
    write_folder,
)
from altopt.io.store import decode_all, encode_all
from altopt.io.types import short
from altopt.operator.columns import Columns
from altopt.operator.scaling import Scaling
from altopt.scale.changes import ChangedSheet, Changes
from altopt.scale.csr_file import MANIFEST, checksum_of
from altopt.scale.data_folder import (
    NAME,
    link,
    new_name,
    refuse_other_contents,
    refuse_other_samples,
    remove_others,
    sample_of,
)
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.panel import Labels, ViewWeights
from altopt.scale.sheet import Sheet
from altopt.selection.calibration import NodeKind, TemperedShares
from altopt.selection.leave_one_out import LeaveOneOut

PREDICTION_ROWS = 1 << 18  # in a file of predictions
MANIFESTS = (f"graph/{MANIFEST}", f"graph/edges/{MANIFEST}")


@dataclass(frozen=True)
class ModelOfFiles:
    """What a fit with memory= leaves in a folder.

    Beside what is stored here the folder holds `data-<number>/` with `F/` and `Z/`, sheets of the soft labels and of
    the diffused features, and `graph/`, the problem that was fitted. P is made from Z where it is asked for.

    Parameters
    ----------
    folder : Path
    feature_weight, label_weight : float
        lambda1 and lambda2.
    restart, n_diffusion, seed : float, int, int
        As in AltOpt.
    encoder : LinearEncoder
    W, b : array
        Its weights.
    centre, scalars, row_exponent : array, array, float
        The scaling of Z's rows.
    columns : Columns
        How the columns of X are read.
    directions : array or None
        V, where Z is X' V; None: Z has every column of X.
    f_widths, z_widths, z_storage : tuple, tuple, str
        The panels of F and Z.
    readout : TemperedShares
    unreached : array of int
        Nodes that nothing is known of.
    leave_one_out : LeaveOneOut or str
        The estimate, or why there is none.
    choice, trace, outcome : dict, list of dict, str
        As in AltOpt.
    data : str
        The folder of the large files; every save makes one of its own.
    samples, checksums : dict
        Of the large files by name: of pieces of each panel and of the graph's manifests, and of whole panels.
    """

    folder: Path
    feature_weight: float
    label_weight: float
    restart: float
    n_diffusion: int
    seed: int
    encoder: LinearEncoder
    W: Array
    b: Array
    centre: Array
    scalars: Array
    row_exponent: float
    columns: Columns
    directions: Array | None
    f_widths: tuple[int, ...]
    z_widths: tuple[int, ...]
    z_storage: str
    readout: TemperedShares
    unreached: Array
    leave_one_out: LeaveOneOut | str
    choice: dict[str, Any]
    trace: list[dict[str, Any]]
    outcome: str
    data: str = ""
    samples: dict[str, str] = field(default_factory=dict)
    checksums: dict[str, str] = field(default_factory=dict)

    def save(self, F: Sheet, Z: Sheet, graph: GraphFolder) -> None:
        """Write all of it into the folder. An earlier model stays whole until this one takes its place at one instant.

        Files of others in the folder are left alone.
        """
        target = self.folder
        refuse_foreign_model(target)
        with new_folder(target), folder_lock(target), disk_errors(target), removed_on_failure(target):
            refuse_foreign_model(target)
            draft, name = target / DRAFT, new_name()
            remove_draft(draft)
            files = dict(_files(F, Z, graph))
            model = replace(
                self,
                data=name,
                samples={file: sample_of(files[file]) for file in (*_panels(F, Z), *MANIFESTS)},
                checksums={file: checksum_of(files[file]) for file in _panels(F, Z)},
            )
            arrays = model._write_head(draft)
            for file, source in files.items():
                link(source, draft / name / file)
            try:
                for entry in (name, arrays, HEAD):
                    os.replace(draft / entry, target / entry)
            except BaseException:
                shutil.rmtree(target / name, ignore_errors=True)
                raise
            with suppress(OSError):  # the new version is in place; the next save tries again
                remove_draft(draft)
                remove_arrays(target, keep=arrays)
                remove_others(target, keep=name)

    def _write_head(self, draft: Path) -> str:
        """All that is no large file; the name of the file of arrays."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "folder"}
        arrays: dict[str, Array] = {}
        head = {"format": FORMAT, "kind": FILES, "version": VERSION}
        write_folder(draft, head | {"values": encode_all(values, arrays, "values")}, arrays)
        return str(json_in(draft / HEAD)["arrays"])

    @classmethod
    def open(cls, folder: Path) -> "ModelOfFiles":
        """A stored model; sizes of its files are checked now, and samples of them; all contents by `verify`."""
        head, arrays = read_folder(folder, FILES)
        try:
            model = cls(folder=folder, **decode_all(head["values"], arrays, "values", NOTHING_GIVEN))
            if not NAME.fullmatch(model.data):
                raise InputError(f"{HEAD} names no folder of data. Fit again.")
            for sheet in (model.F, model.Z):
                sheet.check()
            refuse_other_samples(model.place, model.samples)
        except InputError as cause:
            raise InputError(f"{folder} cannot be opened: {cause}") from cause
        except Exception as cause:  # whatever a crafted file makes a part or numpy say
            raise InputError(f"{folder} is damaged: {short(cause)} while reading it. Fit again.") from cause
        return model

    def verify(self) -> None:
        """Refuse files whose contents are not those of the fit; every byte of them is read."""
        refuse_other_contents(self.place, self.checksums)
        self.graph.verify()

    @property
    def place(self) -> Path:
        """Where the large files are."""
        return self.folder / self.data

    @cached_property
    def graph(self) -> GraphFolder:
        return GraphFolder.open(self.place / "graph")

    @property
    def n_nodes(self) -> int:
        return self.graph.n_nodes

    @property
    def classes(self) -> Array:
        return np.array(self.graph.classes)

    @property
    def weights(self) -> ViewWeights:
        return ViewWeights(self.feature_weight, self.label_weight)

    @cached_property
    def changes(self) -> Changes:
        """What updates changed since the fit."""
        return Changes.read(self.place, self.n_nodes, len(self.graph.classes))

    @property
    def given_labels(self) -> Labels:
        """The labels of the fit."""
        return Labels(self.graph.labelled, self.graph.labels)

    @cached_property
    def labels(self) -> Labels:
        """The labels as they are now."""
        return self.changes.labels_now(self.given_labels)

    @property
    def F(self) -> Sheet:
        """F as it is now."""
        place, number = self.place / "F", np.dtype(np.float32)
        return ChangedSheet(place, self.n_nodes, self.f_widths, number, self.changes.nodes, self.changes.rows)

    @property
    def Z(self) -> Sheet:
        return Sheet(self.place / "Z", self.n_nodes, self.z_widths, np.dtype(self.z_storage))

    @cached_property
    def scaling(self) -> Scaling:
        norm, size = self.scalars.tolist()
        return Scaling(self.centre, norm, size, self.row_exponent)

    @cached_property
    def learner(self) -> LinearLearner:
        learner = LinearLearner(self.encoder, *self.W.shape)
        learner.restore({"W": self.W, "b": self.b})
        return learner

    @property
    def projection(self) -> Projection:
        """From features to coordinates, of which Z has those of the known nodes, diffused."""
        d = len(self.graph.feature_names)
        V = np.eye(d, dtype=np.float32) if self.directions is None else self.directions
        return Projection(V, self.columns)

    def encoder_output(self, nodes: Array) -> Array:
        """P of some nodes."""
        return self.learner.probabilities(self.scaling.rows(self.Z.gather(nodes)), np.float32)

    def kinds(self, first: int, last: int) -> Array:
        """NodeKind of nodes first..last."""
        isolated = np.diff(self.graph.csr.indptr[first : last + 1]) == 0
        isolated[self.labels.within(first, last)[0]] = False
        kinds = np.where(isolated, NodeKind.ISOLATED, NodeKind.TIED).astype(np.int8)
        begin, end = np.searchsorted(self.unreached, (first, last))
        kinds[self.unreached[begin:end] - first] = NodeKind.UNREACHED
        return kinds

    def probabilities(self, first: int, last: int) -> Array:
        """Calibrated class probabilities of nodes first..last."""
        return self.readout.soften(self.F.rows(first, last), self.kinds(first, last))

    def predictions(self, first: int, last: int) -> tuple[Array, Array, Array]:
        """Class number, confidence and probabilities of nodes first..last; a given label stays."""
        P = self.probabilities(first, last)
        codes = P.argmax(axis=1)
        nodes, given = self.labels.within(first, last)
        codes[nodes] = given
        return codes, certainty(P), P

    def write_predictions(self, folder: Path) -> Iterator[Path]:
        """Write `node, label, confidence, p_<class>...` as a dataset of Parquet files, one after another."""
        classes = self.classes
        for k, first in enumerate(range(0, self.n_nodes, PREDICTION_ROWS)):
            last = min(first + PREDICTION_ROWS, self.n_nodes)
            codes, confidence, P = self.predictions(first, last)
            path = folder / f"part-{k:05d}.parquet"
            write_predictions(path, self.graph.ids(first, last), classes[codes], confidence, P, classes)
            yield path


def refuse_foreign_model(folder: Path) -> None:
    """Refuse a folder that holds anything but a model of this kind or of the other one, or the rests of one."""
    try:
        refuse_foreign(folder, FILES)
    except InputError:
        if folder.is_dir() and all(is_own(name) or NAME.fullmatch(name) for name in os.listdir(folder)):
            return  # of a first save that was killed
        refuse_foreign(folder, "model")


def _panels(F: Sheet, Z: Sheet) -> dict[str, Path]:
    """The panels of both sheets, by their names in the model."""
    found: dict[str, Path] = {}
    for name, sheet in (("F", F), ("Z", Z)):
        there = Sheet(Path(name), sheet.n_rows, sheet.widths, sheet.dtype)
        found |= {there.file(k).as_posix(): sheet.file(k) for k in range(len(sheet.widths))}
    return found


def _files(F: Sheet, Z: Sheet, graph: GraphFolder) -> Iterator[tuple[str, Path]]:
    """All large files, likewise."""
    yield from _panels(F, Z).items()
    for path in sorted(path for path in graph.folder.rglob("*") if path.is_file()):
        yield f"graph/{path.relative_to(graph.folder).as_posix()}", path
