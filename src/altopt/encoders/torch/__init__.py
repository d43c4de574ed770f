"""Encoders that torch trains; nothing else in the package imports torch when it is loaded."""
