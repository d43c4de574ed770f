"""A label for every node of a graph from a handful of known ones."""
