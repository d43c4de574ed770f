"""Tries the parts at length, records what came of it and writes docs/reliability.md: `python -m altopt_lab.trust`."""

import argparse
import sys
from pathlib import Path

from altopt_lab.records import read_records
from altopt_lab.trust.page import page
from altopt_lab.trust.registry import PARTS
from altopt_lab.trust.runner import batches, run

RECORDS = Path("results/trust.jsonl")
PAGE = Path("docs/reliability.md")


def main(arguments: list[str] | None = None) -> int:
    """Run what is asked for; 1 where a fault was found."""
    wanted = parser().parse_args(arguments)
    if wanted.report:
        PAGE.write_text(page(read_records(wanted.record or RECORDS)))
        return 0
    parts = [PARTS[name] for name in wanted.parts or PARTS]
    # a few trials are a look, not a record
    file = wanted.record or (RECORDS if wanted.trials is None else None)
    planned = batches(parts, wanted.trials, wanted.seed)
    records = run(planned, file, wanted.workers, wanted.minutes, lambda line: print(line, flush=True))
    faults = [(record["part"], fault) for record in records for fault in record["faults"]]
    for name, fault in faults:
        print(f"\n{name}: {fault['detail']}\n  {fault['case']}")
    tried = sum(record["trials"] for record in records)
    print(f"{tried:,} trials, {len(faults):,} faults.")
    if file == RECORDS:
        PAGE.write_text(page(read_records(RECORDS)))
    return 1 if faults else 0


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog="python -m altopt_lab.trust", description=__doc__)
    options.add_argument("parts", nargs="*", metavar="PART", choices=[[], *PARTS], help=", ".join(PARTS))
    options.add_argument("--trials", type=int, help="so many for each part; nothing is recorded")
    options.add_argument("--workers", type=int, default=2, help="processes at once (2)")
    options.add_argument("--minutes", type=float, help="begin no batch after so many")
    options.add_argument("--seed", type=int, default=0, help="the seed of the first batch (0)")
    options.add_argument("--record", type=Path, help=f"the file of records ({RECORDS})")
    options.add_argument("--report", action="store_true", help=f"only write {PAGE} from the records")
    return options


if __name__ == "__main__":
    sys.exit(main())
