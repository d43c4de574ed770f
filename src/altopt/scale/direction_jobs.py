"""Leading directions of diffused features that are too wide to be kept: sketches by panels, and what follows."""

import numpy as np
from safetensors.numpy import load_file
from threadpoolctl import ThreadpoolController

from altopt.arrays import row_blocks
from altopt.inputs.directions import gram_of, leading_first, levelled_out, levelling, principal_directions
from altopt.operator.columns import Columns
from altopt.scale.diffuse import diffuse_panel
from altopt.scale.job import Work, job
from altopt.scale.jobs import edges_of, features_sheet, inputs_sheet, one_panel, write_arrays


@job("level sketch")
def level(work: Work) -> None:
    """M for which the columns of Y M are about orthonormal."""
    with ThreadpoolController().limit(limits=1):
        write_arrays(
            work.output("M"), {"M": levelling(gram_of(inputs_sheet(work, list(work.inputs)), np.float32))}
        )


@job("diffuse sketch")
def diffuse_sketch(work: Work) -> None:
    """Some columns of Y, or of Y M, diffused once more: the diffusion is symmetric, and so its own transpose."""
    edges, *names = work.inputs
    settings, (first, last) = work.settings, work.settings["columns"]
    n_panels = len(settings["z_widths"])
    Y, levelled = inputs_sheet(work, names[:n_panels]), names[n_panels:]
    M = load_file(work.input(levelled[0]))["M"] if levelled else None
    rows = (
        (
            rows.start,
            Y.some_columns(rows.start, rows.stop, first, last) if M is None else (Y[rows] @ M)[:, first:last],
        )
        for rows in row_blocks(Y.n_rows)
    )
    out = one_panel(work.output("Z"), Y.n_rows, last - first, np.float32)
    stream = edges_of(work, edges, 3, last - first, 4)
    with ThreadpoolController().limit(limits=1):
        diffuse_panel(stream, rows, last - first, settings["restart"], settings["n_steps"], out)


@job("turn directions")
def turn(work: Work) -> None:
    """The next V from X' of a sketch: a round of power iteration, or in the last one the leading directions."""
    features, columns, *names = work.inputs
    X, Y, read = features_sheet(work, features), inputs_sheet(work, names), load_file(work.input(columns))
    kinds = Columns.restore(read)
    with ThreadpoolController().limit(limits=1):
        B = np.zeros((X.n_columns, Y.n_columns), np.float32)
        for rows in row_blocks(X.n_rows):
            B += kinds.read(X[rows]).T @ Y[rows]
        last, rank = work.settings["last"], work.settings["rank"]
        V = np.ascontiguousarray(leading_first(B)[:, :rank]) if last else levelled_out(B)
    write_arrays(work.output("V"), {"V": V})


@job("principal directions")
def principal(work: Work) -> None:
    """The leading directions of features that were diffused whole."""
    with ThreadpoolController().limit(limits=1):
        moments = gram_of(inputs_sheet(work, list(work.inputs)), np.float32)
        V = principal_directions(moments, work.settings["rank"])
    write_arrays(work.output("V"), {"V": V})


@job("project rows")
def project(work: Work) -> None:
    """X' V, from X' as it was diffused whole, which is small: in one product, so that its bits are those in memory."""
    directions, *Z = work.inputs
    whole, settings = inputs_sheet(work, Z), work.settings
    with ThreadpoolController().limit(limits=1):
        product = whole[:] @ load_file(work.input(directions))["V"]
    for k, (first, last) in enumerate(settings["columns"]):
        out = one_panel(work.output(f"Z{k}"), whole.n_rows, last - first, settings["storage"])
        out.write(0, 0, product[:, first:last])
