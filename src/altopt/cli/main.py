"""The command line: its commands and exit codes, 0 done, 2 wrong input, 1 an internal error, 130 interrupted."""

import os
import sys
import warnings
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

from altopt.cli.commands import datasets
from altopt.cli.commands.demo import demo
from altopt.cli.commands.explain import explain
from altopt.cli.commands.fit import fit
from altopt.cli.commands.predict import predict
from altopt.cli.commands.report import report
from altopt.cli.commands.suggest import suggest
from altopt.cli.commands.update import update

INTERRUPTED = 130
HOW_TO_RESUME = {
    "fit": " The same command with --resume goes on after the last finished round.",
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
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code; an error is one line on stderr."""
    shown: list[str] = []
    with warnings.catch_warnings():
        # printed after the result, and not at all after an error: the input must change anyway
        warnings.showwarning = lambda message, *_, **__: shown.append(f"Warning: {message}")
        try:
            code = app(arguments, prog_name="altopt", standalone_mode=False)
        except Exception as error:
            code, line = ending(error)
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


def ending(error: Exception) -> tuple[int, str]:
    """The exit code for an error, and the sentence about it."""
    from altopt.errors import InputError

    if isinstance(error, InputError):
        return 2, f"Error: {error}"
    if isinstance(error, typer.Abort):
        return INTERRUPTED, "Stopped."
    if hasattr(error, "format_message"):  # typer's errors about the call itself
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "altopt"
        return 2, f"Error: {error.format_message()} See {command} --help."
    hint = "" if os.environ.get("ALTOPT_TRACEBACK") == "1" else " Set ALTOPT_TRACEBACK=1 to see where."
    return 1, f"Internal error in altopt (please report it): {type(error).__name__}: {error}.{hint}"


def say(line: str) -> None:
    """One line on stderr, whatever line breaks the message holds."""
    print(" ".join(line.split()), file=sys.stderr)
