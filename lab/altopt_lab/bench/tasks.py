"""Tasks for a process of their own: fits and epochs whose time or peak memory is measured."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt, Graph
from altopt.arrays import Array
from altopt.datasets.splits import fraction
from altopt.encoders import MLPEncoder
from altopt.encoders.encoder import Encoder, Learner
from altopt_lab.bench import graphs, networks
from altopt_lab.bench.encoder import DROPOUT, eager
from altopt_lab.bench.machine import same_threads
from altopt_lab.bench.worker import measured, resident_gb
from altopt_lab.metrics import accuracy

WARM_UP = 20  # epochs before the first of five rounds


def nothing() -> dict[str, Any]:
    """Nothing: the memory of a process that has only been started."""
    measures: dict[str, Any] = {}
    with measured(measures):
        pass
    return measures


def default_fit(size: str) -> dict[str, Any]:
    """AltOpt() from arrays to labels."""
    measures: dict[str, Any] = {"empty_gb": resident_gb()}
    case = graphs.load(graphs.find(size))
    X, truth, y, A = case.X, case.y, case.known(), case.adjacency()
    del case
    with measured(measures):
        graph = Graph(A)
        del A  # the graph has arrays of its own
        model = AltOpt(random_state=graphs.SEED).fit(X, y, graph=graph)
    return measures | {"accuracy": accuracy(model.transduction_, truth, y < 0), "rounds": model.n_iter_}


def paper_fit(size: str, n_steps: int, batch_size: int | None = 32_768) -> dict[str, Any]:
    """The paper's form with `n_steps` steps an update of F; few epochs, for memory does not depend on them."""
    case = graphs.load(graphs.find(size))
    X, y, A = case.X, case.known(), case.adjacency()
    encoder = MLPEncoder(hidden=case.size.gnn_hidden, batch_size=batch_size)
    model = AltOpt.paper(
        n_steps=n_steps, n_rounds=2, total_epochs=2, n_warmup=1, encoder=encoder, random_state=graphs.SEED
    )
    measures: dict[str, Any] = {}
    with measured(measures):
        model.fit(X, y, graph=A)
    return measures


def appnp_epoch(size: str, form: networks.Form, n_steps: int) -> dict[str, Any]:
    """One epoch of PyTorch Geometric's APPNP."""
    case = graphs.load(graphs.find(size))
    measures: dict[str, Any] = {}
    with same_threads(case.numbers), measured(measures):
        networks.appnp(case, form, n_steps)()
    return measures


@dataclass(frozen=True)
class RecordingEncoder(Encoder):
    """An encoder that saves what it is given to train on, and otherwise is the encoder inside.

    Parameters
    ----------
    inside : MLPEncoder
    folder : str
        Where the arrays of each call of train are saved.
    """

    inside: MLPEncoder
    folder: str

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "RecordingLearner":
        return RecordingLearner(self.inside.begin(n_inputs, n_classes, seed), Path(self.folder))


class RecordingLearner(Learner):
    def __init__(self, inside: Learner, folder: Path) -> None:
        self.inside, self.folder, self.n_calls = inside, folder, 0

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        arrays = {"X": X, "targets": targets, "weights": weights, "n_epochs": np.array(n_epochs)}
        for name, array in arrays.items():
            dense = array.toarray() if hasattr(array, "toarray") else array
            np.save(self.folder / f"{self.n_calls}-{name}.npy", dense)
        self.n_calls += 1
        return self.inside.train(X, targets, weights, n_epochs)

    def predict(self, X: Any) -> Array:
        np.save(self.folder / "all.npy", X.toarray() if hasattr(X, "toarray") else X[:])
        return self.inside.predict(X)

    def state(self) -> dict[str, Array]:
        return self.inside.state()

    def restore(self, state: dict[str, Array]) -> None:
        self.inside.restore(state)


def five_rounds(size: str, total_epochs: int, recording: str | None = None) -> dict[str, Any]:
    """ALT-OPT-5 with the size's encoder and as many labels as the graph it is named after has."""
    MLPEncoder().begin(2, 2, 0)  # what torch imports for that is no part of the fit's time
    case = graphs.load(graphs.find(size))
    y = case.known(fraction(case.y, case.size.train_share, seed=graphs.SEED).train)
    X, A = case.X, case.adjacency()
    encoder = MLPEncoder(hidden=case.size.hidden, weight_decay=5e-5)
    model = AltOpt.paper(
        n_rounds=5,
        total_epochs=total_epochs,
        n_warmup=WARM_UP,
        encoder=encoder if recording is None else RecordingEncoder(encoder, recording),
        random_state=graphs.SEED,
    )
    measures: dict[str, Any] = {}
    with measured(measures):
        model.fit(X, y, graph=A)
    if recording is not None:
        np.save(Path(recording) / "F.npy", model.scores_)
    return measures | {"accuracy": accuracy(model.transduction_, case.y, y < 0), "encoder": asdict(encoder)}


def encoder_alone(size: str, recording: str) -> dict[str, Any]:
    """The same encoder on the rows and targets that a fit recorded, and one prediction of all rows.

    Recorded arrays are read call by call, outside the measured time. The graph, X and F are held in memory too, as
    in the fit.
    """
    folder, wanted = Path(recording), graphs.find(size)
    case = graphs.load(wanted)
    X, A = case.X, case.adjacency()
    all_rows, F = np.load(folder / "all.npy"), np.load(folder / "F.npy")
    encoder = MLPEncoder(hidden=wanted.hidden, weight_decay=5e-5)
    learner = encoder.begin(all_rows.shape[1], wanted.n_classes, graphs.SEED)
    parts: list[dict[str, Any]] = []
    with same_threads(wanted.n_nodes * min(wanted.n_features, 256)):
        for k in range(len(list(folder.glob("*-X.npy")))):
            rows, targets, weights, n_epochs = (
                np.load(folder / f"{k}-{name}.npy") for name in ("X", "targets", "weights", "n_epochs")
            )
            parts.append({})
            with measured(parts[-1]):
                learner.train(rows, targets, weights, int(n_epochs))
            del rows, targets, weights
        parts.append({})
        with measured(parts[-1]):
            learner.predict(all_rows)
    total = {key: sum(part[key] for part in parts) for key in ("seconds", "cpu")}
    at_hand = {"n_nodes": X.shape[0], "n_entries": A.nnz, "n_given": F.size}
    return total | at_hand | {"before_gb": parts[0]["before_gb"], "peak_gb": parts[-1]["peak_gb"]}


def encoder_eager(size: str, recording: str) -> dict[str, Any]:
    """Two epochs of the same network as any tutorial trains it, full batch in eager torch, on the first rows."""
    folder, wanted = Path(recording), graphs.find(size)
    case = graphs.load(wanted)
    rows, targets = (np.load(folder / f"0-{name}.npy") for name in ("X", "targets"))
    measures: dict[str, Any] = {"n_nodes": len(case.y)}
    with same_threads(case.numbers), measured(measures):
        epoch = eager(rows, targets.astype(np.float32), wanted.hidden, None, DROPOUT)
        epoch()
        epoch()
    return measures
