"""Peers, benchmarks and the paper's experiments: a distribution of its own, beside altopt."""
