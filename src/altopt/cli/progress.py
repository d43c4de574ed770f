"""What a running command says on the way: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import sys
from types import TracebackType
from typing import Any, Self

import typer


class Bar:
    """A bar with the time that is left, on a terminal and unless quiet; else None of it."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = [
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            ]
            self.bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("preparing", total=None)
        return self

    def show(self, words: str, done: int, planned: int, line: str) -> None:
        """The bar at `done`, or the line where there is none."""
        if self.bar is not None:
            self.bar.update(self.task, description=words, completed=done, total=planned)
        elif not self.quiet:
            typer.echo(line, err=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


class Rounds(Bar):
    """Hears of each round of a fit; stands in for `on_round`."""

    def __call__(self, done: int, planned: int, record: Any) -> None:
        line = (
            f"round {done} of {planned}: objective {record.objective:.6g}, "
            f"{record.changed:.2%} of the labels changed, {record.seconds:.1f} s"
        )
        self.show("rounds", done, planned, line)


class Works(Bar):
    """Hears of each run of `altopt reproduce`."""

    def __call__(self, done: int, planned: int, record: dict[str, Any], left: float) -> None:
        found = f"{100 * record['test_accuracy']:.2f} %" if "test_accuracy" in record else "done"
        outcome = f"failed: {record['failed']}" if "failed" in record else found
        guess = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        self.show(
            record["key"],
            done,
            planned,
            f"{done} of {planned}: {record['key']}: {outcome}, about {guess} left",
        )

    def say(self, line: str) -> None:
        if not self.quiet:
            typer.echo(line, err=True)
