"""Recorded runs: what was fitted, on which split, with which seed, and how it did."""
