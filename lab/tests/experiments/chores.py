"""Work that costs nothing; by itself, so that a process that does it starts fast."""

import os
import time
from dataclasses import dataclass, field

from altopt_lab.provenance import code


@dataclass(frozen=True)
class Chore:
    """Work without any cost; it may fail or take a while."""

    key: str
    seconds: float = 0.0
    fails: bool = False
    needs_dataset: None = None
    depends_on: str = "altopt"
    fit_code: str = field(default_factory=lambda: code()["altopt"])
    done: list = field(default_factory=list, compare=False, hash=False)

    def is_current(self, record):
        return record.get("settings") != "old"

    def perform(self, contexts):
        time.sleep(self.seconds)
        self.done.append(self.key)
        line = {"key": self.key, "process": os.getpid()}
        return line | ({"failed": "broken"} if self.fails else {"test_accuracy": 1.0})
