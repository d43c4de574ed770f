"""Write the tables of docs/architecture.md from the modules' own first sentences: python docs/modules.py."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = Path(__file__).with_name("architecture.md")
PACKAGES = {"altopt": ROOT / "src" / "altopt", "altopt_lab": ROOT / "lab" / "altopt_lab"}
TABLE = re.compile(r"(<!-- modules of ([\w/]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def first_sentence(path):
    """The first sentence of the module's docstring, on one line."""
    doc = " ".join(
        (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split()
    )
    return re.split(r"(?<=[.]) (?=[A-Z`])", doc)[0].replace("|", "\\|").replace("*", "\\*")


def table(folder):
    """One row per module of `folder`, e.g. altopt/views; folders in it have tables of their own."""
    package, *inside = folder.split("/")
    root = PACKAGES[package]
    place = root.joinpath(*inside)
    rows = ["| module | holds |", "|---|---|"]
    for path in sorted(place.glob("*.py")):
        if path.name != "__init__.py":
            name = path.relative_to(root if package == "altopt" else root.parent).as_posix()
            rows.append(f"| `{name}` | {first_sentence(path)} |")
    return "\n".join(rows)


def page():
    """The page with its tables as they should be now."""
    return TABLE.sub(
        lambda match: f"{match[1]}{table(match[2])}\n{match[3]}", PAGE.read_text(encoding="utf-8")
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
