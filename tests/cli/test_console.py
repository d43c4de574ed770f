"""What is printed where: odd ids, odd encodings, streams that are closed, full or read by nobody, and signals."""

import os
import signal
import subprocess
import sys

import pytest

from altopt.cli.console import printable
from altopt.cli.main import run, stopping_signals
from cli_tables import fit_call, tables

CALL = [sys.executable, "-c", "from altopt.cli.main import main; main()"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\u202egnp", "\\u202egnp"),
        ("\udcff", "\\udcff"),
        ("\x9b2J", "\\x9b2J"),
    ],
)
def test_what_a_terminal_may_obey_is_written_out(text, shown):
    assert printable(text) == shown


def test_ids_and_classes_cannot_steer_the_terminal(tmp_path, capsys):
    """Ids and labels that clear the screen or pose as a line of ours are shown as text."""
    odd = [f"\x1b[2J{k}\nWrote nothing." for k in range(6)]
    quoted = [f'"{name}"' for name in odd]
    (tmp_path / "X.csv").write_text("node,a\n" + "".join(f"{q},{k % 2}\n" for k, q in enumerate(quoted)))
    (tmp_path / "y.csv").write_text(
        "node,label\n" + "".join(f'{q},"\x1b]0;{k % 2}\x07"\n' for k, q in enumerate(quoted[:4]))
    )
    (tmp_path / "E.csv").write_text(
        "source,target\n" + "".join(f"{quoted[k]},{quoted[(k + 2) % 6]}\n" for k in range(6))
    )
    files = {
        "features": tmp_path / "X.csv",
        "labels": tmp_path / "y.csv",
        "edges": tmp_path / "E.csv",
        "out": tmp_path / "out",
    }
    assert run(fit_call(files, "--rounds", "1")) == 0
    model = str(tmp_path / "out")
    for call in (
        ["suggest", model],
        ["explain", model, odd[5]],
        ["suggest", model, "--json"],
        ["explain", model, "\x1b"],
    ):
        run(call)
    said = "".join(capsys.readouterr())
    assert "\\x1b[2J5\\nWrote nothing." in said
    assert not [letter for letter in said if not letter.isprintable() and letter != "\n"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "\N{REPLACEMENT CHARACTER}[2J5" in page
    assert "\x1b" not in page


def test_streams_that_fail_end_in_a_code_and_never_in_a_traceback():
    """No command of these needs more than the help text, so that the test is quick."""
    full = open("/dev/full", "w")  # noqa: SIM115
    read, write = os.pipe()
    os.close(read)
    ends = {
        "full": (subprocess.Popen([*CALL, "--help"], stdout=full, stderr=subprocess.PIPE, text=True), 2),
        "pipe": (subprocess.Popen([*CALL, "--help"], stdout=write, stderr=subprocess.PIPE, text=True), 141),
        "errors full": (
            subprocess.Popen([*CALL, "nonsense"], stdout=subprocess.PIPE, stderr=full, text=True),
            2,
        ),
        "closed": (
            subprocess.Popen(f"{shell(CALL)} --help >&-", shell=True, stderr=subprocess.PIPE, text=True),
            0,
        ),
        "all closed": (subprocess.Popen(f"{shell(CALL)} nonsense >&- 2>&- <&-", shell=True), 2),
        "ascii": (
            subprocess.Popen(
                [*CALL, "nonsense-é\udcff"],
                env=os.environ | {"PYTHONIOENCODING": "ascii"},
                stderr=subprocess.PIPE,
                text=True,
            ),
            2,
        ),
    }
    os.close(write)
    for name, (process, code) in ends.items():
        _, said = process.communicate()
        assert process.returncode == code, (name, said)
        assert "Traceback" not in (said or "")
        assert "Exception ignored" not in (said or "")
    full.close()


def shell(call: list[str]) -> str:
    return " ".join(f"'{part}'" for part in call)


STOPPED = """
import os, signal, sys
from altopt.cli.progress import Rounds
Rounds.__call__ = lambda *_: os.kill(os.getpid(), {number})
from altopt.cli.main import main
main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_fit_in_one_line(tmp_path, name):
    files = tables(tmp_path, "csv", "text")
    number = getattr(signal, name)
    script = STOPPED.format(number=int(number))
    ended = subprocess.run(
        [sys.executable, "-c", script, *fit_call(files)], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 128 + number
    assert ended.stderr == "Stopped. The same command with --resume goes on after the last finished step.\n"
    assert [path.name for path in files["out"].iterdir()] == ["checkpoint"]


def test_a_signal_that_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping_signals():
            assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
