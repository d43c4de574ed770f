"""The finished steps of a fit, by name: what a resumed fit need not compute again."""

import logging
import time
from collections.abc import Callable

from altopt.arrays import Array

Arrays = dict[str, Array]
LOG = logging.getLogger("altopt")


class Journal:
    """Finds and keeps the results of steps. This one keeps nothing, so each step is computed.

    A step is a pure function of the fit's data and settings: what a kept result replaces has the same bits.

    Examples
    --------
    >>> import numpy as np
    >>> Journal().once("a step", lambda: {"F": np.eye(2)})["F"].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def find(self, step: str) -> Arrays | None:
        """The result of a step; None where it is not known."""
        return None

    def store(self, step: str, result: Arrays) -> None:
        """Keep the result of a step, in place of an earlier one."""

    def once(self, step: str, compute: Callable[[], Arrays]) -> Arrays:
        """The result of a step: as it was kept, or computed now and kept."""
        result = self.find(step)
        if result is None:
            began = time.perf_counter()
            result = compute()
            self.store(step, result)
            seconds = time.perf_counter() - began
            LOG.info("%s: %.1f s", step, seconds, extra={"seconds": seconds})
        else:
            LOG.info("%s: found in the checkpoint", step, extra={"seconds": 0.0})
        return result

    def array(self, step: str, compute: Callable[[], Array]) -> Array:
        """The result of a step that is one array."""
        return self.once(step, lambda: {"array": compute()})["array"]
