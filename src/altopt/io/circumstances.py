"""What a fit ran with: versions, machine, seconds and memory, kept with the model from then on."""

import platform
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from altopt import __version__

if TYPE_CHECKING:
    from altopt.fitted.model import FittedModel

Circumstances = dict[str, Any]
SECONDS, PEAK = "seconds of the whole fit", "peak memory of the process, bytes"


def here(seconds: float | None = None) -> Circumstances:
    """Those of this process; `seconds` are those of the whole fit, where someone took the time."""
    import scipy
    import sklearn

    from altopt.operator.kernels.dispatch import description

    return {
        "altopt": f"{__version__} ({description()})",
        "Python": platform.python_version(),
        "numpy, scipy, scikit-learn": f"{np.__version__}, {scipy.__version__}, {sklearn.__version__}",
        "System": f"{platform.system()} {platform.machine()}",
        SECONDS: seconds,
        PEAK: peak_memory(),
    }


def peak_memory() -> float | None:
    """The most memory that this process has had, in bytes, where the system says so."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else 1024 * peak)


def of(model: "FittedModel") -> Circumstances | None:
    """Those of a model's fit: as stored with it, else of this process, which fitted it; None: not recorded."""
    found: Circumstances | None = vars(model).setdefault("circumstances", here())
    return found


def put(model: "FittedModel", circumstances: Circumstances | None) -> None:
    """Keep them with a model, beside its fields: they say nothing of what was fitted."""
    vars(model)["circumstances"] = circumstances


def read(head: dict[str, Any]) -> Circumstances | None:
    """Those in the head of a stored model; None in one that was stored before they were."""
    found = head.get("circumstances")
    if not isinstance(found, dict):
        return None
    kinds = {SECONDS: int | float | None, PEAK: int | float | None}
    return {key: value for key, value in found.items() if isinstance(value, kinds.get(key, str))}
