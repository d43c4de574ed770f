"""ALT-OPT from flat settings, their search space, and encoder inputs that runs share."""

from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any, Literal

from altopt import AltOpt
from altopt.arrays import Array
from altopt.encoders import EnsembleEncoder, LinearEncoder, MLPEncoder
from altopt.encoders.encoder import Encoder
from altopt.inputs import BlockInputs, DiffusedInputs, HopInputs, Inputs, InputSource, Prepared, ReducedInputs
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.solvers import GradientSteps
from altopt.training.paper import VIEWS

# the paper's appendix, and beside it what it leaves open: the encoder's kind, what it reads, and its loss
SEARCH_SPACE: dict[str, tuple[Any, ...]] = {
    "feature_weight": (0.1, 0.3, 0.5, 0.7, 1.0),
    "label_weight": (1.0, 3.0, 5.0, 7.0, 10.0),
    "n_pseudo": (100, 200, 500, 5000, None),
    "temperature": (0.1, 0.15, 0.2),
    "restart": (0.1, 0.2, 0.3, 0.5),
    "n_rounds": (5, 10),
    "total_epochs": (200, 500),
    "n_steps": (10, None),
    "row_exponent": (0.0, 0.5, 1.0),
    "inputs": ("reduced", "hops"),
    "n_components": (64, 256, 512),
    "root": (False, True),
    "encoder": ("linear", "mlp"),
    "C": (None, 1.0, 2.0, 5.0, 20.0),
    "sharpness": (1.0, 2.0),
    "loss": ("ce", "mse"),
    "dropout": (0.0, 0.5, 0.8),
    "weight_decay": (5e-3, 5e-4, 5e-5, 0.0),
    "learning_rate": (0.01, 0.05),
    "n_members": (1, 5),
}
ONLY_LINEAR, ONLY_MLP = ("C", "sharpness"), ("loss", "dropout", "weight_decay", "learning_rate", "n_members")


@dataclass(frozen=True)
class AltOptConfig:
    """Flat settings of ALT-OPT, as a search chooses them and a file stores them.

    Parameters
    ----------
    variant : "mse", "ce", "H" or "N"
        The views, by the paper's names.
    feature_weight, label_weight : float
        lambda1 and lambda2.
    n_steps : int or None
        The paper's K; None solves F to a tolerance.
    inputs : "reduced", "plain" or "hops"
    row_exponent, n_components, root, scale_rows
        Settings of the inputs; plain ones divide rows by their sum if `scale_rows`.
    encoder : "linear" or "mlp"
    C, sharpness
        Settings of the linear encoder.
    loss, hidden, n_layers, dropout, weight_decay, learning_rate, n_members
        Settings of the MLP.
    total_epochs : int
        Spread over the rounds; an epoch of the linear encoder is one iteration of L-BFGS.
    restart, temperature, n_rounds, n_pseudo, n_warmup
        As in AltOpt.

    Examples
    --------
    >>> AltOptConfig.from_settings({"n_rounds": 10}).model(seed=0).n_epochs
    20
    """

    variant: Literal["mse", "ce", "H", "N"] = "mse"
    feature_weight: float = 0.3
    label_weight: float = 1.0
    restart: float = 0.1
    temperature: float = 0.15
    n_rounds: int | Literal["full"] = 5
    n_pseudo: int | None = None
    n_steps: int | None = None
    inputs: Literal["reduced", "plain", "hops"] = "reduced"
    row_exponent: float = 0.5
    n_components: int = 256
    root: bool = False
    scale_rows: bool = True
    encoder: Literal["linear", "mlp"] = "linear"
    C: float | None = 5.0
    sharpness: float = 2.0
    loss: Literal["ce", "mse"] = "ce"
    hidden: int = 64
    n_layers: int = 2
    dropout: float = 0.5
    weight_decay: float = 5e-3
    learning_rate: float = 0.01
    n_members: int = 1
    n_warmup: int = 100
    total_epochs: int = 200

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> "AltOptConfig":
        """The defaults with these settings in place of their own."""
        return replace(cls(), **settings)

    def model(self, seed: int, shared: "InputCache | None" = None) -> AltOpt:
        """The estimator under these settings."""
        feature_view, graph_view, label_view = VIEWS[self.variant]
        n_epochs = self.total_epochs
        if isinstance(self.n_rounds, int) and self.n_rounds:
            n_epochs = round(self.total_epochs / self.n_rounds)
        inputs = self._inputs()
        return AltOpt(
            feature_weight=self.feature_weight,
            label_weight=self.label_weight,
            restart=self.restart,
            temperature=self.temperature,
            n_rounds=self.n_rounds,
            n_warmup=self.n_warmup,
            n_epochs=n_epochs,
            n_pseudo=self.n_pseudo,
            encoder=self._encoder(),
            inputs=inputs if shared is None else shared.cached(inputs),
            solver=None if self.n_steps is None else GradientSteps(n_steps=self.n_steps),
            feature_view=feature_view,
            graph_view=graph_view,
            label_view=label_view,
            cross_fit=False,  # validation labels choose, as in the paper
            random_state=seed,
        )

    def _encoder(self) -> Encoder:
        if self.encoder == "linear":
            return LinearEncoder(C=self.C, sharpness=self.sharpness)
        plain = self.inputs == "plain"  # dropout of words is usual; of the leading directions it costs points
        member = MLPEncoder(
            hidden=(self.hidden,) * (self.n_layers - 1),
            dropout=self.dropout,
            input_dropout=self.dropout if plain else 0.0,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            loss=self.loss,
        )
        return member if self.n_members == 1 else EnsembleEncoder(member, self.n_members)

    def _inputs(self) -> Inputs:
        if self.inputs == "plain":
            return DiffusedInputs(scale_rows=self.scale_rows)
        diffused = ReducedInputs(self.n_components, self.row_exponent, by_kind=self.root)
        if self.inputs == "reduced":
            return diffused
        hops = HopInputs(
            n_components=self.n_components // 2, row_exponent=self.row_exponent, by_kind=self.root
        )
        return BlockInputs((hops, diffused), scaling="size")


# what a search tries first: our default's inputs for few labels and for more, the diffused features alone, also less
# far and on words as they are and of any length, and the paper's own choices
HOPS: dict[str, Any] = {"inputs": "hops", "C": None, "feature_weight": 1.0, "temperature": 0.2}
INITIAL_SETTINGS: tuple[dict[str, Any], ...] = (
    asdict(AltOptConfig(root=True, n_components=64, **HOPS)),
    asdict(AltOptConfig(restart=0.2, **HOPS)),
    asdict(AltOptConfig(root=True)),
    asdict(AltOptConfig()),
    asdict(AltOptConfig(restart=0.5, C=20.0)),
    asdict(AltOptConfig(row_exponent=0.0, C=2.0, n_components=512)),
    asdict(
        AltOptConfig(
            encoder="mlp",
            row_exponent=1.0,
            n_pseudo=200,
            temperature=0.1,
            feature_weight=0.5,
            label_weight=5.0,
        )
    ),
)


class InputCache:
    """Encoder inputs that are computed once for all runs on a data set: they depend on no label and no split.

    Attributes
    ----------
    made : dict
        Prepared inputs by their settings, with the seconds they took.
    seconds : float
        The seconds that the inputs handed out since it was last set to zero took, cached or not.
    """

    def __init__(self) -> None:
        self.made: dict[tuple[Any, ...], tuple[Prepared, float]] = {}
        self.seconds = 0.0

    def cached(self, inputs: Inputs) -> "CachedInputs":
        return CachedInputs(inputs, self)


@dataclass(frozen=True)
class CachedInputs(Inputs):
    """Inputs that are taken from the cache where it has them; the seed of the range finder is always 0."""

    inputs: Inputs
    shared: InputCache

    def prepare(self, source: InputSource) -> Prepared:
        unscaled = self.inputs.unscaled()
        key = (unscaled, source.restart, source.n_steps, source.X.shape, source.A_tilde.n_nodes)
        made = self.shared.made
        if key not in made:
            began = perf_counter()
            fresh = unscaled.prepare(replace(source, seed=0))
            made[key] = fresh, perf_counter() - began
        prepared, seconds = made[key]
        self.shared.seconds += seconds
        return self.inputs.rescale(prepared)

    def restore(self, state: dict[str, Array]) -> Prepared:
        return self.inputs.restore(state)

    def memory(self, shape: SourceShape) -> InputMemory:
        return self.inputs.memory(shape)
