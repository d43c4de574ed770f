"""The graph and the features as linear operators."""

from altopt.operator.operator import NormalizedAdjacency

__all__ = ["NormalizedAdjacency"]
