"""The paper's method: its variants, ablations and schedule as parameters of AltOpt."""

from typing import Any, Literal

import numpy as np

from altopt.encoders import MLPEncoder
from altopt.errors import InputError
from altopt.graph.settings import RULES, check_setting
from altopt.inputs import DiffusedInputs
from altopt.solvers import GradientSteps
from altopt.views import (
    CrossEntropyFeatureView,
    CrossEntropyLabelView,
    FeatureView,
    GraphView,
    LabelView,
    SoftmaxFeatureView,
    SquaredLaplacianView,
)

Variant = Literal["mse", "ce", "H", "N"]

VIEWS: dict[str, tuple[Any, Any, Any]] = {
    "mse": (FeatureView, GraphView, LabelView),  # Eqs. 4-5
    "ce": (CrossEntropyFeatureView, GraphView, LabelView),  # appendix A
    "H": (FeatureView, SquaredLaplacianView, LabelView),  # section 4.2.3
    "N": (SoftmaxFeatureView, GraphView, CrossEntropyLabelView),  # appendix C
}


def paper_settings(
    variant: Variant,
    diffusion: bool,
    pseudo_labels: bool,
    n_rounds: int | Literal["full"],
    total_epochs: int,
    n_steps: int,
) -> dict[str, Any]:
    """Parameters of AltOpt that make it the paper's method.

    The paper's k updates of F are k - 1 rounds of AltOpt (update F, train the encoder) and its last update: a training
    after the last update would change no answer. Weights and sizes are one point of the search space in the paper's
    appendix, where validation labels chose among a few. Rows of X' are scaled to sum 1, as is usual for the citation
    graphs it reports.
    """
    if not isinstance(variant, str) or variant not in VIEWS:
        raise InputError(f"variant must be one of {', '.join(VIEWS)}, but is {variant!r}.")
    check_setting("n_rounds", n_rounds)
    if n_rounds == 0:
        raise InputError(
            "n_rounds must be at least 1 or 'full', but is 0: it counts the paper's updates of F. "
            "1 trains the encoder on labels alone and updates F once."
        )
    if not RULES["n_epochs"].allows(total_epochs):
        expected = RULES["n_epochs"].expected
        raise InputError(
            f"total_epochs must be {expected}, but is {total_epochs!r}. They are spread evenly over n_rounds."
        )
    for name, value in (("diffusion", diffusion), ("pseudo_labels", pseudo_labels)):
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False, but is {value!r}.")
    feature_view, graph_view, label_view = VIEWS[variant]
    n_updates = max(total_epochs, 1) if n_rounds == "full" else int(n_rounds)
    return {
        "feature_weight": 0.5,
        "label_weight": 5.0,
        "restart": 0.1 if diffusion else 1.0,
        "temperature": 0.1,
        "n_rounds": n_updates - 1,
        "n_warmup": 100,
        "n_epochs": round(total_epochs / n_updates),
        "n_pseudo": 100 if pseudo_labels else 0,
        "encoder": MLPEncoder(
            weight_decay=5e-5, loss="ce" if variant in ("ce", "N") else "mse", reduction="sum"
        ),
        "inputs": DiffusedInputs(scale_rows=True),
        "solver": GradientSteps(n_steps=n_steps),
        "feature_view": feature_view,
        "graph_view": graph_view,
        "label_view": label_view,
        "cross_fit": False,
    }
