"""altopt export: the graph with its labels, for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from altopt.cli.commands.predict import model_folder
from altopt.cli.console import show
from altopt.cli.paths import Output


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder written by altopt fit.")],
    out: Annotated[Path, Output("File to write: .gexf, .graphml, .parquet or .csv.")],
    quiet: Annotated[bool, typer.Option("--quiet", help="Print errors and warnings only.")] = False,
) -> None:
    """Write the graph with label, confidence and probabilities of each node.

    GEXF for Gephi, GraphML for networkx, Cytoscape and others; as .parquet or .csv a table of the nodes, and one of
    the edges beside it.
    """
    from altopt import AltOpt
    from altopt.cli import stored
    from altopt.cli.stored import is_stored
    from altopt.errors import InputError
    from altopt.io.files import check_output
    from altopt.io.graph_files import SUFFIXES, LabelledNodes, write_graph

    if out.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"--out {out} ends in none of {', '.join(SUFFIXES)}. Name the output with one of them."
        )
    check_output(out, "--out")
    if is_stored(model_folder(model)):
        written, n_nodes, n_edges = stored.export_to(model_folder(model), out)
        tell(written, n_nodes, n_edges, quiet)
        return
    fitted = AltOpt.load(model_folder(model))
    nodes = LabelledNodes(
        graph=fitted.graph_,
        labels=fitted.transduction_,
        given=fitted.labelled_,
        confidence=fitted.confidence_,
        probabilities=fitted.label_distributions_,
        classes=fitted.classes_,
    )
    tell(write_graph(nodes, out), nodes.graph.n_nodes, nodes.graph.n_edges, quiet)


def tell(written: list[Path], n_nodes: int, n_edges: int, quiet: bool) -> None:
    """What was written."""
    if not quiet:
        show(f"Wrote {' and '.join(map(str, written))}: {n_nodes:,} nodes, {n_edges:,} edges.")
