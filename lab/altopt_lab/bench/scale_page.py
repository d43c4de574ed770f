"""What records of fits on files say, and the lines of docs/scale.md that follow from them."""

import re
from pathlib import Path

from altopt_lab.records import Record


def in_words(records: list[Record]) -> str:
    """The newest record of each question for the handbook."""
    lines = []
    newest = {record["bench"]: record for record in records}
    beside_memory = newest.get("whole")
    if beside_memory is not None:
        files, whole = beside_memory["on_files"], beside_memory["in_memory"]
        read = beside_memory["ingestion"]
        lines.append(
            f"- {beside_memory['nodes']:,} nodes, {beside_memory['edges']:,} edges with `--memory "
            f"{beside_memory['memory_gb']:g}GB`, {within(files)}: peak {files['peak_gb']:.2f} GB of the process, "
            f"{files['seconds']:.0f} s, {beside_memory['times']:.2f} times the {whole['seconds']:.0f} s of the fit in "
            f"memory, which took {whole['peak_gb']:.1f} GB; ingestion apart ({read['seconds']:.0f} s, "
            f"{1e6 * read['seconds'] / beside_memory['edges']:.2f} s a million edges, {read['peak_gb']:.2f} GB). "
            f"{beside_memory['same']:.3%} of the labels are the same, F is within {beside_memory['F_error']:.0e}."
        )
    many = newest.get("large graph on files")
    if many is not None:
        files, read = many["on_files"], many["ingestion"]
        node = 1e6 * files["seconds"] / many["nodes"]
        ratio = ""
        if beside_memory is not None:
            of_one = 1e6 * beside_memory["on_files"]["seconds"] / beside_memory["nodes"]
            ratio = f", {node / of_one:.2f} times that of the graph above"
        lines.append(
            f"- {many['times']:g} times that, {many['nodes']:,} nodes and {many['edges']:,} edges, with `--memory "
            f"{many['memory_gb']:g}GB`, {within(files)}: peak {files['peak_gb']:.2f} GB, "
            f"{files['seconds'] / 60:.0f} min, {node:.0f} microseconds a node{ratio}; "
            f"ingestion {read['seconds'] / 60:.0f} min, {read['peak_gb']:.2f} GB. {many['right']:.2%} of the nodes "
            "without a label are right."
        )
    bits = {record["problem"]: record for record in records if record["bench"] == "same bits"}
    lines += [in_words_of_bits(record) for record in bits.values()]
    return "\n".join(lines)


def within(files: Record) -> str:
    """The limit that a fit was under, if any."""
    if files["limit_gb"]:
        return f"in a cgroup of {files['limit_gb']:g} GB, cached pages of files counted"
    return f"without a cgroup ({files['limit']})"


def in_words_of_bits(record: Record) -> str:
    """What a record of `scale_bits` says."""
    name = {"arxiv": "The generated graph of ogbn-arxiv's size"}.get(record["problem"], record["problem"])
    which = "the same bits of F" if record["one_hash"] else "OTHER BITS of F"
    counts = sorted(set(record["panels"].values()))
    panels = " and ".join(str(count) for count in counts)
    return (
        f"- {name}: {which} by {'; '.join(record['hashes'])} ({len(record['killed_in'])} kinds), F in {panels} "
        f"panel{'s' * (counts != [1])}. F is within {record['F_error']:.0e} of the fit in memory with the same "
        f"candidate, its largest column is the same on {record['same_argmax']:.3%} of the nodes, and the label on "
        f"{record['same_labels']:.3%}."
    )


def write_page(records: list[Record], page: Path) -> None:
    put(page, "whole", in_words(records))


def put(page: Path, name: str, words: str) -> None:
    """The words between the marks of a name."""
    text = page.read_text(encoding="utf-8")
    marks = re.compile(f"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: f"{found[1]}{words}\n{found[2]}", text), encoding="utf-8")
