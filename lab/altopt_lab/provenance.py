"""The code that makes a figure: its commit, and a sum of the sources that the figure depends on."""

import ast
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import altopt
import altopt_lab

OURS, PEERS = "altopt", "baselines"  # whose sources a figure depends on
# what a fit passes through; command line, drawings, stored models, updates and pages are not among it
FIT = (
    "arrays.py",
    "defaults.py",
    "estimator.py",
    "settings.py",
    "threads.py",
    "datasets/splits.py",
    "encoders",
    "fitted/fit.py",
    "fitted/model.py",
    "fitted/new_nodes.py",
    "fitted/system.py",
    "graph",
    "inputs",
    "operator",
    "selection",
    "solvers",
    "training",
    "views",
)
PEER_FIT = ("arrays.py", "threads.py", "datasets/splits.py", "encoders/torch/learner.py", "graph", "operator")
SOURCES = (".py", ".cpp", ".hpp")


@cache
def code() -> dict[str, str]:
    """Short sums of the sources behind figures of altopt and of baselines; comments and docstrings do not count."""
    package, lab = (Path(str(module.__file__)).parent for module in (altopt, altopt_lab))
    return {
        OURS: sum_of([package / part for part in FIT]),
        PEERS: sum_of([lab / "baselines", *(package / part for part in PEER_FIT)]),
    }


def sum_of(places: list[Path]) -> str:
    """Of all source files in these places, by name and meaning."""
    held = sha256()
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in files:
            if path.suffix in SOURCES:
                held.update(path.name.encode() + meaning(path).encode())
    return held.hexdigest()[:10]


def meaning(path: Path) -> str:
    """A file without what does not change what it does."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return "\n".join(line.partition("//")[0].rstrip() for line in text.splitlines())
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and is_docstring(body[0]):
            body[0] = ast.Pass()
    return ast.dump(tree)


def is_docstring(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


@cache
def commit() -> str | None:
    """The commit that is checked out, with a + where sources differ from it; None outside of a repository."""
    root = Path(str(altopt_lab.__file__)).parents[2]
    head = git(root, "rev-parse", "--short=12", "HEAD")
    if head is None:
        return None
    changed = git(root, "status", "--porcelain", "--untracked-files=no", "--", "src", "lab")
    return f"{head}+" if changed else head


def git(root: Path, *words: str) -> str | None:
    try:
        call = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return call.stdout.strip() if call.returncode == 0 else None
