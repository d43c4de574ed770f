"""New labels, edges and nodes taken in without a refit.

One engine: the request is read, the graph changed, new nodes get encoder inputs and P, inputs near changed edges are
renewed on request, F is found, and the difference is written to the model. F is found in one of two ways: the
residual that the change causes is pushed until it is small again (`push.py`), or the last solve is made again on all
nodes (`resolve.py`).
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from altopt.errors import InputError
from altopt.fitted.draft import Draft, UpdateMethod
from altopt.fitted.model import FittedModel
from altopt.fitted.push import PushGaveUp, PushUpdate
from altopt.fitted.request import Change, NewFeatures, Request, check_tolerance, read_request
from altopt.fitted.resolve import ResolveUpdate
from altopt.inputs import Prepared


def update(
    model: FittedModel,
    labels: Any,
    edges: Any,
    nodes: Any,
    features: NewFeatures | None,
    refresh: bool,
    tolerance: float | None,
    store: bool,
) -> Change:
    """Take in what is new; with store=False only say what it would do."""
    check_tolerance(tolerance)
    if features is not None:
        require(model.inputs.grows, model.inputs, "with_rows", "Adding nodes")
    if refresh:
        require(model.inputs.renews, model.inputs, "renewed", "refresh=True")
    with model.lock:
        request = read_request(model, labels, edges, nodes, features)
        system = model.system()
        if system is not None:
            try:
                return take_in(
                    model, request, PushUpdate(model, system, request, tolerance, store), refresh, store
                )
            except PushGaveUp:  # and has left everything as it was
                pass
        return take_in(model, request, ResolveUpdate(model, request), refresh, store)


def take_in(model: FittedModel, request: Request, method: UpdateMethod, refresh: bool, store: bool) -> Change:
    """The update by one of the methods; whatever interrupts it, the model stays as it was."""
    draft = Draft(model, request)
    model.lock.changing = True
    try:
        method.change_graph(refresh)
        if request.new_ids:
            draft.add_nodes(method.new_nodes())
        changed = method.changed_nodes() if refresh else None
        if changed is not None and len(changed.nodes):
            draft.renew(changed)
        solved = method.find_F(draft)
        if not np.isfinite(solved.F).all():
            raise InputError(
                "update finds scores that are not finite: the weights of this model are too far apart. Fit again "
                "with feature_weight, label_weight and edge weights nearer to 1."
            )
        solved = draft.with_other_kinds(solved, method)
        change = draft.compare(solved, method, store)
        if store:
            with model.writing:
                draft.write(solved, method)
                method.commit(draft)
        else:
            certainly(method.undo)
    except BaseException:
        certainly(draft.undo, method.undo)
        raise
    finally:
        model.lock.changing = False
    if store:
        method.tidy()
    return change


def certainly(*steps: Callable[[], None]) -> None:
    """Make these steps whatever interrupts them: each may be made again from its beginning."""
    for step in steps:
        while True:
            try:
                step()
                break
            except KeyboardInterrupt:
                continue


def require(offered: bool, inputs: Prepared, method: str, wanted: str) -> None:
    """Refuse what inputs of the user's own do not offer, before anything is changed."""
    if not offered:
        raise InputError(
            f"{wanted} needs encoder inputs with {method}(), which {type(inputs).__name__} do not have. "
            "Fit again with the new data, or add it (see altopt.inputs.Prepared)."
        )
