"""What AltOpt is measured against, with the same fit(X, y, graph) face."""
