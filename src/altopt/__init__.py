"""A label for every node of a graph from a handful of known ones."""

from altopt.diffusion import diffuse
from altopt.errors import InputError
from altopt.estimator import AltOpt
from altopt.graph import Graph

__version__ = "0.1.0"
__all__ = ["AltOpt", "Graph", "InputError", "diffuse"]
