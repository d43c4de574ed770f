"""The command line: which commands there are, and how each ends: 0 done, 2 wrong input, 1 a fault of ours."""

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

STOPPED = 130
GOES_ON = {
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


# what altopt-lab adds: help for the commands that it brings, where it is not installed
FROM_LAB = {
    "bench": "Time and memory beside other libraries.",
    "reproduce": "The paper's tables and figures.",
}


def add_commands_of_other_packages() -> None:
    """Commands of the entry-point group altopt.commands; those of altopt-lab say how to get it where it is missing."""
    installed = {entry.name: entry for entry in entry_points(group="altopt.commands")}
    for name, entry in installed.items():
        app.command(name)(entry.load())
    for name in FROM_LAB.keys() - installed.keys():
        app.command(
            name,
            help=f"{FROM_LAB[name]} (Needs altopt-lab.)",
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(missing(name))


def missing(name: str) -> Any:
    def command() -> None:
        from altopt.errors import InputError

        raise InputError(
            f"altopt {name} comes with the package altopt-lab, which is not installed. "
            "In a checkout of altopt: pip install -e lab"
        )

    return command


add_commands_of_other_packages()


@app.callback(invoke_without_command=True)
def altopt(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
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
    """Carry out a command and return its exit code; whatever goes wrong is one line on stderr."""
    held: list[str] = []
    with warnings.catch_warnings():
        # shown at the end, next to the result; an error makes them void, for the input must change anyway
        warnings.showwarning = lambda message, *_, **__: held.append(f"Warning: {message}")
        try:
            code = app(arguments, prog_name="altopt", standalone_mode=False)
        except Exception as error:
            code, line = ending(error)
            say(line)
            if code == 1 and os.environ.get("ALTOPT_TRACEBACK") == "1":
                raise
            return code
    if code == STOPPED:
        hint = GOES_ON.get(" ".join(arguments[:1]), "")
        say(f"Stopped.{hint}")
    else:
        for line in dict.fromkeys(held):
            say(line)
    return code if isinstance(code, int) else 0


def ending(error: Exception) -> tuple[int, str]:
    """The exit code that belongs to an error, and the sentence about it."""
    from altopt.errors import InputError

    if isinstance(error, InputError):
        return 2, f"Error: {error}"
    if isinstance(error, typer.Abort):
        return STOPPED, "Stopped."
    if hasattr(error, "format_message"):  # typer's errors about the call itself
        context: Any = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "altopt"
        return 2, f"Error: {error.format_message()} See {command} --help."
    hint = "" if os.environ.get("ALTOPT_TRACEBACK") == "1" else " Set ALTOPT_TRACEBACK=1 to see where."
    return 1, f"Error: altopt broke, which is a fault of its own: {type(error).__name__}: {error}.{hint}"


def say(line: str) -> None:
    """One line on stderr, whatever line breaks the message holds."""
    print(" ".join(line.split()), file=sys.stderr)
