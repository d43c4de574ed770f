"""Any scikit-learn classifier that takes sample weights, as an encoder: trees, forests, pipelines."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from altopt.arrays import Array, row_blocks, working_dtype
from altopt.encoders.encoder import Encoder, Learner
from altopt.encoders.network import TorchEncoder, makes_module
from altopt.encoders.scikit.decode import from_state
from altopt.encoders.scikit.encode import to_state
from altopt.errors import InputError
from altopt.io.array_io import required, with_prefix
from altopt.settings import check_number

LOSS_ROWS = 1000  # that the loss of a training is taken from, about


@dataclass(frozen=True)
class TabularEncoder(Encoder):
    """Any scikit-learn classifier with predict_proba and fit(X, y, sample_weight): trees, forests, pipelines.

    P = classifier.predict_proba(X). Soft labels enter as sample weights: a row with targets (0.7, 0.3) and weight w is
    given once per class, with weights 0.7 w and 0.3 w. Each round fits from scratch; n_epochs plays no part.

    X may contain NaN where the classifier supports it (HistGradientBoostingClassifier, RandomForestClassifier,
    LightGBM's LGBMClassifier, a pipeline that begins with an imputer): `RawInputs` pass it on, all other inputs put the
    column's mean in its place. Categories are whole numbers in X, declared to the classifier:
    HistGradientBoostingClassifier(categorical_features=[2, 5]) with RawInputs.

    A fitted model can be saved if the classifier consists of classes that `altopt.encoders.scikit.table` lists.

    Parameters
    ----------
    classifier : scikit-learn classifier or Pipeline
        It is cloned, never fitted itself. Its random_state is set to the fit's seed.
    min_share : float, default 0.01
        Targets below it are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from altopt.encoders import TabularEncoder
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> targets = np.array([[1.0, 0.0], [0.7, 0.3], [0.0, 1.0]])
    >>> learner = TabularEncoder(DecisionTreeClassifier()).begin(n_inputs=1, n_classes=2, seed=0)
    >>> loss = learner.train(X, targets, np.ones(3), n_epochs=1)
    >>> learner.predict(X)
    array([[1. , 0. ],
           [0.7, 0.3],
           [0. , 1. ]])
    """

    classifier: Any
    min_share: float = 0.01

    def __post_init__(self) -> None:
        check_number(self, "min_share", least=0, below=1)

    @property
    def takes_missing(self) -> bool:
        """Whether the classifier accepts NaN; in a pipeline every step must, up to an imputer."""
        steps = self.classifier.steps if isinstance(self.classifier, Pipeline) else [("", self.classifier)]
        for _, step in steps:
            if step is None or step == "passthrough":
                continue
            if not get_tags(step).input_tags.allow_nan:
                return False
            if type(step).__module__.startswith("sklearn.impute"):
                return True
        return True

    def begin(self, n_inputs: int, n_classes: int, seed: int) -> "TabularLearner":
        last = self.classifier.steps[-1][1] if isinstance(self.classifier, Pipeline) else self.classifier
        if not hasattr(self.classifier, "predict_proba") or not has_fit_parameter(last, "sample_weight"):
            raise InputError(
                f"encoder {type(last).__name__} must have predict_proba and a fit that takes sample_weight. "
                "Try HistGradientBoostingClassifier, RandomForestClassifier or LogisticRegression."
            )
        return TabularLearner(self, n_classes, seed)


class TabularLearner(Learner):
    def __init__(self, settings: TabularEncoder, n_classes: int, seed: int) -> None:
        self.settings = settings
        self.n_classes = n_classes
        self.model = clone(settings.classifier)
        seeds = {name: seed for name in self.model.get_params() if name.split("__")[-1] == "random_state"}
        self.model.set_params(**seeds)
        self.fitted = False
        self._sparse = bool(get_tags(self.model).input_tags.sparse)

    def _readable(self, X: Any) -> Any:
        """Rows as the classifier accepts them: dense, unless it supports sparse input."""
        return X.toarray() if sp.issparse(X) and not self._sparse else X

    def train(self, X: Any, targets: Array, weights: Array, n_epochs: int) -> float:
        parts = targets * weights[:, None]
        rows, classes = np.nonzero((targets >= self.settings.min_share) & (parts > 0))
        weight = parts[rows, classes]
        model, examples = clone(self.model), self._readable(X[rows])
        last = f"{model.steps[-1][0]}__" if isinstance(model, Pipeline) else ""
        equal = (
            len(weight) == 0 or weight.min() == weight.max()
        )  # boosting takes many times as long with weights
        model.fit(examples, classes, **({} if equal else {f"{last}sample_weight": weight}))
        self.model, self.fitted = model, True
        some = slice(None, None, -(-len(parts) // LOSS_ROWS) or 1)
        P = np.maximum(self.predict(X[some]), 1e-12)
        return float(-np.sum(parts[some] * np.log(P)) / max(weights[some].sum(), 1e-12))

    def predict(self, X: Any) -> Array:
        P = np.zeros((X.shape[0], self.n_classes), dtype=working_dtype(X.shape[0], self.n_classes))
        if not self.fitted:
            return P + 1.0 / self.n_classes
        for rows in row_blocks(X.shape[0]):
            P[rows][:, self.model.classes_] = self.model.predict_proba(self._readable(X[rows]))
        return P

    def state(self) -> dict[str, Array]:
        of_model = to_state(self.model) if self.fitted else {}
        return {"fitted": np.array([self.fitted])} | {
            f"model.{name}": held for name, held in of_model.items()
        }

    def restore(self, state: dict[str, Array]) -> None:
        self.fitted = bool(required(state, "fitted").all())
        if not self.fitted:
            return
        model = from_state(with_prefix(state, "model."))
        classes = np.asarray(getattr(model, "classes_", ()))
        inside = classes.dtype.kind in "iu" and set(classes.tolist()) <= set(range(self.n_classes))
        if type(model) is not type(self.model) or not inside:
            raise InputError(
                "The stored encoder is another classifier than its settings say. Fit and save again."
            )
        self.model = model


def as_encoder(value: Any) -> Encoder:
    """An encoder as it is; a scikit-learn classifier as a TabularEncoder, a torch module as a TorchEncoder."""
    if isinstance(value, Encoder):
        return value
    if makes_module(value):
        return TorchEncoder(value)
    if isinstance(value, type) or not hasattr(value, "fit"):
        raise InputError(
            "encoder must be an instance of a subclass of altopt.encoders.Encoder, a scikit-learn classifier, a "
            f"torch.nn.Module or a function (n_inputs, n_classes) -> module, but is {value!r}."
        )
    return TabularEncoder(value)
