"""A label for every node of a graph from a handful of known ones."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from altopt.errors import InputError
    from altopt.estimator import AltOpt
    from altopt.graph import Graph
    from altopt.operator.diffusion import diffuse
    from altopt.tuning import GridSearch, cross_val_score

__version__ = "0.1.0"
__all__ = ["AltOpt", "Graph", "GridSearch", "InputError", "cross_val_score", "diffuse"]

# each public name is imported when it is first asked for: `altopt --help` needs none of them
HOMES = {
    "AltOpt": "altopt.estimator",
    "Graph": "altopt.graph",
    "GridSearch": "altopt.tuning",
    "InputError": "altopt.errors",
    "cross_val_score": "altopt.tuning",
    "diffuse": "altopt.operator.diffusion",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'altopt' has no attribute {name!r}")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
