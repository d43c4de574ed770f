"""What the arrays of a stored model must be before anything computes with them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.fitted.model import FittedModel
from altopt.graph.validation import UNKNOWN
from altopt.operator.columns import Columns
from altopt.operator.knn import Neighbours
from altopt.table.columns import CYCLES, DATE_FORMATS, DateColumn, TextColumn
from altopt.table.reader import TableReader

MAX_SEED = 2**64
MAX_EXPONENT = 1100
MAX_STEPS = 2**31


def require(holds: Any, what: str) -> None:
    if not holds:
        raise InputError(f"{what}.")


def floats(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether this is an array of finite numbers of this shape."""
    right = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
    return bool(right and np.isfinite(array).all())


def whole_below(array: Any, least: int, below: int, shape: tuple[int, ...] | None = None) -> bool:
    """Whether this is a vector of whole numbers in a range."""
    right = isinstance(array, np.ndarray) and array.dtype.kind in "iu" and array.ndim == 1
    if not right or (shape is not None and array.shape != shape):
        return False
    return bool(not array.size or (array.min() >= least and array.max() < below))


def check_arrays(values: dict[str, Any]) -> None:
    """The fields of FittedModel that need neither encoder nor inputs."""
    classes, scores = values["classes"], values["scores"]
    require(isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) > 0, "classes are no list")
    require(len(set(classes.tolist())) == len(classes), "two classes have the same name")
    require(isinstance(scores, np.ndarray) and scores.ndim == 2, "scores are no table")
    n, c = len(scores), len(classes)
    for name in ("scores", "encoder_output"):
        require(
            floats(values[name], (n, c)), f"{name} are not finite numbers for {n:,} nodes and {c} classes"
        )
    require(
        scores.dtype == values["encoder_output"].dtype and scores.dtype in (np.float32, np.float64),
        "scores and encoder_output are not of one type of numbers",
    )
    require(whole_below(values["codes"], UNKNOWN, c, (n,)), "given labels are not numbers of classes")
    require(whole_below(values["labels"], 0, c, (n,)), "labels are not numbers of classes")
    given = values["codes"] != UNKNOWN
    require(
        np.array_equal(values["labels"][given], values["codes"][given]), "labels differ from the given ones"
    )
    sure = values["confidence"]
    require(
        floats(sure, (n,)) and (not n or (sure.min() >= -0.01 and sure.max() <= 1.01)),
        "confidence is not in 0..1",
    )
    for name in ("reached", "isolated"):
        mask = values[name]
        right = isinstance(mask, np.ndarray) and mask.dtype == bool and mask.shape == (n,)
        require(right, f"{name} is no mask")
    for name in ("factors", "unreached"):
        numbers = getattr(values["readout"], name, None)
        require(numbers is None or len(numbers) == c, f"the readout's {name} are not one for each class")
    require(whole_below(values["featureless"], 0, n), "featureless nodes are not among the nodes")
    require(values["start"] is None or floats(values["start"], (n, c)), "start is not finite numbers")
    if values["steps"] is not None:
        coefficients = values["steps"].coefficients
        require(floats(values["steps"].scale, (n,)), "the scale of the steps is not one number a node")
        require(floats(coefficients, (len(coefficients), 2)), "the steps are not finite")
    require(values["last_graph"].n_nodes == n, f"the graph has not the {n:,} nodes of the scores")
    exponents = values["feature_exponents"]
    scaled = exponents is None or whole_below(
        exponents, -MAX_EXPONENT, MAX_EXPONENT + 1, (values["n_features"],)
    )
    require(scaled, "the exponents of the columns are not whole numbers")
    check_numbers(values)
    if values["reader"] is not None:
        check_reader(values["reader"], values["n_features"])
    if values["neighbours"] is not None:
        check_neighbours(values["neighbours"], (n, values["n_features"]))


def check_neighbours(neighbours: Neighbours, shape: tuple[int, int]) -> None:
    X, columns = neighbours.X, neighbours.columns
    right = (isinstance(X, np.ndarray) or sp.issparse(X)) and X.shape == shape
    require(
        right and X.dtype in (np.float32, np.float64), "the rows of the nearest neighbours are of other nodes"
    )
    require(
        np.isfinite(X.data if sp.issparse(X) else X).all(),
        "the rows of the nearest neighbours are not finite",
    )
    if columns is not None:
        kind = Columns.restore(columns.state()).kind  # which checks them
        require(len(kind) == shape[1], "the kinds of the columns are of other columns")


def check_reader(reader: TableReader, n_features: int) -> None:
    """The columns of a table give as many numbers as there are features, and what is kept of each is of its kind."""
    for column in reader.columns:
        where = f"the table's column {column.name!r:.60}"
        require(0 <= column.missing <= 1, f"{where} has a share of missing values of {column.missing!r}")
        require(np.isfinite(column.typical).all(), f"{where} is filled with what is not finite")
        for name in ("levels", "rare", "words"):
            texts = getattr(column, name, None)
            plain = texts is None or (
                texts.ndim == 1 and all(isinstance(text, str) for text in texts.tolist())
            )
            require(
                plain and (texts is None or len(set(texts.tolist())) == len(texts)),
                f"{where} has {name} that are no list of texts",
            )
        if isinstance(column, TextColumn):
            require(
                floats(column.idf, column.words.shape) and len(column.words),
                f"{where} has other weights than words",
            )
        if isinstance(column, DateColumn):
            known = column.written in DATE_FORMATS and set(column.cycles) <= set(CYCLES)
            require(known, f"{where} has dates written as {column.written!r:.60}")
    require(len(reader.names) == n_features, "the columns of the table are not those of the features")


def check_numbers(values: dict[str, Any]) -> None:
    require(hasattr(values["readout"], "soften"), "the readout is no rule")
    temperature = values["temperature"]
    require(temperature is None or 0 < temperature < np.inf, f"temperature is {temperature!r}")
    require(0 <= values["restart"] <= 1, f"restart is {values['restart']!r}")
    require(0 <= values["n_diffusion"] < MAX_STEPS, f"n_diffusion is {values['n_diffusion']!r}")
    require(0 <= values["seed"] < MAX_SEED, f"seed is {values['seed']!r}")
    require(values["n_features"] >= 0, f"n_features is {values['n_features']!r}")


def check_inputs(arrays: dict[str, Array], keeps_missing: bool) -> None:
    """The numbers that inputs are made of are finite, NaN apart where it may stand for a missing value."""
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            right = not np.isinf(array).any() if keeps_missing else all_finite(array)
            require(right, f"the numbers of inputs.{name} are not finite")


def all_finite(array: Array) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()  # one pass without a copy; it may overflow where all numbers are finite
    return bool(np.isfinite(total) or np.isfinite(array).all())


def check_parts(fitted: FittedModel, first: Any) -> None:
    """Inputs and encoder fit the nodes and features, and answer for the `first` row."""
    n, n_features = fitted.n_nodes, fitted.inputs.n_features
    require(fitted.inputs.Z.shape[0] == n, f"the inputs are not of {n:,} nodes")
    require(n_features in (None, fitted.n_features), f"the inputs are not of {fitted.n_features:,} features")
    P: Array = fitted.encoder.predict(first)
    require(
        P.shape == (1, len(fitted.classes)) and np.isfinite(P).all(), "the encoder gives no finite answer"
    )
