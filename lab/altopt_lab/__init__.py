"""Baselines, benchmarks and the experiments of the ALT-OPT paper: a distribution of its own beside altopt."""
