"""What a fit starts from: X, y and the graph in any form, read, checked and put in one order of nodes."""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.known import digest_of
from altopt.fitted.model import FittedModel
from altopt.graph import Graph
from altopt.graph.features import read_features
from altopt.graph.files import read_labels
from altopt.graph.ids import as_array, as_ids, comes_from, lookup, unique_ids
from altopt.graph.labels import in_order, keyed_labels
from altopt.graph.magnitudes import column_exponents, scaled, scaled_later, warn_of_lost
from altopt.graph.placement import could_be_positions
from altopt.graph.validation import (
    UNKNOWN,
    as_column,
    known_labels,
    plain_labels,
    read_sample_weight,
    read_validation,
    read_y,
)
from altopt.operator.feature_matrix import empty_rows, has_missing
from altopt.operator.knn import Neighbours
from altopt.table.columns import as_numbers
from altopt.table.files import read_rows
from altopt.table.frame import Frame, as_frame, is_frame
from altopt.table.reader import TableReader


@dataclass(frozen=True)
class Source:
    """What a fit starts from, read and checked."""

    X: Any  # scaled by the exponents
    feature_exponents: Array | None  # of the power of two that each column was divided by
    graph: Graph
    neighbours: Neighbours | None  # where the graph was built from X
    classes: Array
    codes: Array  # the class of each node, -1 where unknown
    validation: tuple[Array, Array] | None  # positions and classes
    sample_weight: Array | None = None  # of each node
    featureless: Array | None = None  # mask of the nodes that have no row of features; None: of zeros
    reader: TableReader | None = None  # where X came as a table
    has_features: bool = True
    digest: str | None = None  # of X, where its rows carry no ids and the graph was given
    notes: tuple[str, ...] = ()  # what there is to say about the data


@dataclass(frozen=True)
class Features:
    """X as a matrix, and what is known of its rows and columns."""

    X: Any
    ids: Any = None
    reader: TableReader | None = None
    n_without: int = 0  # nodes at the end that have no row
    none: bool = False  # no features were given at all


def read_source(estimator: Any, X: Any, y: Any, graph: Any, sample_weight: Any, validation: Any) -> Source:
    """Everything that `fit` was given."""
    X, y, graph = unpacked(X, y, graph)
    missing = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    given = graph is not None
    if X is None:
        features, graph = featureless(estimator, y, graph)
    else:
        features = features_of_fit(estimator, X, missing)
    exponents = column_exponents(features.X)
    X = scaled(features.X, exponents)
    if exponents is not None:
        warn_of_lost(X)
    neighbours = None
    if graph is None:
        neighbours, graph = built_graph(X, features.ids, estimator.n_neighbors, missing)
    elif not features.none:
        features, X, graph = rows_in_order(features, X, exponents, graph)
    n = X.shape[0]
    names = [] if features.ids is None else [as_ids(features.ids, "the index of X")]
    names += [graph.ids] if given and not (names and graph.positional) else []
    y = in_order(y, [ids for ids in names if len(ids) == n], n, by_position=not given)
    classes, codes = read_y(padded(y, n, features.n_without), n, estimator.classes)
    weights, codes = read_sample_weight(sample_weight, codes)
    judged = read_validation(validation, graph, codes != UNKNOWN, classes)
    return Source(
        X=X,
        feature_exponents=exponents,
        graph=graph,
        neighbours=neighbours,
        classes=classes,
        codes=codes,
        validation=judged,
        sample_weight=weights,
        featureless=nodes_without(features, X),
        reader=features.reader,
        has_features=not features.none,
        digest=digest_of(X) if given and not features.none and not features.n_without else None,
        notes=notes_on(features, codes, given),
    )


def unpacked(X: Any, y: Any, graph: Any) -> tuple[Any, Any, Any]:
    """X, y and graph; out of a PyTorch Geometric Data, whose labels are those of train_mask; X and y out of files."""
    X = from_file(X)
    if isinstance(y, str | os.PathLike):
        y = dict(zip(*(column.tolist() for column in read_labels(y))))
    if not (comes_from(X, "torch_geometric") and hasattr(X, "edge_index")):
        return X, y, graph
    data = X
    if y is None:
        y = getattr(data, "y", None)
        if y is None:
            raise InputError("the Data has no y. Give it one, or pass labels: fit(data, y).")
        labels = as_column(y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y)
        mask = getattr(data, "train_mask", None)
        if mask is not None:
            mask = mask.detach().cpu().numpy().astype(bool)
            if mask.shape != labels.shape:
                raise InputError(
                    f"train_mask has the shape {mask.shape}, but y has {labels.shape}. Choose one split: "
                    "data.train_mask = data.train_mask[:, 0]."
                )
            labels = np.where(mask, labels, UNKNOWN if labels.dtype.kind in "iu" else np.nan)
        y = labels
    return getattr(data, "x", None), y, data if graph is None else graph


def from_file(X: Any) -> Any:
    """The features of a file with a column node, or of a matrix; anything that is no path as it is."""
    return read_rows(X)[1] if isinstance(X, str | os.PathLike) else X


def features_of_fit(estimator: Any, X: Any, missing: bool) -> Features:
    """X as a matrix; the estimator keeps the number and the names of its columns."""
    for name in ("feature_names_in_", "n_features_in_"):
        vars(estimator).pop(name, None)
    if not is_frame(X):
        return Features(*read_features(estimator, X, reset=True, missing=missing))
    frame = as_frame(X)
    if not frame.n_rows:
        raise InputError(f"{frame.origin}: Found array with 0 sample(s); give one row for each node.")
    reader, matrix = read_whole(frame) if frame.read is None else frame.read
    estimator.n_features_in_ = len(frame.names)
    if frame.named:
        estimator.feature_names_in_ = np.array(frame.names, dtype=object)
    return Features(matrix, frame.ids, reader)


def read_whole(frame: Frame) -> tuple[TableReader, Any]:
    reader = TableReader.fit(frame)
    return reader, reader.transform(frame)


def features_later(estimator: Any, X: Any, ids: Any = None) -> tuple[Any, Any]:
    """X of later nodes, checked, read and scaled as that of the fit, and the ids of its rows; `ids` go before."""
    X, ids_of_rows = matrix_later(estimator, X, ids)
    return X, ids_of_rows if ids is None else as_array(ids)


def matrix_later(estimator: Any, X: Any, ids: Any) -> tuple[Any, Any]:
    fitted, X = estimator.fitted_, from_file(X)
    if comes_from(X, "torch_geometric") and hasattr(X, "edge_index"):
        X = getattr(X, "x", None)
    if not fitted.has_features:
        if X is not None:
            raise InputError(
                "this model was fitted without features: X must be None, and ids= name the nodes."
            )
        ids = fitted.graph.ids if ids is None else as_array(ids)
        return sp.csr_array((len(ids), fitted.n_features)), ids
    if X is None:
        raise InputError("X is None, but this model was fitted with features. Give a row for each node.")
    missing = bool(estimator.__sklearn_tags__().input_tags.allow_nan)
    if fitted.reader is None:
        if isinstance(X, Frame):  # of a file, beside a model that was fitted on a matrix
            X = np.column_stack([as_numbers(column) for column in X.columns])
        X, ids = read_features(estimator, X, reset=False, missing=missing)
    else:
        frame = as_frame(X) if is_frame(X) else frame_of_numbers(estimator, X, fitted.reader)
        X, ids = fitted.reader.transform(frame), frame.ids
    return scaled_later(X, fitted.feature_exponents), ids


def frame_of_numbers(estimator: Any, X: Any, reader: TableReader) -> Frame:
    """An array as a table with the columns of the fit, by position."""
    import pyarrow as pa

    X, _ = read_features(estimator, X, reset=False, missing=True)
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    columns = [pa.array(X[:, j], from_pandas=True) for j in range(X.shape[1])]
    return Frame([column.name for column in reader.columns], columns)


def featureless(estimator: Any, y: Any, graph: Any) -> tuple[Features, Graph]:
    """A node's own name as its only feature: what is known of it then is who it is tied to."""
    if graph is None:
        raise InputError("X is None and so is the graph. Give features, a graph, or both.")
    graph = graph if isinstance(graph, Graph) else Graph(graph)
    if keyed_labels(y) is None:
        n = len(as_column(y))
        if graph.positional or (not graph.has_order and could_be_positions(graph.ids, n)):
            graph = graph.rows_for(max(n, graph.n_nodes) if graph.positional else n)
        elif not graph.has_order:
            raise InputError(
                f"the graph has ids such as {graph.ids.tolist()[0]!r}, and nothing says which entry of y is which "
                "node. Give y as a dict {node: label} or a Series with the ids as its index."
            )
    vars(estimator).pop("feature_names_in_", None)
    estimator.n_features_in_ = 0
    X = sp.csr_array(sp.eye_array(graph.n_nodes, format="csr"))
    return Features(X, none=True), graph


def built_graph(X: Any, ids: Any, n_neighbors: int, missing: bool) -> tuple[Neighbours, Graph]:
    """The graph of nearest neighbours, and their index."""
    if missing and has_missing(X):
        raise InputError("X holds NaN, so nearest neighbours cannot be told. Give a graph, or fill in X.")
    neighbours = Neighbours.by_kind(X, n_neighbors)
    graph = neighbours.graph()
    return neighbours, graph if ids is None else Graph(graph, nodes=unique_ids(ids, "the index of X"))


def rows_in_order(features: Features, X: Any, exponents: Any, graph: Any) -> tuple[Features, Any, Graph]:
    """The graph in the order of X's rows; nodes of the graph that X has no row for come after them."""
    graph = graph if isinstance(graph, Graph) else Graph(graph)
    n = X.shape[0]
    if features.ids is None or graph.positional or features.reader is None:
        return features, X, graph.rows_for(n, features.ids)
    ids = unique_ids(features.ids, "the index of X")
    beyond = graph.ids[lookup(ids, graph.ids) < 0]
    if not len(beyond) or len(beyond) == graph.n_nodes or (graph.has_order and graph.n_nodes == n):
        return features, X, graph.rows_for(n, ids)
    ids = joined(ids, beyond)
    row = scaled(features.reader.typical[None, :].astype(X.dtype), exponents)
    X = with_typical_rows(X, row, len(beyond))
    features = Features(X, ids, features.reader, n_without=len(beyond))
    return features, X, graph.rows_for(len(ids), ids)


def joined(ids: Array, more: Array) -> Array:
    if ids.dtype == more.dtype:
        return np.concatenate([ids, more])
    return np.array([*ids.tolist(), *more.tolist()], dtype=object)


def with_typical_rows(X: Any, row: Array, n_more: int) -> Any:
    """X with more rows, all like one."""
    if sp.issparse(X):
        rows = (
            sp.csr_array(np.repeat(row, n_more, axis=0))
            if row.any()
            else sp.csr_array((n_more, row.shape[1]))
        )
        return sp.csr_array(sp.vstack([X, rows], format="csr"), dtype=X.dtype)
    return np.concatenate([X, np.repeat(row, n_more, axis=0)])


def padded(y: Any, n: int, n_without: int) -> Any:
    """y with an unknown label for each node that X has no row for."""
    if not n_without:
        return y
    values = as_column(y)
    if len(values) != n - n_without:
        return values
    return np.array([*values.tolist(), *([None] * n_without)], dtype=object)


def nodes_without(features: Features, X: Any) -> Array:
    """Mask of the nodes about which X says nothing."""
    if features.none:
        return np.ones(X.shape[0], dtype=bool)
    mask = empty_rows(X)
    if features.n_without:
        mask[-features.n_without :] = True
    return mask


def notes_on(features: Features, codes: Array, graph_given: bool) -> tuple[str, ...]:
    """What a user should know of the data; what may be a mistake is a warning too."""
    notes = []
    if features.n_without:
        notes.append(
            f"{features.n_without:,} of {len(codes):,} nodes have no row of features: the graph alone speaks for them."
        )
    if graph_given and (codes != UNKNOWN).all():
        notes.append(
            "Every node came with a label, so nothing is left to label; hide those that are to be tested."
        )
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=4)
    return tuple(notes)


def score(codes: Array, X: Any, y: Any, ids: Any, fitted: FittedModel, sample_weight: Any) -> float:
    """The accuracy of predicted class numbers of the rows of X, where y has a label."""
    X = from_file(X)
    if ids is None and is_frame(X):
        ids = as_frame(X).ids
    ids = fitted.graph.ids if ids is None and not fitted.has_features else ids
    names = [] if ids is None else [as_ids(ids, "the index of X")]
    values = as_column(in_order(y, names, len(codes), by_position=True))
    if len(values) != len(codes):
        raise InputError(f"y has {len(values):,} entries but X has {len(codes):,} rows.")
    known = known_labels(values)
    if not known.any():
        raise InputError("y holds no label at all, so there is nothing to compare with.")
    right = fitted.classes[codes[known]] == plain_labels(values[known], np.flatnonzero(known))
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[known]
    return float(np.average(right, weights=weights))
