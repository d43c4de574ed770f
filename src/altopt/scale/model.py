"""A fitted model of files: F, the encoder's inputs and the graph stay on disk, and answers read the rows they need."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, fields
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
from altopt.io.files import disk_errors, draft_name
from altopt.io.folder import FILES, FORMAT, VERSION, read_folder, refuse_foreign, write_folder
from altopt.io.store import decode_all, encode_all
from altopt.io.types import short
from altopt.operator.columns import Columns
from altopt.operator.scaling import Scaling
from altopt.scale.changes import ChangedSheet, Changes
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.panel import Labels, ViewWeights
from altopt.scale.sheet import Sheet
from altopt.selection.calibration import NodeKind, TemperedShares
from altopt.selection.leave_one_out import LeaveOneOut

PREDICTION_ROWS = 1 << 18  # in a file of predictions


@dataclass(frozen=True)
class ModelOfFiles:
    """What a fit with memory= leaves in a folder.

    Beside what is stored here the folder holds `F/` and `Z/`, sheets of the soft labels and of the diffused features,
    and `graph/`, the problem that was fitted. P is made from Z where it is asked for.

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

    def save(self, F: Sheet, Z: Sheet, graph: GraphFolder) -> None:
        """Write all of it into the folder, in place of an earlier model, at one instant."""
        target = self.folder
        refuse_foreign_model(target)
        draft = target.with_name(draft_name(target.name))
        values = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "folder"}
        arrays: dict[str, Array] = {}
        head = {"format": FORMAT, "kind": FILES, "version": VERSION}
        head |= {"values": encode_all(values, arrays, "values")}
        try:
            write_folder(draft, head, arrays)
            with disk_errors(target):
                for name, sheet in (("F", F), ("Z", Z)):
                    (draft / name).mkdir()
                    there = Sheet(draft / name, sheet.n_rows, sheet.widths, sheet.dtype)
                    for k in range(len(sheet.widths)):
                        link(sheet.file(k), there.file(k))
                for path in sorted(path for path in graph.folder.rglob("*") if path.is_file()):
                    link(path, draft / "graph" / path.relative_to(graph.folder))
                shutil.rmtree(target, ignore_errors=True)
                draft.replace(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    @classmethod
    def open(cls, folder: Path) -> "ModelOfFiles":
        """A stored model; sizes of its files are checked now."""
        head, arrays = read_folder(folder, FILES)
        try:
            model = cls(folder=folder, **decode_all(head["values"], arrays, "values", NOTHING_GIVEN))
            for sheet in (model.F, model.Z):
                sheet.check()
        except InputError as cause:
            raise InputError(f"{folder} cannot be opened: {cause}") from cause
        except Exception as cause:  # whatever a crafted file makes a part or numpy say
            raise InputError(f"{folder} is damaged: {short(cause)} while reading it. Fit again.") from cause
        return model

    @cached_property
    def graph(self) -> GraphFolder:
        return GraphFolder.open(self.folder / "graph")

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
        return Changes.read(self.folder, self.n_nodes, len(self.graph.classes))

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
        place, number = self.folder / "F", np.dtype(np.float32)
        return ChangedSheet(place, self.n_nodes, self.f_widths, number, self.changes.nodes, self.changes.rows)

    @property
    def Z(self) -> Sheet:
        return Sheet(self.folder / "Z", self.n_nodes, self.z_widths, np.dtype(self.z_storage))

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
    """Refuse a folder that holds anything but a model of this kind or of the other one."""
    try:
        refuse_foreign(folder, FILES)
    except InputError:
        refuse_foreign(folder, "model")


def link(source: Path, target: Path) -> None:
    """The same file under another name; a copy, where the disk is another one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
