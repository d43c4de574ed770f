"""A process that tries one batch and tells, line by line, which case it begins and what came of it."""

import faulthandler
import json
import os
import resource
import sys
from typing import Any

from altopt_lab.trust.batch import draw_cases, try_cases
from altopt_lab.trust.part import Outcome
from altopt_lab.trust.registry import PARTS

MEMORY_LIMIT = (
    12 << 30
)  # bytes of address space: asking for more is an exception here, not the end of the machine


def main() -> None:
    name, number, trials, skip = sys.argv[1:]
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    lines = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what altopt prints does not get between the lines

    def tell(what: dict[str, Any]) -> None:
        os.write(lines, json.dumps(what, default=repr).encode() + b"\n")

    def before(k: int, case: Any) -> None:
        tell({"k": k, "case": case})

    def after(k: int, case: Any, outcome: Outcome, seconds: float) -> None:
        tell({"k": k, "kind": outcome.kind, "detail": outcome.detail, "seconds": seconds})

    part = PARTS[name]
    try_cases(part, draw_cases(part, int(number), int(trials)), before, after, int(skip))
    tell({"k": 0})


if __name__ == "__main__":
    main()
