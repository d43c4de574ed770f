"""The code that makes a figure: its commit, and a sum of the sources that the figure depends on."""

import json
import subprocess
from functools import cache
from hashlib import sha256
from pathlib import Path

import altopt
import altopt_lab
from altopt_lab.passage import Passage, meaning_of
from altopt_lab.sources import short, sum_of

# whose sources a figure depends on: those of AltOpt(), of AltOpt() and the networks beside it, of baselines, of fits on
# files; of ALT-OPT under settings of a search, of the paper's own method with its MLP and with a peer's network in its
# place what such fits pass through, since they compare nothing and most of the package is not behind them
OURS, NETWORKS, PEERS, ON_FILES = "altopt", "networks", "baselines", "files"
SEARCHED, PAPER, PAPER_ON_GRAPH = "searched", "paper", "paper_on_graph"
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
PEER_METHOD = ("baselines", "experiments/baseline_methods.py", "experiments/method.py", "metrics.py")
PEER_FIT = (
    "arrays.py",
    "errors.py",
    "threads.py",
    "datasets/splits.py",
    "encoders/torch/learner.py",
    "graph",
    "operator",
)
LEFT_OUT = ("graph/file_formats.py", "graph/files.py")
OF_NETWORKS = "encoders/torch"
CONTEST_SPLITS = ("equal/splits.py",)
PASSAGES = Path(__file__).parent / "passages.json"
KERNELS = "operator/kernels/native"


@cache
def code() -> dict[str, str]:
    """Short sums of the sources behind figures of altopt and of baselines; comments and docstrings do not count."""
    package, lab = (Path(str(module.__file__)).parent for module in (altopt, altopt_lab))
    peers = [lab / part for part in PEER_METHOD] + [package / part for part in PEER_FIT]
    kernels = sum_of([package / KERNELS])
    return {
        OURS: code_of(package),
        NETWORKS: sum_of([package / part for part in FIT], left_out(package)),
        ON_FILES: sum_of([package / part for part in FILES_FIT], left_out(package)),
        PEERS: sum_of(peers),
        **{kind: sum_of_passage(passage, kernels) for kind, passage in passages().items()},
        CONTEST: sum_of([lab / part for part in CONTEST_SPLITS]),
    }


def passages() -> dict[str, Passage]:
    """The functions that fits pass through, by kind, as `altopt_lab.passages` found them."""
    if not PASSAGES.exists():
        return {}
    held: dict[str, Passage] = json.loads(PASSAGES.read_text(encoding="utf-8"))
    return held


def sum_of_passage(passage: Passage, kernels: str) -> str:
    """Of what these functions mean, and of the compiled kernels as a whole."""
    return short(sha256(f"{meaning_of(passage)} {kernels}".encode()).hexdigest())


def in_contest(sums: dict[str, str], depends_on: str) -> str:
    """The sum behind a fit on a split of the contest: that of the method and that of the splits."""
    return short(sha256(f"{sums[depends_on]} {sums[CONTEST]}".encode()).hexdigest())


def code_of(package: Path) -> str:
    """The sum behind figures of the altopt in a folder, which may be that of another checkout."""
    return sum_of([package / part for part in FIT], (*left_out(package), package / OF_NETWORKS))


def left_out(package: Path) -> tuple[Path, ...]:
    return tuple(package / part for part in LEFT_OUT)


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
