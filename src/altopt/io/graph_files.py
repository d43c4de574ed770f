"""A fitted graph as a file for other programs: GEXF, GraphML, or tables of its nodes and edges."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, row_blocks
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.io.files import replacing

SUFFIXES = (".gexf", ".graphml", ".parquet", ".csv")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
BLOCK_ROWS = 4096  # nodes whose edges are written at once


@dataclass(frozen=True)
class LabelledNodes:
    """A graph and what is known of each of its nodes.

    Parameters
    ----------
    graph : Graph
    labels, given, confidence : array (n_nodes,)
        Label, whether it was given, and its certainty.
    probabilities : array (n_nodes, n_classes)
    classes : array (n_classes,)
    """

    graph: Graph
    labels: Array
    given: Array
    confidence: Array
    probabilities: Array
    classes: Array

    @property
    def attributes(self) -> dict[str, Array]:
        """The columns of a table of nodes, without their ids."""
        names = [f"p_{name}" for name in self.classes.tolist()]
        columns = {"label": self.labels, "given": self.given, "confidence": self.confidence}
        return columns | dict(zip(names, np.asarray(self.probabilities).T))

    def edges(self) -> Iterator[tuple[str | None, Array, Array, Array]]:
        """Blocks of edges: their kind, if the graph has several, the positions of their ends and their weights.

        Each edge of an undirected graph once.
        """
        parts: list[tuple[str | None, Graph]] = [*self.graph.kinds.items()]
        for kind, graph in parts or [(None, self.graph)]:
            directed = graph.directed_adjacency
            A = graph.adjacency if directed is None else directed
            for rows in row_blocks(A.shape[0], BLOCK_ROWS):
                block = sp.coo_array(A[rows])
                source, target = block.coords[0] + rows.start, block.coords[1]
                kept = source <= target if directed is None else np.ones(len(source), dtype=bool)
                yield kind, source[kept], target[kept], block.data[kept]

    @property
    def directed(self) -> bool:
        return self.graph.directed_adjacency is not None


def write_graph(nodes: LabelledNodes, path: Path) -> list[Path]:
    """Write the graph in the format that the name asks for, whole or not at all; the files written."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path} ends in none of {', '.join(SUFFIXES)}. Name the output with one of them.")
    if suffix in (".parquet", ".csv"):
        return write_tables(nodes, path)
    lines = gexf(nodes) if suffix == ".gexf" else graphml(nodes)
    with replacing(path) as draft, draft.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return [path]


def edges_path(path: Path) -> Path:
    """Where the edges of a table of nodes are written."""
    return path.with_name(f"{path.stem}.edges{path.suffix}")


def write_tables(nodes: LabelledNodes, path: Path) -> list[Path]:
    """The nodes as one table and the edges, block by block, as another beside it."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from altopt.graph.tables import to_arrow

    parquet, ids = path.suffix.lower() == ".parquet", to_arrow(nodes.graph.ids)
    columns = {"node": ids} | {name: to_arrow(values) for name, values in nodes.attributes.items()}
    fields = [("source", ids.type), ("target", ids.type), ("weight", pa.float64())]
    schema = pa.schema([*fields, *([("kind", pa.string())] if nodes.graph.kinds else [])])
    with replacing(edges_path(path)) as draft, replacing(path) as first:
        writer = pa.parquet.ParquetWriter if parquet else pa.csv.CSVWriter
        with writer(draft, schema) as file:
            for kind, source, target, weight in nodes.edges():
                values = [
                    ids.take(pa.array(source)),
                    ids.take(pa.array(target)),
                    pa.array(weight, pa.float64()),
                ]
                values += [pa.array([kind] * len(source), pa.string())] if nodes.graph.kinds else []
                file.write_table(pa.table(values, schema=schema))
        write = pa.parquet.write_table if parquet else pa.csv.write_csv
        write(pa.table(columns), first)
    return [path, edges_path(path)]


def text(value: Any) -> str:
    """As XML can hold it: characters that it cannot become a replacement mark."""
    return NOT_IN_XML.sub("\ufffd", str(value))


def quoted(value: Any) -> str:
    return quoteattr(text(value))


def number(value: Any) -> str:
    return repr(value) if not isinstance(value, bool) else str(value).lower()


def xml_ids(ids: Array) -> list[str]:
    """The ids as attributes; positions where two would be written alike."""
    written = [quoted(name) for name in ids.tolist()]
    return written if len(set(written)) == len(written) else [f'"n{k}"' for k in range(len(written))]


def xml_type(values: Array) -> str:
    kind = {"b": "boolean", "i": "long", "u": "long", "f": "double"}.get(values.dtype.kind)
    return kind or "string"


def xml_value(value: Any) -> str:
    return text(value) if isinstance(value, str) else number(value)


def blocks_of(columns: list[Array]) -> Iterator[tuple[Any, ...]]:
    """Rows of the columns, as Python's own values."""
    for rows in row_blocks(len(columns[0]), BLOCK_ROWS):
        yield from zip(*(column[rows].tolist() for column in columns))


def gexf(nodes: LabelledNodes) -> Iterator[str]:
    """GEXF 1.2, for Gephi: the label is the node's, its id is the user's own."""
    names, ids = nodes.attributes, xml_ids(nodes.graph.ids)
    others = {name: values for name, values in names.items() if name != "label"}
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">'
    yield f'<graph mode="static" defaultedgetype="{"directed" if nodes.directed else "undirected"}">'
    yield '<attributes class="node">'
    for k, (name, values) in enumerate(others.items()):
        yield f'<attribute id="{k}" title={quoted(name)} type="{xml_type(values)}"/>'
    yield "</attributes>"
    if nodes.graph.kinds:
        yield '<attributes class="edge"><attribute id="kind" title="kind" type="string"/></attributes>'
    yield "<nodes>"
    for name, (label, *rest) in zip(ids, blocks_of([nodes.labels, *others.values()])):
        held = "".join(f'<attvalue for="{k}" value={quoteattr(xml_value(v))}/>' for k, v in enumerate(rest))
        yield f"<node id={name} label={quoted(label)}><attvalues>{held}</attvalues></node>"
    yield "</nodes>"
    yield "<edges>"
    k = 0
    for kind, source, target, weight in nodes.edges():
        held = (
            "/>"
            if kind is None
            else f'><attvalues><attvalue for="kind" value={quoted(kind)}/></attvalues></edge>'
        )
        for i, j, w in zip(source.tolist(), target.tolist(), weight.tolist()):
            yield f'<edge id="{k}" source={ids[i]} target={ids[j]} weight="{float(w)!r}"{held}'
            k += 1
    yield "</edges></graph></gexf>"


def graphml(nodes: LabelledNodes) -> Iterator[str]:
    """GraphML, for networkx, igraph, yEd, Cytoscape."""
    names, ids = nodes.attributes, xml_ids(nodes.graph.ids)
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for k, (name, values) in enumerate(names.items()):
        yield f'<key id="d{k}" for="node" attr.name={quoted(name)} attr.type="{xml_type(values)}"/>'
    yield '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'
    if nodes.graph.kinds:
        yield '<key id="kind" for="edge" attr.name="kind" attr.type="string"/>'
    yield f'<graph edgedefault="{"directed" if nodes.directed else "undirected"}">'
    for name, row in zip(ids, blocks_of(list(names.values()))):
        held = "".join(f'<data key="d{k}">{escape(xml_value(v))}</data>' for k, v in enumerate(row))
        yield f"<node id={name}>{held}</node>"
    for kind, source, target, weight in nodes.edges():
        held = "" if kind is None else f'<data key="kind">{escape(text(kind))}</data>'
        for i, j, w in zip(source.tolist(), target.tolist(), weight.tolist()):
            yield f'<edge source={ids[i]} target={ids[j]}><data key="w">{float(w)!r}</data>{held}</edge>'
    yield "</graph></graphml>"
