"""python -m altopt_lab.trust.known: what once broke, one line a case; --tree runs the altopt of another checkout."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

from altopt_lab.trust.children import forked
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.part import Outcome

SCRIPTS = (
    "rce_json",
    "rce_skops",
    "planetoid_pickle",
    "folders",
    "window",
    "many_updates",
    "shared_model",
    "bad_npz",
    "large_numbers",
    "push_hang",
)


def cases(script: str) -> list[Case]:
    return list(import_module(f"altopt_lab.trust.known.{script}").CASES)


def preload(script: str) -> None:
    """Import what a script's cases are slow to import, before their processes part."""
    for name in getattr(import_module(f"altopt_lab.trust.known.{script}"), "PRELOAD", ()):
        import_module(name)


def outcome_of(case: Case) -> Outcome:
    """The case in a process of its own, with a folder that is removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="known-"))
    try:
        end = forked(lambda: vars(case.holds(folder)), case.seconds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(**end.value) if end.whole else fault(end.fault())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scripts", nargs="*", default=SCRIPTS)
    parser.add_argument("--tree", type=Path, help="a checkout of altopt, with its native module built")
    parser.add_argument("--originals", action="store_true", help="leave the variations out")
    asked = parser.parse_args()
    if asked.tree is not None:
        return on_tree(asked.tree)
    n_faults = 0
    for script in asked.scripts:
        preload(script)
        for case in cases(script):
            if asked.originals and not case.original:
                continue
            begun = time.monotonic()
            outcome = outcome_of(case)
            n_faults += outcome.kind == "fault"
            words = " ".join(outcome.detail.split())[:160]
            kind = "" if case.original else " (variation)"
            print(
                f"{script} | {case.name}{kind} | {outcome.kind} | {words} | {time.monotonic() - begun:.1f} s",
                flush=True,
            )
    return min(n_faults, 1)


def on_tree(tree: Path) -> int:
    """The same call, with the altopt of `tree` in front."""
    lab = Path(__file__).parents[3]
    place = sys.argv.index("--tree")
    rest = sys.argv[1:place] + sys.argv[place + 2 :]
    paths = [str(tree / "src"), str(lab), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run([sys.executable, "-m", "altopt_lab.trust.known", *rest], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
