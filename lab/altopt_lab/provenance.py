"""The code that makes a figure: its commit, and a sum of the sources that the figure depends on."""

import ast
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import altopt
import altopt_lab

# whose sources a figure depends on: those of AltOpt(), of fits whose encoder is a network, of baselines, of fits on
# files, of the paper's own method with its MLP and with a peer's network in its place
OURS, NETWORKS, PEERS, ON_FILES = "altopt", "networks", "baselines", "files"
PAPER, PAPER_ON_GRAPH = "paper", "paper_on_graph"
CONTEST = "contest"  # how splits are drawn where all have the same number of trials
# what a fit passes through; command line, files, drawings, stored models, updates and pages are not among it
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
    "fitted/source.py",
    "fitted/system.py",
    "graph",
    "inputs",
    "operator",
    "selection",
    "solvers",
    "training",
    "views",
)
FILES_FIT = (*FIT, "scale", "io")
PEER_FIT = ("arrays.py", "threads.py", "datasets/splits.py", "encoders/torch/learner.py", "graph", "operator")
LEFT_OUT = ("graph/file_formats.py", "graph/files.py")
OF_NETWORKS = "encoders/torch"
PAPER_FIT, ON_GRAPH_FIT = ("equal/paper_method.py",), ("equal/graph_encoder.py", "baselines")
CONTEST_SPLITS = ("equal/splits.py",)
SOURCES = (".py", ".cpp", ".hpp")


@cache
def code() -> dict[str, str]:
    """Short sums of the sources behind figures of altopt and of baselines; comments and docstrings do not count."""
    package, lab = (Path(str(module.__file__)).parent for module in (altopt, altopt_lab))
    networks = [package / part for part in FIT]
    paper = [*networks, *(lab / part for part in PAPER_FIT)]
    return {
        OURS: code_of(package),
        NETWORKS: sum_of(networks, left_out(package)),
        ON_FILES: sum_of([package / part for part in FILES_FIT], left_out(package)),
        PEERS: sum_of([lab / "baselines", *(package / part for part in PEER_FIT)]),
        PAPER: sum_of(paper, left_out(package)),
        PAPER_ON_GRAPH: sum_of([*paper, *(lab / part for part in ON_GRAPH_FIT)], left_out(package)),
        CONTEST: sum_of([lab / part for part in CONTEST_SPLITS]),
    }


def in_contest(sums: dict[str, str], depends_on: str) -> str:
    """The sum behind a fit on a split of the contest: that of the method and that of the splits."""
    return sha256(f"{sums[depends_on]} {sums[CONTEST]}".encode()).hexdigest()[:10]


def code_of(package: Path) -> str:
    """The sum behind figures of the altopt in a folder, which may be that of another checkout."""
    return sum_of([package / part for part in FIT], (*left_out(package), package / OF_NETWORKS))


def left_out(package: Path) -> tuple[Path, ...]:
    return tuple(package / part for part in LEFT_OUT)


def sum_of(places: list[Path], left_out: tuple[Path, ...] = ()) -> str:
    """Of all source files in these places but some, by name and meaning."""
    held = sha256()
    for place in places:
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        for path in files:
            if path.suffix in SOURCES and not any(path.is_relative_to(out) for out in left_out):
                held.update(path.name.encode() + meaning(path).encode())
    return held.hexdigest()[:10]


def meaning(path: Path) -> str:
    """A file without what does not change what it does: comments, docstrings, the words about a default."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return "\n".join(line.partition("//")[0].rstrip() for line in text.splitlines())
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "number":
            del node.args[1:]  # of altopt.defaults: what it is, and why
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
