"""altopt demo: the comparison on built-in data, as a table."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from altopt.cli.console import show
from altopt.cli.paths import Output


def demo(
    out: Annotated[Path, Output("Folder for predictions and report.html.")] = Path("demo"),
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress output.")] = False,
) -> None:
    """Compare methods on built-in data.

    Fits AltOpt, the paper's algorithm, LabelSpreading and an MLP on two built-in data sets, prints their accuracy and
    writes predictions and a report. Takes about a minute.
    """
    from rich.console import Console

    from altopt.cli.demo import LABELS_PER_CLASS, SEEDS, run
    from altopt.errors import require_extra
    from altopt.io.files import check_output

    require_extra("torch", "torch", "altopt demo")
    check_output(out, "--out", folder=True)
    steps = Console(stderr=True, markup=False, highlight=False)
    if quiet:
        results = run(out)
    elif sys.stderr.isatty():
        with steps.status("starting") as status:
            results = run(out, say=status.update)
    else:
        results = run(out, say=lambda line: show(line, err=True))
    Console(highlight=False).print(table(results, LABELS_PER_CLASS, len(SEEDS)))
    show("Bold: the best, and all that these splits cannot tell from it.")
    for method, how in {result.method: result.how for result in results}.items():
        show(f"{method} uses {how}.")
    show(
        f"Wrote {out / 'report.html'}, {out / 'results.json'} and predictions.parquet in "
        f"{' and '.join(str(out / name) for name in dict.fromkeys(result.dataset for result in results))}."
    )


def table(results: list[Any], n_labels: int, n_splits: int) -> Any:
    from rich import box
    from rich.table import Table

    title = f"{n_labels} labels per class, {n_splits} random splits, one thread"
    shown = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    shown.add_column("data", no_wrap=True)
    shown.add_column("method", no_wrap=True)
    shown.add_column("accuracy, %", justify="right", no_wrap=True)
    shown.add_column("s a fit", justify="right", no_wrap=True)
    for k, result in enumerate(results):
        last = k + 1 == len(results) or results[k + 1].dataset != result.dataset
        accuracy = f"{100 * result.mean:.1f} ± {100 * result.sd:.1f}"
        if not any(result.behind(other) for other in results if other.dataset == result.dataset):
            accuracy = f"[bold]{accuracy}[/bold]"
        seconds = f"{result.mean_seconds:.3f}"
        shown.add_row(result.dataset, result.method, accuracy, seconds, end_section=last)
    return shown
