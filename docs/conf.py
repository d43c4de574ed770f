"""Sphinx settings: Markdown pages, and an API reference from the docstrings."""

import re

project = "altopt"
copyright = "The altopt developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
suppress_warnings = [
    "myst.xref_missing"
]  # links to files outside docs/; tests/test_docs.py checks that they exist

html_theme = "pydata_sphinx_theme"
html_title = "altopt"
html_static_path = ["_static"]
html_css_files = ["altopt.css"]
html_theme_options = {
    "navbar_center": [],
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["globaltoc.html"]}
html_show_sphinx = False

default_role = "code"  # docstrings put names between single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstring's own Parameters say it
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises|Examples|Notes|References|See Also|Yields)$")


def plain_text(app, what, name, obj, options, lines):
    """Docstrings are plain text: keep `*`, `|` and `F_` as they are, and show indented formulas as they stand."""
    result, in_sections, literal, doctest = [], False, False, False
    for number, line in enumerate(lines):
        if SECTION.match(line.strip()) and number + 1 < len(lines) and lines[number + 1].startswith("---"):
            in_sections = True
        indented = line.startswith("    ")
        after_blank = number == 0 or not lines[number - 1].strip()
        if indented and after_blank and not in_sections and not literal:
            result += ["::", ""]
            literal = True
        elif line.strip() and not indented:
            literal = False
        doctest = line.strip().startswith(">>>") or (doctest and bool(line.strip()))
        result.append(line if literal or doctest else escaped(line))
    lines[:] = fields(result)


def fields(lines):
    """`name : meaning` outside of the sections of numpydoc becomes a list of fields."""
    result, inside = [], False
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and lines[number + 1].startswith("---"):
            return result + lines[number:]
        match = re.match(r"(\w[\w, ]*) : (.*)", line)
        if match and not inside:
            result.append("")
        inside = bool(match) or (inside and line.startswith("    "))
        result.append(f":{match[1]}: {match[2]}" if match else line)
    return result


def without_inherited(app, what, name, obj, skip, options):
    """What scikit-learn's metadata routing adds is documented there."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def escaped(line):
    """`line` with reStructuredText's special characters escaped outside of backticks."""
    parts = re.split(r"(``.*?``|`[^`]*`)", line)
    for k in range(0, len(parts), 2):
        parts[k] = re.sub(r"([*|\\])", r"\\\1", parts[k])
        parts[k] = re.sub(r"(?<=\w)_(?!\w)", r"\\_", parts[k])
    return "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", plain_text, priority=100)  # before napoleon, at 500
    app.connect("autodoc-skip-member", without_inherited)
