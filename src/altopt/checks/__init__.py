"""The laws that parts must meet, as functions that tests and users call."""

from altopt.checks.views import check_graph_view, check_view, half_gradient, half_hessian

__all__ = ["check_graph_view", "check_view", "half_gradient", "half_hessian"]
