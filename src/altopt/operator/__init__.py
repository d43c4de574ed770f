"""The graph and the features as something to multiply by."""

from altopt.operator.operator import NormalizedAdjacency

__all__ = ["NormalizedAdjacency"]
