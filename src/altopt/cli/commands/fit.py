"""altopt fit: from tables of edges, features and labels to a stored model, predictions and a report."""

import shutil
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from altopt.cli import choices
from altopt.cli.progress import Rounds


def fit(
    features: Annotated[Path, typer.Option(help="Table with node and feature columns; or .npy, .npz.")],
    labels: Annotated[Path, typer.Option(help="Table with node and label, of the nodes that have one.")],
    out: Annotated[Path, typer.Option(help="Folder for model, predictions and report.html.")],
    edges: Annotated[
        Path | None,
        typer.Option(help="Table with source, target and maybe weight. Without it: the k-NN graph of X."),
    ] = None,
    directed: Annotated[bool, typer.Option("--directed", help="Keep the direction of the edges.")] = False,
    paper: Annotated[
        Literal["mse", "ce", "H", "N"] | None, typer.Option(help="Fit this form of the paper, to the letter.")
    ] = None,
    graph_view: Annotated[str | None, typer.Option(metavar="<name>", help=choices.GRAPH_VIEW)] = None,
    label_view: Annotated[str | None, typer.Option(metavar="<name>", help=choices.LABEL_VIEW)] = None,
    inputs: Annotated[str | None, typer.Option(metavar="<names>", help=choices.INPUTS)] = None,
    encoder: Annotated[str | None, typer.Option(metavar="<name>", help=choices.ENCODER)] = None,
    rounds: Annotated[int | None, typer.Option(min=0, help="Updates of F; else the model's default.")] = None,
    classes: Annotated[
        str | None, typer.Option(help="All classes, as a,b,c, where some have no label.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same bits.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a fit that was broken off.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read the input, say what the fit would need, and end.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
    predictions_format: Annotated[Literal["parquet", "csv"], typer.Option()] = "parquet",
) -> None:
    """Find a label for every node, from features, edges and a few known labels."""
    from altopt import AltOpt
    from altopt.cli.report import model_report
    from altopt.cli.tables import read_problem
    from altopt.graph.tables import write_predictions

    if not dry_run:
        prepare_folder(out)
    ids, names, X, y, graph = read_problem(features, labels, edges, directed)
    settings: dict[str, Any] = {"random_state": seed} | ({} if rounds is None else {"n_rounds": rounds})
    settings |= choices.chosen_parts(graph_view, label_view, inputs, encoder)
    if classes is not None:
        settings["classes"] = read_classes(classes, y)
    model = AltOpt(**settings) if paper is None else AltOpt.paper(paper, **settings)
    if dry_run or not quiet:
        typer.echo(announcement(X, y, graph, model, dry_run))
    if dry_run:
        return
    with Rounds(quiet) as on_round:
        model.fit(X, y, graph=graph, on_round=on_round, checkpoint=out / "checkpoint", resume=resume)
    model.feature_names_in_ = names  # stored, so that predict can put a new table's columns in this order
    model.save(out / "model")
    written = out / f"predictions.{predictions_format}"
    write_predictions(
        written, ids, model.transduction_, model.confidence_, model.label_distributions_, model.classes_
    )
    (out / f"predictions.{'csv' if predictions_format == 'parquet' else 'parquet'}").unlink(missing_ok=True)
    model_report(model, out / "report.html")
    for done_with in (out / "checkpoint", *out.glob(".checkpoint.*")):  # drafts are what a kill may leave
        shutil.rmtree(done_with, ignore_errors=True)
    if not quiet:
        typer.echo(model.outcome_)
        typer.echo(f"Wrote {out / 'model'}, {written} and {out / 'report.html'}.")


def prepare_folder(out: Path) -> None:
    """Create the output folder; refuse before the work what could not be written after it."""
    from altopt.errors import InputError

    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file. Name a folder.")
    for name in ("model", "checkpoint"):
        if (out / name).exists() and not (out / name / "model.json").is_file():
            raise InputError(
                f"{out / name} is there and not written by altopt. Name another folder as --out."
            )
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / ".altopt").touch()
        (out / ".altopt").unlink()
    except OSError as cause:
        raise InputError(f"--out {out} cannot be written: {cause.strerror}. Name another folder.") from cause


def read_classes(classes: str, y: Any) -> list[Any]:
    """a,b,c as a list, in the type of the labels."""
    from altopt.errors import InputError

    names = [name.strip() for name in classes.split(",") if name.strip()]
    if y.dtype.kind not in "if":
        return names
    try:
        return [int(name) for name in names]
    except ValueError as cause:
        raise InputError(
            f"--classes {classes} holds text, but the labels are whole numbers. List whole numbers."
        ) from cause


def announcement(X: Any, y: Any, graph: Any, model: Any, dry_run: bool) -> str:
    """What is about to be fitted, and about how much memory that takes; in full where nothing else is wanted."""
    from altopt.cli.memory import expected_memory
    from altopt.graph.validation import known_labels

    n, known = X.shape[0], y[known_labels(y)]
    n_classes = len(set(known.tolist()) | set(model.classes or []))
    n_edges = n * model.n_neighbors if graph is None else graph.n_edges
    edges = "edges to be built from X" if graph is None else f"{n_edges:,} edges"
    memory = expected_memory(X, n_edges, n_classes, model, graph is not None and graph.weighted)
    said = (
        f"{n:,} nodes, {edges}, {X.shape[1]:,} features, {len(known):,} labels of {n_classes:,} classes; "
        f"needs about {memory.peak / 1e9:.1f} GB of memory."
    )
    return "\n".join([said, *memory.lines()]) if dry_run else said
