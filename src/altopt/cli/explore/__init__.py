"""Labelling a stored model: a session that several people share, its journal, and the local page over it."""
