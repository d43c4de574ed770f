"""Fitted scikit-learn and LightGBM classifiers as JSON and arrays, and back, without any code from the file."""
