"""Cases for the command line: every command with good files and odd ones, options left out, repeated and invented."""

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from altopt.cli.main import run
from altopt_lab.trust.command_files import ODD_TEXTS, write_files
from altopt_lab.trust.judge import judged, promise, refused
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case

FILES = {
    "features": ("features.csv", "features.parquet"),
    "labels": ("labels.csv", "labels.parquet"),
    "edges": ("edges.csv", "edges.parquet", "A.npz"),
    "new": ("new.csv", "new.parquet"),
    "ties": ("ties.csv", "ties.parquet"),
    "more": ("more.csv", "more.parquet"),
    "reweighed": ("reweighed.csv", "reweighed.parquet"),
}
ODD_FILES = (
    *ODD_TEXTS,
    *(name for names in FILES.values() for name in names),
    *("lists.parquet", "structs.parquet", "dates.parquet", "decimals.parquet", "nulls.parquet"),
    *("list weights.parquet", "no rows.parquet", "outside.npz", "X.npy", "objects.npy", "cube.npy"),
    *("numbers.csv", "whole labels.parquet", "folder.csv", "absent.csv", "", ".", "/", "/dev/null", "model"),
    *("a\nb.csv", "x" * 300 + ".csv", "ü😀.csv", "features.csv/below.csv", "-", "--", "~", "\ud800.csv"),
)
ODD_VALUES = (
    "",
    "-1",
    "0",
    "1",
    "1e9",
    "99999999999999999999",
    "nan",
    "x",
    "ü",
    "none",
    "linear",
    "a,b",
    "--help",
)
MODELS = ("model", "model", "model", "fit", "model", "fit", "features.csv", "absent", "", "/", "folder.csv")
OUTPUTS = ("out", "out", "out", "out.csv", "out.parquet")
ODD_OUTPUTS = (
    "",
    ".",
    "/",
    "/proc/x",
    "features.csv/below",
    "x" * 300,
    "out.txt",
    "folder.csv",
    "a/b/c",
    "model",
)
NO_OUTPUTS = ("", "/proc/x", "features.csv", "features.csv/below", "x" * 300)  # a whole demo takes a minute

# of each command: its first words, and its options with what they usually take
COMMANDS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "fit": (
        ("fit",),
        {
            "--features": FILES["features"],
            "--labels": FILES["labels"],
            "--out": ("out",),
            "--edges": FILES["edges"],
            "--rounds": ("0", "1"),
        },
    ),
    "predict": (
        ("predict", MODELS),
        {"--features": FILES["new"], "--out": ("out.csv", "out.parquet"), "--edges": FILES["ties"]},
    ),
    "update": (
        ("update", MODELS),
        {
            "--labels": FILES["more"],
            "--edges": FILES["reweighed"],
            "--out": ("out",),
            "--predictions": ("out.csv",),
            "--features": FILES["new"],
        },
    ),
    "explain": (("explain", MODELS, ("n0", "n1", "n23", "nobody", "", "0")), {"--against": ("c0", "c1")}),
    "suggest": (("suggest", MODELS), {"-n": ("1", "5")}),
    "report": (("report", MODELS), {"--out": ("out.html",)}),
    "datasets": (
        ("datasets", ("list", "path", "get nobody", "get ../x", "nope")),
        {"--data": (".", "absent")},
    ),
    "demo": (("demo",), {"--out": NO_OUTPUTS}),
    "nothing": (("", "--version", "--help", "fits", "-x"), {}),
}
NEEDED = {"fit": ("--features", "--labels", "--out"), "predict": ("--features", "--out"), "demo": ("--out",)}
FLAGS = {
    "fit": (
        "--directed",
        "--quiet",
        "--dry-run",
        "--resume",
        "--paper mse",
        "--encoder kernel",
        "--inputs raw",
    ),
    "predict": ("--quiet",),
    "update": ("--refresh", "--dry-run", "--json"),
    "explain": ("--json", "--top 3"),
    "suggest": ("--json",),
}
STRANGE_WORDS = (
    "--nope",
    "-",
    "--",
    "extra",
    "--out",
    "--help",
    "\x1b[31m",
    "--seed=-1",
    "-n=x",
    "--classes=a",
)


@st.composite
def command_lines(draw: Any) -> Case:
    """A command with its options, one or two of them odd."""
    weighted = [
        "fit",
        "fit",
        "predict",
        "predict",
        "update",
        "update",
        "update",
        "explain",
        "suggest",
        "report",
    ]
    name = draw(st.sampled_from([*weighted, "datasets", "demo", "nothing"]))
    head, options = COMMANDS[name]
    words: list[str] = []
    if name == "nothing":
        words = [draw(st.sampled_from(head))]
    else:
        for part in head:
            words += [part] if isinstance(part, str) else word(draw(st.sampled_from(part)))
    odd = draw(st.sampled_from(["", "", *options])) if options and name != "demo" else ""
    for option, values in options.items():
        if option in NEEDED.get(name, ()) or draw(st.booleans()):
            words += [option, draw(st.sampled_from(odd_values(option) if option == odd else values))]
        elif option == odd:
            words.append(option)
    chance = Random(f"{words} {draw(st.integers(0, 2**32 - 1))}")  # hypothesis would draw rare things often
    words += [part for flag in FLAGS.get(name, ()) if chance.random() < 0.15 for part in flag.split()]
    if chance.random() < 0.1:
        words.insert(chance.randrange(len(words) + 1), chance.choice(STRANGE_WORDS))
    if chance.random() < 0.07 and len(words) > 1 and name != "demo":
        words.pop(chance.randrange(len(words)))
    return {"words": words, "process": chance.random() < 0.01}


def word(text: str) -> list[str]:
    return text.split() if text.startswith("get ") else [text]


def odd_values(option: str) -> tuple[str, ...]:
    if option in ("--out", "--predictions"):
        return ODD_OUTPUTS
    return ODD_FILES if option in ("--features", "--labels", "--edges", "--data") else ODD_VALUES


@cache
def place() -> Path:
    """A folder with all files and a fitted model, made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="commands-"))
    write_files(folder)
    files = {name: str(folder / f"{name}.csv") for name in ("features", "labels", "edges")}
    call = ["fit", *(part for name, file in files.items() for part in (f"--{name}", file))]
    code, _, errors = in_process([*call, "--out", str(folder / "fit"), "--quiet"])
    promise(code == 0, f"the fit before the cases ended with {code}: {errors}")
    return folder


def check(case: Case) -> Outcome:
    """Run a command line where the files are."""
    said: list[str] = []
    outcome = judged(lambda: said.extend(hold_to_promises(case)))
    return refused(said[0]) if said and outcome.kind == "fine" else outcome


def hold_to_promises(case: Case) -> list[str]:
    """Exit 0, or 2 and a sentence, which is returned; never a traceback."""
    source = place()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "here"
        shutil.copytree(source, folder)
        (folder / "fit" / "model").rename(folder / "model")
        shutil.copytree(folder / "model", folder / "fit" / "model")
        before = Path.cwd()
        os.chdir(folder)
        try:
            code, out, errors = (in_own_process if case["process"] else in_process)(case["words"])
        finally:
            os.chdir(before)
    promise(code in (0, 2), f"exit {code}: {' '.join(errors.split())[:300]}")
    promise("Traceback (most recent call last)" not in out + errors, f"a traceback: {errors[-300:]}")
    if code == 2:
        said = [line for line in errors.splitlines() if line.startswith("Error:")]
        promise(len(said) == 1, f"exit 2 without one sentence: {errors[:300]!r}")
        return said
    return []


def in_process(words: list[str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command in this process."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            code = run(words)
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), errors.getvalue()


def in_own_process(words: list[str]) -> tuple[int, str, str]:
    """The same in a process of its own; words that no shell can hand over stay out."""
    plain = [part.replace("\ud800", "?") for part in words]
    call = [sys.executable, "-c", "from altopt.cli.main import main; main()", *plain]
    done = subprocess.run(call, capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


PART = Part(
    name="commands",
    what="command lines of fit, predict, update, explain, suggest, report, datasets and demo with good and odd files, "
    "options left out, repeated, invented; one in a hundred in a process of its own",
    strategy=command_lines(),
    check=check,
    trials=2500,
    seconds=120.0,
    short=12,
    batch=250,
)
