"""The jobs of a fit: what is done to which files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file, save_file
from threadpoolctl import ThreadpoolController

from altopt.arrays import Array, one_hot, row_blocks
from altopt.encoders.linear import C_from_effective_rank, LinearEncoder, LinearLearner
from altopt.inputs.keys import likeness
from altopt.operator.columns import Columns
from altopt.operator.feature_matrix import FeatureMatrix, empty_rows
from altopt.operator.kinds import columns_of
from altopt.operator.scaling import Scaling
from altopt.scale.csr_file import CsrFile
from altopt.scale.diffuse import diffuse_panel
from altopt.scale.edge_stream import EdgeStream
from altopt.scale.encode import Encoder
from altopt.scale.job import Work, job
from altopt.scale.panel import Labels, PanelSystem, ViewWeights
from altopt.scale.plan import edge_memory
from altopt.scale.sheet import Sheet, SheetOfFiles
from altopt.scale.solve import (
    Norms,
    chebyshev,
    chebyshev_with_norms,
    refine,
    rest_from,
    rough_steps,
    rows_of,
    start_from_labels,
    start_from_rows,
    write_rows,
)
from altopt.scale.wanted import places, round_nodes, unlabelled_sample, watched_nodes
from altopt.selection.folds import stratified_folds
from altopt.training.pseudo_labels import ClassBalanced
from altopt.training.samples import evenly, in_order

Settings = dict[str, Any]


def write_arrays(path: Path, arrays: dict[str, Array]) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


# what jobs read


def edges_of(work: Work, name: str, n_blocks: int = 0, width: int = 0, itemsize: int = 0) -> EdgeStream:
    """The edges, in memory where the job's blocks leave room for them."""
    csr = CsrFile.open(work.folder(name))
    return EdgeStream(csr, edge_memory(work.budget, csr, n_blocks * width * itemsize))


def features_sheet(work: Work, name: str) -> Sheet:
    settings = work.settings
    return Sheet(work.folder(name), settings["n_nodes"], tuple(settings["x_widths"]), np.dtype(np.float32))


def inputs_sheet(work: Work, names: list[str]) -> Sheet:
    """Z, of which each panel is a file; each machine keeps its copy."""
    settings = work.settings
    files, widths = tuple(work.keep(name) for name in names), tuple(settings["z_widths"])
    return SheetOfFiles(Path(), settings["n_nodes"], widths, np.dtype(settings["z_storage"]), files)


def labels_of(work: Work, name: str) -> Labels:
    arrays = load_file(work.input(name))
    return Labels(arrays["nodes"], arrays["codes"])


def learner_of(work: Work, name: str, encoder: LinearEncoder) -> LinearLearner:
    state = load_file(work.input(name))
    learner = LinearLearner(encoder, *state["W"].shape)
    learner.restore(state)
    return learner


def scaling_of(work: Work, name: str) -> Scaling:
    return Scaling.restore(load_file(work.input(name)), work.settings["row_exponent"])


def linear_encoder(settings: Settings) -> LinearEncoder:
    return LinearEncoder(**settings["encoder"])


# encoder inputs


@job("read columns")
def read_columns(work: Work) -> None:
    """How each column of X is read, and which nodes have no features."""
    [features] = work.inputs
    X = features_sheet(work, features)
    with ThreadpoolController().limit(limits=1):
        write_arrays(work.output("columns"), columns_of(X).state())
    write_arrays(work.output("featureless"), {"nodes": np.flatnonzero(empty_rows(X)).astype(np.int64)})


@job("diffuse panel")
def diffuse(work: Work) -> None:
    """Some columns of X, read by their kinds, or of X V, diffused."""
    edges, features, columns, *directions = work.inputs
    settings = work.settings
    X, (first, last) = features_sheet(work, features), settings["columns"]
    read = Columns.restore(load_file(work.input(columns)))
    out = one_panel(work.output("Z"), X.n_rows, last - first, settings["z_storage"])
    rows: Iterator[tuple[int, Array]]
    if directions:
        V = load_file(work.input(directions[0]))["V"]  # all of it: the bits of a product depend on its width
        rows = ((rows.start, (read.read(X[rows]) @ V)[:, first:last]) for rows in row_blocks(X.n_rows))
    else:
        some = read.only(np.arange(first, last))
        rows = (
            (rows.start, some.read(X.some_columns(rows.start, rows.stop, first, last)))
            for rows in row_blocks(X.n_rows)
        )
    stream = edges_of(work, edges, 3, last - first, 4)
    with ThreadpoolController().limit(limits=1):
        diffuse_panel(stream, rows, last - first, settings["restart"], settings["n_steps"], out)


def one_panel(path: Path, n_rows: int, width: int, dtype: Any) -> Sheet:
    """A sheet of one panel at a path."""
    return SheetOfFiles(path.parent, n_rows, (width,), np.dtype(dtype), (path,)).create()


@job("scale rows")
def scale(work: Work) -> None:
    """The scaling of Z's rows, and the encoder's C that follows from them."""
    Z = inputs_sheet(work, list(work.inputs))
    with ThreadpoolController().limit(limits=1):
        scaling = Scaling.of(Z, work.settings["row_exponent"])
        C = C_from_effective_rank(ScaledRows(Z, scaling))
    write_arrays(work.output("scaling"), scaling.state() | {"C": np.array([C])})


class ScaledRows:
    """What the encoder reads, as an array is read."""

    def __init__(self, Z: Sheet, scaling: Scaling) -> None:
        self.Z, self.scaling, self.shape = Z, scaling, Z.shape

    def __getitem__(self, rows: Any) -> Array:
        return self.scaling.rows(self.Z[rows])


@job("deal folds")
def deal(work: Work) -> None:
    """The fold of each label; labels are dealt out by what their nodes are like, not by where they stand."""
    edges, features, columns, labels = work.inputs
    known, X = labels_of(work, labels), features_sheet(work, features)
    read = FeatureMatrix(X.gather(known.nodes), Columns.restore(load_file(work.input(columns))))
    csr = CsrFile.open(work.folder(edges))
    key = likeness(read) + np.sqrt(2.0) / csr.mean_weight * degrees_of(csr, known.nodes)
    fold = stratified_folds(known.codes, work.settings["seed"], work.settings["n_folds"], key)
    write_arrays(work.output("folds"), {"fold": fold, "key": key})


@job("order nodes")
def order(work: Work) -> None:
    """All nodes in the order of what they are like, from which samples are drawn."""
    edges, features, columns = work.inputs
    csr, X = CsrFile.open(work.folder(edges)), features_sheet(work, features)
    read = Columns.restore(load_file(work.input(columns)))
    key = np.empty(csr.n_nodes)
    for rows in row_blocks(csr.n_nodes):
        degrees = degrees_of(csr, np.arange(rows.start, rows.stop))
        key[rows] = likeness(FeatureMatrix(X[rows], read)) + np.sqrt(2.0) / csr.mean_weight * degrees
    nodes = np.argsort(key, kind="stable")
    write_arrays(work.output("order"), {"order": nodes.astype(np.int32 if len(nodes) < 2**31 else np.int64)})


def degrees_of(csr: CsrFile, nodes: Array) -> Array:
    """Degrees of some rising nodes; 0 of isolated ones."""
    found = np.zeros(len(nodes))
    for rows in row_blocks(csr.n_nodes):
        begin, end = np.searchsorted(nodes, (rows.start, rows.stop))
        if end > begin:
            here = nodes[begin:end] - rows.start
            counts = np.diff(csr.indptr[rows.start : rows.stop + 1])[here]
            found[begin:end] = np.where(counts > 0, csr.degrees(rows.start, rows.stop)[here], 0.0)
    return found


@job("gather rows")
def gather(work: Work) -> None:
    """What the encoder reads of the labelled nodes."""
    labels, scaling, *Z = work.inputs
    rows = scaling_of(work, scaling).rows(inputs_sheet(work, Z).gather(labels_of(work, labels).nodes))
    write_arrays(work.output("rows"), {"rows": rows})


# the encoder


@job("train encoder")
def train(work: Work) -> None:
    """The encoder trained on the given labels, or on those outside a fold."""
    labels, rows, *folds = work.inputs
    settings, known, read = work.settings, labels_of(work, labels), load_file(work.input(rows))["rows"]
    kept = slice(None)
    if folds:
        kept = load_file(work.input(folds[0]))["fold"] != settings["fold"]
    Y = one_hot(known.codes[kept], settings["n_classes"], np.dtype(settings["dtype"]))
    learner = LinearLearner(linear_encoder(settings), read.shape[1], settings["n_classes"])
    with ThreadpoolController().limit(limits=1):
        learner.train(read[kept], Y, np.ones(len(Y)), settings["n_epochs"])
    write_arrays(work.output("encoder"), learner.state())


@job("read round")
def read_round(work: Work) -> None:
    """Certainty and class of the nodes that a round looks at, the class priors, and the share of changed labels."""
    settings, n_panels = work.settings, work.settings["n_panels"]
    labels, chosen_nodes, *names = work.inputs
    known, F = labels_of(work, labels), side_by_side(work, names[:n_panels])
    n_nodes, n_classes = settings["n_nodes"], settings["n_classes"]
    rule, asked = class_balanced(settings, known), load_file(work.input(chosen_nodes))
    nodes, pseudo = asked["nodes"], asked["sample"]
    before = load_file(work.input(names[n_panels])) if len(names) > n_panels else None
    priors = None if before is None or "priors" not in before else before["priors"]
    factors, priors = rule.factors(F[places(nodes, asked["evenly"])], priors)
    reading = rule.read_with(F, factors, priors)
    watched = watched_nodes(n_nodes, n_classes)
    label = reading.label[places(nodes, watched)]
    if before is None:
        first = np.zeros(len(watched), np.int32)
        _, at, of = np.intersect1d(watched, known.nodes, assume_unique=True, return_indices=True)
        first[at] = known.codes[of]
    changed = float(np.mean(label != (first if before is None else before["label"])))
    at = places(nodes, pseudo)
    certain, weights = rule.weigh(reading.w[at], reading.label[at], n_classes, len(known.nodes))
    chosen = F[at[certain]]
    targets = rule.soften(chosen if factors is None else chosen * factors)
    kept = {"label": label, "nodes": pseudo[certain], "weights": weights, "targets": targets}
    told = {} if priors is None else {"priors": priors}
    write_arrays(work.output("reading"), kept | told | {"changed": np.array([changed])})


def class_balanced(settings: Settings, known: Labels) -> ClassBalanced:
    """The rule of the rounds; it keeps to class priors as far as the labels let them be trusted."""
    shares = np.bincount(known.codes, minlength=settings["n_classes"]) / len(known.codes)
    return ClassBalanced(
        settings["temperature"],
        settings["min_confidence"],
        limit=settings["limit"],
        trust=settings["trust"],
        label_shares=tuple(shares.tolist()),
    )


def side_by_side(work: Work, names: list[str]) -> Array:
    """Rows of F from those of its panels."""
    return np.concatenate([load_file(work.input(name))["rows"] for name in names], axis=1)


@job("teach encoder")
def teach(work: Work) -> None:
    """The encoder trained on, with the pseudo labels of a round."""
    labels, rows, encoder, reading, scaling, *Z = work.inputs
    settings, known, read = work.settings, labels_of(work, labels), load_file(work.input(reading))
    own, pseudo = load_file(work.input(rows))["rows"], read["nodes"]
    of_pseudo = scaling_of(work, scaling).rows(inputs_sheet(work, Z).gather(pseudo))
    Y = one_hot(known.codes, settings["n_classes"], read["targets"].dtype)
    targets, weights = (
        np.concatenate([Y, read["targets"]]),
        np.concatenate([np.ones(len(Y)), read["weights"]]),
    )
    learner = learner_of(work, encoder, linear_encoder(settings))
    with ThreadpoolController().limit(limits=1):
        loss = learner.train(np.concatenate([own, of_pseudo]), targets, weights, settings["n_epochs"])
    write_arrays(work.output("encoder"), learner.state())
    work.output("record").write_text(json.dumps({"loss": loss, "n_selected": len(pseudo)}))


# F


class PanelWork(NamedTuple):
    """What jobs on a panel of F work with."""

    system: PanelSystem
    P: Encoder
    X: Array  # where the steps begin
    nodes: Array  # whose rows are looked at


def panel_work(work: Work) -> PanelWork:
    """Inputs are edges, labels, scaling, encoder and panels of Z; then folds, a panel to start at and nodes, if any."""
    edges, labels, scaling, encoder, *others = work.inputs
    settings = work.settings
    n_panels, more = len(settings["z_widths"]), iter(others[len(settings["z_widths"]) :])
    known = labels_of(work, labels)
    if settings["fold"] is not None:
        outside = load_file(work.input(next(more)))["fold"] != settings["fold"]
        known = Labels(known.nodes[outside], known.codes[outside])
    (first, last), storage = settings["columns"], np.dtype(settings["storage"])
    stream = edges_of(work, edges, 3, last - first, storage.itemsize)
    weights = ViewWeights(settings["feature_weight"], settings["label_weight"])
    system = PanelSystem(stream, weights, known, (first, last), storage)
    learner = learner_of(work, encoder, linear_encoder(settings))
    Z = inputs_sheet(work, others[:n_panels])
    P = Encoder(Z, scaling_of(work, scaling), learner, np.dtype(settings["dtype"]))
    if settings["start"] == "panel":
        X = system.empty()
        with work.input(next(more)).open("rb") as file:
            file.readinto(X.reshape(-1).view(np.uint8).data)
    elif settings["start"] == "encoder":
        X = start_from_rows(system, P.blocks(stream.csr))
    else:
        X = start_from_labels(system)
    nodes = next(more, None)
    return PanelWork(system, P, X, np.empty(0) if nodes is None else load_file(work.input(nodes))["nodes"])


@job("solve panel")
def solve(work: Work) -> None:
    """A given number of steps on a panel, or as few as do; F of the nodes that are looked at, and maybe norms."""
    system, P, X, nodes = panel_work(work)
    rest = rest_from(system, P.blocks(system.edges.csr))
    n_steps = work.settings["n_steps"]
    if "norms" in work.job.outputs:
        X, norms = chebyshev_with_norms(system, X, rest, n_steps, work.settings["rtol"])
        work.output("norms").write_text(json.dumps(norms._asdict()))
    else:
        X = chebyshev(system, X, rest, n_steps)
    write_arrays(work.output("rows"), {"rows": rows_of(system, X, nodes)})
    if "G" in work.job.outputs:
        with work.output("G").open("wb") as file:
            X.tofile(file)


def norms_at(path: Path) -> Norms:
    said = json.loads(path.read_text())
    return Norms(said["residual"], said["size"])


@job("finish panel")
def finish(work: Work) -> None:
    """The last solve of a panel, to float32."""
    system, P, X, _ = panel_work(work)
    csr, n_steps = system.edges.csr, rough_steps(system.weights)
    out = one_panel(work.output("F"), system.n_nodes, system.width, np.float32)
    rest = rest_from(system, P.blocks(csr))
    if system.dtype == np.float64:
        X = chebyshev(system, X, rest, 2 * n_steps)
        write_rows(system, X, out)
        return
    X = chebyshev(system, X, rest, n_steps)
    del rest
    refine(system, X, lambda: P.blocks(csr), out)


@job("pick rows")
def pick(work: Work) -> None:
    """Rows of a finished panel."""
    F, nodes = work.inputs
    settings = work.settings
    width = settings["columns"][1] - settings["columns"][0]
    sheet = SheetOfFiles(Path(), settings["n_nodes"], (width,), np.dtype(np.float32), (work.input(F),))
    rows = sheet.gather(load_file(work.input(nodes))["nodes"])
    write_arrays(work.output("rows"), {"rows": rows.astype(settings["dtype"])})


@job("choose nodes")
def choose_nodes(work: Work) -> None:
    """The nodes that a solve is asked for: those of a round, or those of a fold and a sample of unlabelled ones."""
    labels, ordered, *folds = work.inputs
    settings, known, n_nodes = work.settings, labels_of(work, labels), work.settings["n_nodes"]
    order = load_file(work.keep(ordered))["order"]
    sample = unlabelled_sample(n_nodes, known.nodes, settings["limit"], settings["seed"], order)
    told = {"sample": sample}
    if folds:
        told["by_key"] = in_order(sample, order)
        inside = load_file(work.input(folds[0]))["fold"] == settings["fold"]
        nodes = np.union1d(known.nodes[inside], sample)
    else:
        told["evenly"] = evenly(n_nodes, settings["prior_sample"], order).astype(np.int64)
        nodes = round_nodes(n_nodes, settings["n_classes"], sample, told["evenly"])
    write_arrays(work.output("nodes"), {"nodes": nodes} | told)
