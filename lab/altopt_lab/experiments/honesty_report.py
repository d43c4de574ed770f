"""The table of honesty runs: how often intervals hold, how wide they are, and how far estimates are from the truth."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from altopt_lab.records import Record

KINDS = {"random": "at random", "class": "by class", "prior": "by class, shares given"}
ENOUGH = {"random": 200, "class": 20, "prior": 20}  # rate from which calibration is asked for
MANY_LABELS, FAR = 200, 0.08


def wilson_width(p: float, n: int) -> float:
    """The width of Wilson's 95 % interval of a rate from n trials."""
    z = float(ndtri(0.975))
    return float(2 * z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)))


def holds(record: Record, low: str = "low", high: str = "high", truth: str = "truth") -> bool:
    return bool(record[low] <= record[truth] <= record[high])


def row(name: str, records: Sequence[Record]) -> str:
    """Figures of some runs."""
    error = np.array([r["estimate"] - r["truth"] for r in records])
    width = np.array([r["high"] - r["low"] for r in records])
    ratio = width.mean() / np.mean([wilson_width(r["estimate"], r["n_labels"]) for r in records])
    many = [e for e, r in zip(error, records) if r["n_labels"] >= MANY_LABELS]
    enough = [r["ece"] for r in records if r["rate"] >= ENOUGH[r["kind"]]]
    ranked = [r for r in records if r["auc"] is not None]
    auc = [holds(r, "auc_low", "auc_high", "auc_truth") for r in ranked]
    cells = [
        f"{len(records)}",
        f"{100 * np.mean([holds(r) for r in records]):.0f}",
        f"{100 * np.mean([r['low'] > r['truth'] for r in records]):.0f}",
        f"{100 * error.mean():+.1f}",
        f"{100 * error.max():+.0f}",
        f"{100 * width.mean():.0f}",
        f"{ratio:.2f}",
        f"{100 * np.mean(np.array(many) > FAR):.1f}" if many else "-",
        f"{np.mean(enough):.3f}" if enough else "-",
        f"{100 * np.mean([r['truth'] for r in records]):.1f}",
        f"{100 * np.mean(auc):.0f}" if auc else "-",
        f"{np.mean([r['seconds'] for r in records]):.1f}",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


HEADER = (
    "| labels | runs | holds % | above % | error | worst | width | / Wilson | > 8 high % | ECE | truth "
    "| AUC holds % | s |"
)


def page(records: Sequence[Record]) -> str:
    """The page, every number from the records; of a run that was made again the last one counts."""
    records = list({r["key"]: r for r in records}.values())
    makers = Counter((r["fit_code"], r.get("commit", "unknown").rstrip("+")[:7]) for r in records)
    made_by = ", ".join(f"{n} by {code} (commit {commit})" for (code, commit), n in makers.most_common())
    graphs = {r["dataset"] for r in records}
    seeds = max((int(r["seed"]) for r in records), default=-1) + 1
    words = (
        f"`AltOpt()` on labels drawn at random and by class, on {len(graphs)} graphs, some generated with skewed "
        f"classes among them; {len(records)} fits so far, at most {seeds} draws a setting. Beside the accuracy on all "
        "hidden nodes: how often the 95 % interval holds it, how often it lies wholly above, the mean error and the "
        "worst, the width in points and in widths of Wilson's interval of as many labels, the calibration error of the "
        "probabilities from 200 labels (20 of a class) on. Written by `make honesty` from `results/honesty.jsonl`, "
        "which makes the runs that are not on record by the present code. Sums of the code that made them, as "
        f"`results.md` has that of the present one: {made_by}."
    )
    return f"# How honest the estimates are\n\n{words}\n\n{report(records, listed=True)}\n"


def report(records: Sequence[Record], listed: bool = False) -> str:
    """Kinds of draw, then rates, then graphs, then whether each criterion is met."""
    lines = [HEADER, "|---" * (HEADER.count("|") - 1) + "|"]
    for kind, words in KINDS.items():
        own = [r for r in records if r["kind"] == kind]
        if not own:
            continue
        lines.append(row(f"**{words}**", own))
        for rate in sorted({r["rate"] for r in own}):
            lines.append(row(f"{words}, {rate}", [r for r in own if r["rate"] == rate]))
        for name in dict.fromkeys(r["dataset"] for r in own):
            lines.append(row(f"{words}, {name}", [r for r in own if r["dataset"] == name]))
    told = [f"- {line}" for line in criteria(records)] if listed else criteria(records)
    return "\n".join([*lines, "", *told])


def criteria(records: Sequence[Record]) -> list[str]:
    """Each criterion with its figure."""
    lines = []
    for kind, words in KINDS.items():
        own = [r for r in records if r["kind"] == kind]
        if not own:
            continue
        held = np.mean([holds(r) for r in own])
        graphs = {r["dataset"] for r in own}
        worst = min(np.mean([holds(r) for r in own if r["dataset"] == name]) for name in graphs)
        wilson = np.mean([wilson_width(r["estimate"], r["n_labels"]) for r in own])
        ratio = np.mean([r["high"] - r["low"] for r in own]) / wilson
        error = np.mean([r["estimate"] - r["truth"] for r in own])
        ece = [r["ece"] for r in own if r["rate"] >= ENOUGH[kind]]
        checks = [
            (f"interval holds in {held:.1%} (90 to 99)", 0.9 <= held <= 0.99),
            (f"on the worst graph in {worst:.0%} (80)", worst >= 0.8),
            (f"width {ratio:.2f} of Wilson's", ratio <= (1.6 if kind == "random" else 2.2)),
            (f"mean error {100 * error:+.2f} (1.5)", abs(error) <= 0.015),
        ]
        if ece:
            limit = 0.08 if kind == "class" else 0.05
            checks.append((f"calibration error {np.mean(ece):.3f} ({limit})", bool(np.mean(ece) <= limit)))
        lines += [f"{'met   ' if met else 'MISSED'} {words}: {what}" for what, met in checks]
    many = [r["estimate"] - r["truth"] > FAR for r in records if r["n_labels"] >= MANY_LABELS]
    if many:
        far = float(np.mean(many))
        lines.append(
            f"{'met   ' if far <= 0.02 else 'MISSED'} more than 8 points above, 200 labels on: {far:.1%} (2)"
        )
    return lines
