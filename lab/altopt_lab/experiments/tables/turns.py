"""Time of an epoch and of a training, all methods timed in turns on one occasion."""

from altopt_lab.equal.in_turns import PARTS, InTurns, trainings
from altopt_lab.experiments.tables.costs import SIZES
from altopt_lab.experiments.tables.paper_table import PaperTable, RecordIndex, RunFilter, ScheduledRun
from altopt_lab.table import NOT_RUN, Shown, Table


def plan(only: RunFilter) -> list[ScheduledRun]:
    return [
        ScheduledRun(number, InTurns(size))
        for number, (size, (name, _)) in enumerate(SIZES.items())
        if only.dataset in (None, name)
    ]


def show(index: RecordIndex) -> list[Shown]:
    tables: list[Shown] = []
    for size, (name, epochs) in SIZES.items():
        line = index.get(InTurns(size).key)
        if line is None or "times" not in line:
            rows = [(NOT_RUN if line is None else f"failed: {line.get('failed', '')[:60]}", *[""] * 5)]
        else:
            wall, cpu = (trainings(line, epochs, kind) for kind in ("wall", "cpu"))
            mark = index.mark([line])
            rows = [
                (
                    f"ALT-OPT: {who}" if who in PARTS else who,
                    f"{1000 * found['wall']:,.2f}{mark}",
                    f"{1000 * found['cpu']:,.2f}{mark}",
                    str(found["runs"]),
                    *((f"{wall[who]:,.1f}{mark}", f"{cpu[who]:,.1f}{mark}") if who in wall else ("", "")),
                )
                for who, found in line["times"].items()
            ]
            rows += [
                (who, "", "", "", f"{time:,.1f}{mark}", f"{cpu[who]:,.1f}{mark}")
                for who, time in wall.items()
                if who not in line["times"]
            ]
        notes = (
            "A generated graph of that size and share of labels, no GPU. Medians over turns in which every method had "
            "one epoch after the other's, in one process; ALT-OPT's parts are timed by themselves. A training is put "
            f"together from them: {epochs:,} epochs, and for ALT-OPT-k the diffusion, k updates of F, selections and "
            "predictions besides; ALT-OPT-Full has one of each an epoch. Mini-batches are of 32,768 rows.",
        )
        columns = ("", "wall ms", "CPU ms", "turns", f"wall s, {epochs:,} epochs", "CPU s")
        tables.append(Table(f"In turns: {name} size", columns, rows, notes))
    return tables


TURNS = PaperTable("in-turns", "Time in turns, on one occasion", plan, show)
