"""What a running command says on the way: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import sys
from types import TracebackType
from typing import Any

import typer


class Rounds:
    """Hears of each round of a fit; stands in for `on_round`."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self.bar: Any = None
        self.task: Any = None

    def __enter__(self) -> "Rounds":
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

    def __call__(self, done: int, planned: int, record: Any) -> None:
        if self.bar is not None:
            self.bar.update(self.task, description="rounds", completed=done, total=planned)
        elif not self.quiet:
            typer.echo(
                f"round {done} of {planned}: objective {record.objective:.6g}, "
                f"{record.changed:.2%} of the labels changed, {record.seconds:.1f} s",
                err=True,
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
