"""altopt fit: from tables of edges, features and labels to a stored model, predictions and a report."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from altopt.cli import registry
from altopt.cli.columns import Label, Node, Source, Target, Weight, column_names
from altopt.cli.console import show
from altopt.cli.edge_files import EdgeOption, edge_files
from altopt.cli.paths import Output
from altopt.cli.progress import Rounds

if TYPE_CHECKING:
    from altopt import AltOpt, Graph
    from altopt.arrays import Array
    from altopt.table.reader import TableReader


def fit(
    out: Annotated[Path, Output("Folder for the model, predictions and report.html.")],
    features: Annotated[
        Path | None,
        typer.Option(
            help="Table with a column node and columns of numbers, categories, dates or text, some values missing "
            "maybe; or a matrix (.npy, .npz). Without it, the graph alone is gone by."
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="Table with columns node and label, one row for each labelled node. Without it, labels are in a "
            "column of the features, empty where unknown."
        ),
    ] = None,
    edges: Annotated[
        list[str] | None,
        EdgeOption(
            "Table with columns source, target and optionally weight; or a sparse matrix (.npz). Without it, the "
            "k-nearest-neighbour graph of the features is built."
        ),
    ] = None,
    node: Node = "node",
    label: Label = "label",
    source: Source = "source",
    target: Target = "target",
    weight: Weight = "weight",
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="<column>", help="A column of the features that is free text. May be repeated."),
    ] = None,
    directed: Annotated[
        bool, typer.Option("--directed", help="Keep the direction of the edges, for the parts that use it.")
    ] = False,
    paper: Annotated[
        Literal["mse", "ce", "H", "N"] | None,
        typer.Option(help="Run this variant of the paper's algorithm, exactly as published."),
    ] = None,
    graph_view: Annotated[str | None, typer.Option(metavar="<name>", help=registry.GRAPH_VIEWS.help)] = None,
    label_view: Annotated[str | None, typer.Option(metavar="<name>", help=registry.LABEL_VIEWS.help)] = None,
    inputs: Annotated[str | None, typer.Option(metavar="<names>", help=registry.INPUTS.help)] = None,
    encoder: Annotated[str | None, typer.Option(metavar="<name>", help=registry.ENCODERS.help)] = None,
    rounds: Annotated[
        int | None, typer.Option(min=0, help="Number of alternating rounds. Default: the model's.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="All classes, as a,b,c; needed only if some have no labelled node.")
    ] = None,
    class_prior: Annotated[
        str | None,
        typer.Option(
            metavar="<a=0.9,b=0.1 | labels>",
            help="Class shares of all nodes, where known; labels and probabilities follow them. 'labels': those "
            "of the labelled nodes, drawn at random. Default: told from how the labels were drawn.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same result.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue an interrupted fit after its last finished step.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read the input, estimate the memory, and stop.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON line.")] = False,
    predictions_format: Annotated[
        Literal["parquet", "csv"], typer.Option(help="Format of the predictions file.")
    ] = "parquet",
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="<size>",
            help="Fit on files within so much memory, as in 2GB: tables may be folders or globs of many files, "
            "predictions are written as a folder of them.",
        ),
    ] = None,
    engine: Annotated[
        Literal["local", "ray"],
        typer.Option(help="What runs a fit on files: this process, or workers of Ray."),
    ] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Workers of Ray.")] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="<address>", help="A running Ray cluster, or auto. Default: one of this machine."
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="<place>",
            help="Where a fit on files keeps what it has done: a folder or URL that all workers can read.",
        ),
    ] = None,
) -> None:
    """Label every node from a few known labels.

    Reads node features, edges and labels; writes the predictions with their probabilities, the model and an HTML
    report. Tables are Parquet, Excel, or text with any separator (.csv, .tsv); node ids may be of any type, are kept,
    and match rows of one file with those of another.
    """
    from altopt import AltOpt
    from altopt.cli import outputs
    from altopt.cli.tables import Files, read_problem
    from altopt.io import circumstances
    from altopt.io.files import new_folder

    names = column_names(node, source, target, weight, label)
    settings: dict[str, Any] = {"random_state": seed} | ({} if rounds is None else {"n_rounds": rounds})
    settings |= registry.chosen_parts(graph_view, label_view, inputs, encoder)
    if memory is not None or engine == "ray" or workers or address or storage:
        from altopt.cli import fit_files

        unknown = {"--paper": paper, "--text": text, "--directed": directed or None, "--classes": classes}
        fit_files.refuse_options(unknown | {"--predictions-format csv": predictions_format == "csv" or None})
        asked = fit_files.Engine(memory, engine, workers, address, storage)
        tables = fit_files.Tables(edge_files(edges), features, labels, names)
        fit_files.run(
            AltOpt(**settings).parameters(),
            tables,
            asked,
            out,
            class_prior=lambda known: None if class_prior is None else read_shares(class_prior, known),
            resume=resume,
            dry=dry_run,
            quiet=quiet,
            as_json=as_json,
        )
        return
    if not dry_run:
        check_folder(out)
        outputs.refuse_foreign_outputs(out, out / f"predictions.{predictions_format}")
    problem = read_problem(Files(features, labels, edge_files(edges), names, tuple(text or ()), directed))
    X, y, graph = problem.X, problem.y, problem.graph
    if classes is not None:
        settings["classes"] = read_classes(classes, y)
    if class_prior is not None:
        settings["class_prior"] = read_shares(class_prior, y)
    model = AltOpt(**settings) if paper is None else AltOpt.paper(paper, **settings)
    if not as_json and (dry_run or not quiet):
        show(*announcement(X, y, graph, model, dry_run))
    if dry_run:
        return
    with new_folder(out):
        began = time.perf_counter()
        with Rounds(quiet) as on_round:
            model.fit(X, y, graph=graph, on_round=on_round, checkpoint=out / "checkpoint", resume=resume)
        seconds = None if resume else time.perf_counter() - began  # a resumed fit began earlier
        circumstances.put(model.fitted_, circumstances.here(seconds))
        with outputs.replaced_by_a_fit(out):
            written = write_outputs(model, problem.ids, out, predictions_format, quiet)
            again = given_in_sessions(model, out)
    if again:
        show(again, err=True)
    if as_json:
        show(json.dumps(summary(model, written), default=str))
    elif not quiet:
        show(model.outcome_, *contradicted(model))
        held_out = model.fitted_.leave_one_out
        if not isinstance(held_out, str):
            show(held_out.in_words())
        show(f"Wrote {', '.join(map(str, written))}.")


def summary(model: "AltOpt", written: list[Path]) -> dict[str, Any]:
    """What a fit came to, in plain values."""
    held_out, graph = model.fitted_.leave_one_out, model.graph_
    known = None if isinstance(held_out, str) else held_out
    unknown = known is None or known.accuracy != known.accuracy  # NaN, which JSON does not have
    return {
        "nodes": graph.n_nodes,
        "edges": graph.n_edges,
        "labels": int(model.labelled_.sum()),
        "classes": model.classes_.tolist(),
        "plan": model.choice_["plan"],
        "accuracy": None if unknown or known is None else known.accuracy,
        "interval": None if unknown or known is None else list(known.interval),
        "expected": held_out if known is None else known.in_words(),
        "outcome": model.outcome_,
        "seed": model.seed_,
        "written": [str(path) for path in written],
    }


def contradicted(model: "AltOpt") -> list[str]:
    """How many given labels stand against the probabilities beside them in the predictions."""
    given = model.labelled_
    evidence = model.classes_[model.label_distributions_[given].argmax(axis=1)]
    n = int((evidence != model.transduction_[given]).sum())
    if not n:
        return []
    return [
        f"{n:,} of {int(given.sum()):,} given labels are kept though all evidence, and so the probabilities beside "
        "them, says otherwise; altopt explain shows why, and the report lists suspicious ones."
    ]


def write_outputs(model: "AltOpt", ids: "Array", out: Path, format_: str, quiet: bool) -> list[Path]:
    """Write the predictions, the model and the report; an earlier fit's and the checkpoint give way."""
    from altopt.cli import outputs
    from altopt.graph.tables import write_predictions
    from altopt.io import checkpoint

    predictions = out / f"predictions.{format_}"
    write_predictions(
        predictions, ids, model.transduction_, model.confidence_, model.label_distributions_, model.classes_
    )
    former = out / f"predictions.{'csv' if format_ == 'parquet' else 'parquet'}"
    if outputs.are_predictions(former):
        former.unlink()
    written = [predictions, *optional_outputs(model, out, quiet)]
    checkpoint.remove(out / "checkpoint")
    return written


def given_in_sessions(model: "AltOpt", out: Path) -> str:
    """A sentence about labels given in altopt explore or label that this fit has not; they wait in their journal."""
    from altopt.cli.explore.journal import Journal, beside, key

    file = beside(out / "model")
    if not file.is_file():
        return ""
    journal = Journal(out / "model")
    known = model.labelled_.tolist()
    given = {key(node) for node, is_known in zip(model.graph_.ids.tolist(), known) if is_known}
    n = journal.give_again(lambda node: node not in given)
    journal.close()
    if not n:
        return ""
    return (
        f"{n:,} {'label' if n == 1 else 'labels'} given in altopt explore or altopt label took no part in this fit, "
        f"which has none for these nodes. They are kept in {file}: altopt explore {out} takes them in again, and "
        "exports all labels, for --labels."
    )


def optional_outputs(model: "AltOpt", out: Path, quiet: bool) -> list[Path]:
    """Write the stored model and the report; one whose package is missing is left out, with a line that says so."""
    from altopt.cli.report import model_report
    from altopt.errors import MissingExtra
    from altopt.io.folder import remove_folder

    written = []
    for path, write, remove, essential in (
        (out / "model", model.save, lambda path: remove_folder(path, "model"), True),
        (out / "report.html", lambda path: model_report(model, path), Path.unlink, False),
    ):
        try:
            write(path)
            written.append(path)
        except MissingExtra as error:
            if path.exists():
                remove(path)  # what an earlier fit left is about another model
            if essential or not quiet:
                show(f"{path} was left out. {error}", err=True)
    return written


def check_folder(out: Path) -> None:
    """Refuse before the fit, not after it, an output folder that cannot be written."""
    from altopt.io.files import check_output
    from altopt.io.folder import refuse_foreign

    check_output(out, "--out", folder=True)
    for kind in ("model", "checkpoint"):
        refuse_foreign(out / kind, kind)
    for name in ("predictions.parquet", "predictions.csv", "report.html"):
        check_output(out / name, "--out")


def read_classes(classes: str, y: "Array") -> list[Any]:
    """a,b,c as a list, in the type of the labels."""
    import numpy as np

    from altopt.cli.tables import check_storable

    names = [name.strip() for name in classes.split(",") if name.strip()]
    check_storable(np.array(names, dtype=object), "--classes")
    return in_type_of(y, names, f"--classes {classes}")


def in_type_of(y: "Array", names: list[str], option: str) -> list[Any]:
    """Names of classes in the type of the labels."""
    from altopt.errors import InputError

    if y.dtype.kind not in "if":
        return list(names)
    try:
        return [int(name) for name in names]
    except ValueError as cause:
        raise InputError(
            f"{option} holds text, but the labels are whole numbers. List whole numbers."
        ) from cause


def read_shares(text: str, y: "Array") -> "dict[Any, float] | str":
    """a=0.9,b=0.1 as a dict, its keys in the type of the labels; "labels" as it is."""
    from altopt.errors import InputError

    if text.strip() == "labels":
        return "labels"
    pairs = [part.rpartition("=") for part in text.split(",") if part.strip()]
    try:
        shares = [float(share) for _, _, share in pairs]
    except ValueError as cause:
        raise InputError(
            f"--class-prior {text} is not of the form a=0.9,b=0.1: a share is missing or is no number."
        ) from cause
    names = [name.strip() for name, _, _ in pairs]
    if len(set(names)) < len(names):
        raise InputError(f"--class-prior {text} names a class twice.")
    return dict(zip(in_type_of(y, names, f"--class-prior {text}"), shares))


def announcement(X: Any, y: "Array", graph: "Graph | None", model: "AltOpt", dry_run: bool) -> list[str]:
    """The size of the problem and the memory the fit will need; itemised in a dry run."""
    import scipy.sparse as sp

    from altopt.cli.memory import expected_memory
    from altopt.graph.validation import known_labels
    from altopt.table.frame import Frame

    n, known = len(y), y[known_labels(y)]
    n_classes = len(set(known.tolist()) | set(model.classes or []))
    n_edges = n * model.n_neighbors if graph is None else graph.n_edges
    edges = "edges to be built from X" if graph is None else f"{n_edges:,} edges"
    matrix = sp.eye_array(n, format="csr") if X is None else X.read[1] if isinstance(X, Frame) else X
    memory = expected_memory(matrix, n_edges, n_classes, model, graph is not None and graph.weighted)
    features = "no features" if X is None else f"{X.shape[1]:,} features"
    summary = (
        f"{n:,} nodes, {edges}, {features}, {len(known):,} labels of {n_classes:,} classes; "
        f"needs about {memory.peak / 1e9:.1f} GB of memory."
    )
    columns = columns_in_words(X.read[0]) if isinstance(X, Frame) else []
    return [summary, *columns, *(memory.lines() if dry_run else [])]


def columns_in_words(reader: "TableReader") -> list[str]:
    """How many columns of each kind there are, and which ones are left out; nothing where all are numbers."""
    from collections import Counter

    kinds = Counter(column.kind for column in reader.columns)
    if set(kinds) == {"number"}:
        return []
    counted = [f"{n} {kind}" for kind, n in kinds.items() if kind != "dropped"]
    dropped = [f"{column.name} ({column.how})" for column in reader.columns if column.kind == "dropped"]
    left = [f"Left out: {', '.join(dropped[:10])}{', ...' if len(dropped) > 10 else ''}."] if dropped else []
    return [f"Columns by kind: {', '.join(counted)}.", *left]
