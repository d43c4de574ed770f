"""Progress of a running command: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

import logging
import sys
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from altopt.cli.console import show

if TYPE_CHECKING:
    from altopt.training.alternate import Round


LONG_STEP = 2.0  # seconds of a step from which on it gets a line


class Bar:
    """A progress bar with the remaining time, on a terminal and unless quiet."""

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

    @property
    def on_terminal(self) -> bool:
        return self.bar is not None

    def show(self, words: str, done: int, planned: int | None, line: str) -> None:
        """The bar at `done`, or the line where there is none."""
        if self.bar is not None:
            self.bar.update(self.task, description=words, completed=done, total=planned)
        else:
            self.say(line)

    def say(self, line: str) -> None:
        """A plain line; work goes on where nobody can read it."""
        if not self.quiet:
            with suppress(OSError):
                show(line, err=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()


class Rounds(Bar):
    """Progress of a fit: of its steps with labels held out, which the logger names, and of its rounds (`on_round`)."""

    def __enter__(self) -> Self:
        super().__enter__()
        self.handler = logging.Handler(logging.INFO)
        self.handler.emit = self.step  # type: ignore[method-assign]
        logger = logging.getLogger("altopt")
        self.level = logger.level
        logger.setLevel(min(self.level or logging.INFO, logging.INFO))
        logger.addHandler(self.handler)
        return self

    def step(self, record: logging.LogRecord) -> None:
        """A step that has ended: shown beside the bar; where there is none, a line if it took a while."""
        seconds = getattr(record, "seconds", None)
        if seconds is None:
            return
        if self.bar is not None:
            self.bar.update(self.task, description=f"holding labels out: {record.getMessage()}")
        elif seconds >= LONG_STEP:
            self.say(f"holding labels out: {record.getMessage()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logger = logging.getLogger("altopt")
        logger.removeHandler(self.handler)
        logger.setLevel(self.level)
        super().__exit__(kind, error, trace)

    def __call__(self, done: int, planned: int, record: "Round") -> None:
        line = (
            f"round {done} of {planned}: objective {record.objective:.6g}, "
            f"{record.changed:.2%} of the labels changed, {record.seconds:.1f} s"
        )
        self.show("rounds", done, planned, line)


class Works(Bar):
    """Progress of the runs of `altopt reproduce`."""

    def __call__(self, done: int, planned: int, record: dict[str, Any], left: float) -> None:
        result = f"{100 * record['test_accuracy']:.2f} %" if "test_accuracy" in record else "done"
        outcome = f"failed: {record['failed']}" if "failed" in record else result
        guess = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
        self.show(
            record["key"],
            done,
            planned,
            f"{done} of {planned}: {record['key']}: {outcome}, about {guess} left",
        )
