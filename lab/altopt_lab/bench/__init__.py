"""Benchmarks: time and memory of altopt and of other libraries in the same run."""
