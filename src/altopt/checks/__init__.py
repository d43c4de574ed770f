"""The laws that parts must meet, as functions that tests and users call."""

from altopt.checks.encoders import check_encoder
from altopt.checks.inputs import check_inputs
from altopt.checks.solvers import check_solver
from altopt.checks.views import check_feature_view, check_graph_view, check_label_view, check_view

__all__ = [
    "check_encoder",
    "check_feature_view",
    "check_graph_view",
    "check_inputs",
    "check_label_view",
    "check_solver",
    "check_view",
]
