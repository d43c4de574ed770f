"""Altopt beside its peers: time and memory, side by side in one run, as tables, JSON and a page."""
