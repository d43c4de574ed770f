"""Sphinx settings: the pages here are Markdown."""

project = "altopt"
extensions = ["myst_parser"]
html_theme = "pydata_sphinx_theme"
html_title = "altopt"
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
