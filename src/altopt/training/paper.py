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

    Weights and sizes are one point of the search space in its appendix, where validation labels chose among a few.
    Rows of X' are scaled to sum 1, as is usual for the citation graphs it reports.
    """
    if not isinstance(variant, str) or variant not in VIEWS:
        raise InputError(f"variant must be one of {', '.join(VIEWS)}, but is {variant!r}.")
    check_setting("n_rounds", n_rounds)
    if not RULES["n_epochs"].allows(total_epochs):
        expected = RULES["n_epochs"].expected
        raise InputError(
            f"total_epochs must be {expected}, but is {total_epochs!r}. They are spread evenly over n_rounds."
        )
    for name, value in (("diffusion", diffusion), ("pseudo_labels", pseudo_labels)):
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{name} must be True or False, but is {value!r}.")
    feature_view, graph_view, label_view = VIEWS[variant]
    n_epochs = total_epochs if n_rounds in ("full", 0) else round(total_epochs / int(n_rounds))
    return {
        "feature_weight": 0.5,
        "label_weight": 5.0,
        "restart": 0.1 if diffusion else 1.0,
        "temperature": 0.1,
        "n_rounds": n_rounds,
        "n_warmup": 100,
        "n_epochs": n_epochs,
        "n_pseudo": 100 if pseudo_labels else 0,
        "encoder": MLPEncoder(weight_decay=5e-5, loss="ce" if variant in ("ce", "N") else "mse"),
        "inputs": DiffusedInputs(scale_rows=True),
        "solver": GradientSteps(n_steps=n_steps),
        "feature_view": feature_view,
        "graph_view": graph_view,
        "label_view": label_view,
        "cross_fit": False,
    }
