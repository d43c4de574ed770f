"""Graph in: anything graph-like, tables and labels, read and checked once."""

from altopt.graph.graph import Graph

__all__ = ["Graph"]
