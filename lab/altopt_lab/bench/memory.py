"""Peak memory of whole fits, each in a process of its own, and what more propagation steps add to it."""

from typing import Any

from altopt_lab.bench import machine, optional, worker
from altopt_lab.bench.graphs import Case
from altopt_lab.bench.networks import activations_gb, messages_gb
from altopt_lab.bench.report import Report, ResultTable
from altopt_lab.bench.timing import MEMORY_LIMIT, Log, failure, ratio

REPEATS = 1  # memory varies by a few hundredths
LONG_EPOCH = 120.0  # seconds: where an epoch takes so long, no second one with more steps is run


def run(case: Case, repeats: int | None, log: Log) -> Report:
    report = Report("memory", case.size.name, case.size.facts(), repeats or REPEATS)
    report.not_installed = optional.missing(optional.GEOMETRIC)
    name = case.size.name
    rows = [smallest_peak(report.repeats, log, "AltOpt(), the whole fit", "default_fit", size=name)]
    for n_steps in (10, 30):
        who = f"AltOpt.paper(n_steps={n_steps}), 2 rounds"
        rows.append(smallest_peak(report.repeats, log, who, "paper_fit", size=name, n_steps=n_steps))
    if not report.not_installed:
        mlp = activations_gb(case, 5)
        for form, needs in (("CSR", mlp), ("edge_index", mlp + messages_gb(case, case.size.n_classes))):
            long = False
            for n_steps in (10, 30):
                who = f"PyG APPNP K={n_steps}, {form}, one epoch"
                if needs > MEMORY_LIMIT or long:
                    why = "fewer steps took minutes" if long else f"would need {needs:.1f} GB"
                    rows.append({"who": who, "note": f"skipped: {why}"})
                    continue
                try:
                    row = smallest_peak(
                        report.repeats, log, who, "appnp_epoch", size=name, form=form, n_steps=n_steps
                    )
                except RuntimeError as error:
                    row = {"who": who, "note": failure(error)}
                long = row.get("seconds", 0.0) > LONG_EPOCH
                rows.append(row)
    for row in rows:
        row["ratio"] = ratio(row.get("peak_gb"), rows[0]["peak_gb"])
    title = "peak resident memory, graph and X loaded from disk first; ratio: peak / AltOpt()"
    columns = ("who", "peak_gb", "ratio", "before_gb", "note")
    report.tables.append(ResultTable(title, columns, rows))
    stream = machine.bandwidth_alone()
    report.measure(
        default_gb=rows[0]["peak_gb"],
        n_steps=ratio(rows[2]["peak_gb"], rows[1]["peak_gb"]),
        stream_gb_s=stream,
    )
    if len(rows) > 4:
        report.measure(appnp_n_steps=ratio(rows[4].get("peak_gb"), rows[3].get("peak_gb")))
    report.notes.append(f"STREAM triad in this run: {stream:.1f} GB/s.")
    return report


def smallest_peak(repeats: int, log: Log, who: str, task: str, **arguments: Any) -> dict[str, Any]:
    """The row of the run that got by with the least."""
    log(who)
    smallest = min((worker.run(task, **arguments) for _ in range(repeats)), key=lambda run: run["peak_gb"])
    return {"who": who, **smallest}
