"""The command line: its commands and exit codes.

0 done, 2 wrong input or a disk that cannot be written, 1 an internal error, 128 + number stopped by a signal.
"""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

from altopt.cli.commands import datasets
from altopt.cli.commands.demo import demo
from altopt.cli.commands.explain import explain
from altopt.cli.commands.explore import explore
from altopt.cli.commands.export import export
from altopt.cli.commands.fit import fit
from altopt.cli.commands.label import label
from altopt.cli.commands.predict import predict
from altopt.cli.commands.report import report
from altopt.cli.commands.suggest import suggest
from altopt.cli.commands.update import update
from altopt.cli.console import say, tolerate_encodings

INTERRUPTED = 128 + signal.SIGINT
PIPE_CLOSED = 128 + 13  # what a shell reports of a program whose reader has gone
HOW_TO_RESUME = {
    "fit": " The same command with --resume goes on after the last finished step.",
    "reproduce": " The same command goes on after the last finished run.",
}

app = typer.Typer(
    name="altopt",
    help="A label for every node of a graph from a handful of known ones.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(fit)
app.command()(predict)
app.command()(explain)
app.command()(update)
app.command()(suggest)
app.command()(report)
app.command()(export)
app.command()(explore)
app.command()(label)
app.add_typer(datasets.app, name="datasets")


# commands of altopt-lab, and their help where it is not installed
LAB_COMMANDS = {
    "bench": "Compare time and memory with other libraries.",
    "reproduce": "Run the paper's tables and figures again.",
}
LAB_MISSING = "comes with altopt-lab, which is not installed. In a checkout of altopt: pip install -e lab"


def add_commands_of_other_packages() -> None:
    """Add the commands of the entry-point group altopt.commands; one that cannot be had says why when it is called."""
    plugins = {entry.name: entry for entry in entry_points(group="altopt.commands")}
    for name, entry in plugins.items():
        try:
            app.command(name)(entry.load())
        except Exception as error:  # a broken package must not take the other commands with it
            origin = "another package" if entry.dist is None else entry.dist.name
            reason = f"comes with {origin}, which cannot be loaded ({type(error).__name__}: {error}). Install it again."
            add_unavailable(name, f"Not available: {origin} cannot be loaded.", reason)
    for name, about in LAB_COMMANDS.items():
        if name not in plugins:
            add_unavailable(name, f"{about} (Needs altopt-lab.)", LAB_MISSING)


def add_unavailable(name: str, about: str, reason: str) -> None:
    """A command that takes any arguments and refuses."""

    def command() -> None:
        from altopt.errors import InputError

        raise InputError(f"altopt {name} {reason}")

    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(name, help=about, context_settings=anything)(command)


add_commands_of_other_packages()


@app.callback(invoke_without_command=True)
def altopt(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from altopt import __version__
        from altopt.operator.kernels.dispatch import description

        typer.echo(f"altopt {__version__} ({description()})")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """The console's entry."""
    tolerate_encodings((sys.stdout, sys.stderr))
    with stopping_signals() as caught:
        code = run(sys.argv[1:])
    # nothing is left to be written: the interpreter would complain about a stream that failed
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # AttributeError: it was closed from the start
            stream.close()
    sys.exit(128 + caught[0] if caught and code == INTERRUPTED else code)


@contextmanager
def stopping_signals() -> Iterator[list[int]]:
    """Answer SIGTERM and SIGHUP as Ctrl-C is answered: what is half written is removed. Lists those that came."""
    caught: list[int] = []

    def stop(number: int, frame: Any) -> None:
        caught.append(number)
        raise KeyboardInterrupt

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    # one that is ignored stays so: nohup asks for that
    before = {number: signal.getsignal(number) for number in numbers}
    before = {number: handler for number, handler in before.items() if handler is signal.SIG_DFL}
    for number in before:
        signal.signal(number, stop)
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; an error is one line on stderr."""
    shown: list[str] = []
    with warnings.catch_warnings():
        # printed after the result, and not at all after an error: the input must change anyway
        warnings.showwarning = lambda message, *_, **__: shown.append(f"Warning: {message}")
        try:
            code = app(arguments, prog_name="altopt", standalone_mode=False)
            flush_output()
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            code, line = ending(error)
            if code != INTERRUPTED:
                if line:
                    say(line)
                if code == 1 and os.environ.get("ALTOPT_TRACEBACK") == "1":
                    raise
                return code
    if code == INTERRUPTED:
        hint = HOW_TO_RESUME.get(" ".join(arguments[:1]), "")
        say(f"Stopped.{hint}")
    else:
        for line in dict.fromkeys(shown):
            say(line)
    return code if isinstance(code, int) else 0


def flush_output() -> None:
    """Write what stdout still holds, so that a failure has its sentence."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def ending(error: BaseException) -> tuple[int, str]:
    """The exit code for an error, and the sentence about it; none where nobody listens any more."""
    from altopt.errors import InputError

    if isinstance(error, InputError):
        return 2, f"Error: {error}"
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        return INTERRUPTED, "Stopped."
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        return PIPE_CLOSED, ""
    if isinstance(error, MemoryError):
        return 2, "Error: there is not enough memory. altopt fit --dry-run shows what a fit needs."
    if isinstance(error, OSError) and error.errno:  # of a disk that fails at any other moment
        place = "standard output" if error.filename is None else os.fspath(error.filename)
        return 2, f"Error: {place} cannot be used: {error.strerror}. Check the disk, or name another place."
    if hasattr(error, "format_message"):  # typer's errors about the call itself
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "altopt"
        return 2, f"Error: {error.format_message()} See {command} --help."
    hint = "" if os.environ.get("ALTOPT_TRACEBACK") == "1" else " Set ALTOPT_TRACEBACK=1 to see where."
    return 1, f"Internal error in altopt (please report it): {type(error).__name__}: {error}.{hint}"
