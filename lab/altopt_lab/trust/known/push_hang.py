"""Extreme weights of the views: an update ends, its bound holds, and Ctrl-C is heard."""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.errors import InputError
from altopt_lab.trust.children import forked
from altopt_lab.trust.doors import Problem, distance_to_truth
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.part import Outcome

Use = Callable[[Any], Any]


def told_label(model: AltOpt) -> Any:
    return model.update(labels={100: 1})


def told_edge(model: AltOpt) -> Any:
    return model.update(edges=[(3, 77)])


def withdrawn(model: AltOpt) -> Any:
    return model.update(labels={int(np.flatnonzero(model.labelled_)[0]): -1})


def explained(model: AltOpt) -> Any:
    return model.explain(100)


def holds(_: Path, use: Use = told_label, seconds: float = 15, **settings: Any) -> Outcome:
    """Fit, then one use of the model, within the time."""

    def job() -> list[str]:
        warnings.simplefilter("ignore")
        try:
            model = Problem(200, 3, 8).fit(**settings)
            change = use(model)
        except InputError as error:
            return ["refused", str(error)]
        for name in ("scores_", "label_distributions_"):
            if not np.isfinite(getattr(model, name)).all():
                return ["fault", f"{name} is not finite"]
        bound = getattr(change, "error_bound", None)
        if bound is None:
            return ["fine", ""]
        weights = [float(settings.get(name, 2.0)) for name in ("feature_weight", "label_weight")]
        distance = distance_to_truth(model, *weights)
        if not np.isfinite(bound) or distance > bound * 1.01 + 1e-6:
            return ["fault", f"the bound says {bound:.1e}, F is {distance:.1e} from the solution"]
        return ["fine", ""]

    end = forked(job, seconds)
    return Outcome(*end.value) if end.whole else fault(end.fault())


def interrupted(_: Path, seconds: float = 25, **settings: Any) -> Outcome:
    """Ctrl-C while a long update or fit runs: heard within a second."""

    def job() -> list[Any]:
        warnings.simplefilter("ignore")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        problem = Problem(3000, 3, 8)
        sent: list[float] = []

        def send() -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(1.0, send).start()
        try:
            model = AltOpt(random_state=0, cross_fit=False, **settings).fit(
                problem.X, problem.y, graph=problem.graph
            )
            while True:
                model.update(labels={100: 1}, tolerance=1e-300)
                model.update(labels={100: -1}, tolerance=1e-300)
        except InputError as error:
            return ["refused", str(error)]
        except KeyboardInterrupt:
            taken = time.monotonic() - sent[0]
            return ["fine", ""] if taken < 1.0 else ["fault", f"Ctrl-C was heard after {taken:.1f} s"]

    end = forked(job, seconds)
    return Outcome(*end.value) if end.whole else fault(end.fault())


CASES = [
    Case("label_weight 1e160", partial(holds, label_weight=1e160)),
    Case("label_weight 1e300", partial(holds, label_weight=1e300)),
    Case("label_weight 1e30", partial(holds, label_weight=1e30)),
    Case("label_weight 1e160, an edge", partial(holds, use=told_edge, label_weight=1e160), False),
    Case("label_weight 1e160, a label withdrawn", partial(holds, use=withdrawn, label_weight=1e160), False),
    Case("label_weight 1e160, explained", partial(holds, use=explained, label_weight=1e160), False),
    Case("feature_weight 1e-12", partial(holds, feature_weight=1e-12)),
    Case("feature_weight 1e-300", partial(holds, feature_weight=1e-300), False),
    Case("feature_weight 1e300", partial(holds, feature_weight=1e300), False),
    Case("both 1e200", partial(holds, feature_weight=1e200, label_weight=1e200), False),
    Case("Ctrl-C in updates to a tolerance that cannot be met", interrupted, False, 40),
    Case("Ctrl-C with feature_weight 1e-9", partial(interrupted, feature_weight=1e-9), False, 40),
]
