"""A fit on its way, on disk: what a round hands to the next, so that an interrupted fit can be resumed."""

import hashlib
import json
import warnings
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.encoders import Learner
from altopt.errors import InputError, MissingExtra
from altopt.graph import Graph
from altopt.io.array_io import with_prefix
from altopt.io.codec import encode
from altopt.io.folder import FORMAT, VERSION, read_folder, write_folder
from altopt.solvers import Steps
from altopt.training.alternate import Best, Problem, Round, State


def fingerprint(parameters: dict[str, Any], seed: int, graph: Graph, problem: Problem) -> str:
    """Tells one fit from another: parameters, seed, labels, graph and the encoder's inputs."""
    hashed = hashlib.sha256()
    arrays: dict[str, Array] = {}
    settings = {key: encode(value, arrays, key) for key, value in parameters.items()}
    text = json.dumps([settings, seed], default=str)
    hashed.update(text.encode())
    # the bytes of a stored scikit-learn estimator hold the time at which they were written
    plain = [array for name, array in arrays.items() if f'"skops": "{name}"' not in text]
    for array in [*plain, problem.Y, graph.adjacency.indices, graph.adjacency.data]:
        hashed.update(np.ascontiguousarray(array).data)
    for block in row_blocks(problem.rows.shape[0]):  # rows may be made only when they are asked for
        rows = problem.rows[block]
        for array in [rows.data, rows.indices, rows.indptr] if sp.issparse(rows) else [rows]:
            hashed.update(np.ascontiguousarray(array).data)
    return hashed.hexdigest()


def save(path: Path, mark: str, state: State) -> None:
    """Store the state after a round, so that an interrupted fit can resume; a warning where the encoder cannot be."""
    arrays = {name: getattr(state, name) for name in ("F", "P", "w", "start", "label")}
    try:
        arrays |= {f"learner.{name}": value for name, value in state.learner.state().items()}
    except MissingExtra as error:  # the fit itself needs no such package
        warnings.warn(f"No checkpoint was written. {error}", UserWarning, stacklevel=2)
        return
    arrays |= {} if state.priors is None else {"priors": state.priors}
    head: dict[str, Any] = {"format": FORMAT, "kind": "checkpoint", "version": VERSION, "mark": mark}
    head |= {"n_done": state.n_done, "trace": [asdict(entry) for entry in state.trace]}
    if state.best is not None:
        head["best"] = {"round": state.best.round, "accuracy": state.best.accuracy}
        arrays |= {"best.F": state.best.F, "best.P": state.best.P}
        if state.best.start is not None:
            arrays["best.start"] = state.best.start
        if state.best.steps is not None:
            arrays["best.scale"] = state.best.steps.scale
            arrays["best.coefficients"] = state.best.steps.coefficients
        arrays |= {f"best.learner.{name}": value for name, value in state.best.learner.state().items()}
    write_folder(path, head, arrays)


def load(path: Path, mark: str, learner: Learner) -> State | None:
    """The stored state, with `learner` taken back to where it was; None where there is none yet."""
    if not path.exists():
        return None
    head, arrays = read_folder(path, "checkpoint")
    if head["mark"] != mark:
        raise InputError(
            f"{path} holds a checkpoint of a fit with other data or settings. Start without resume, or restore them."
        )
    best = None
    if "best" in head:
        of_best = deepcopy(learner)
        of_best.restore(with_prefix(arrays, "best.learner."))
        of_round = (head["best"]["round"], head["best"]["accuracy"], arrays["best.F"], arrays["best.P"])
        steps = None
        if "best.scale" in arrays:
            steps = Steps(arrays["best.scale"], arrays["best.coefficients"])
        best = Best(*of_round, of_best, arrays.get("best.start"), steps)
    learner.restore(with_prefix(arrays, "learner."))
    trace = [Round(**entry) for entry in head["trace"]]
    F, P, w, start, label = (arrays[name] for name in ("F", "P", "w", "start", "label"))
    priors = arrays.get("priors")
    return State(head["n_done"], F, P, w, start, label, learner, trace, best, priors=priors)
