"""Cases for whole fits: small graphs with odd features, labels, edges and settings, and what a model is asked then."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from altopt import AltOpt, InputError
from altopt.encoders import KernelEncoder, MLPEncoder
from altopt.inputs import AdjacencyInputs, DegreeInputs, DiffusedInputs, HopInputs, RawInputs
from altopt.operator import NormalizedAdjacency
from altopt.solvers import ChebyshevSteps, ConjugateGradient, Direct, JacobiSteps
from altopt.views import (
    HighPassView,
    LocallyLinearView,
    NoGraphView,
    RobustLabels,
    SquaredLaplacianView,
    TwoHopView,
)
from altopt_lab.trust.features import NUMBERS, ODD_NUMBERS, made, make_features
from altopt_lab.trust.graphs import make_graph
from altopt_lab.trust.judge import judged, promise
from altopt_lab.trust.labels import ODD_LABELS, make_labels
from altopt_lab.trust.part import Outcome, Part
from altopt_lab.trust.recipes import Case, random, recipe
from altopt_lab.trust.values import ODD_WEIGHTS, WEIGHTS, Chance

SETTINGS: dict[str, dict[str, Any]] = {
    "as they are": {},
    "one fit": {"cross_fit": False},
    "one round": {"n_rounds": 1, "cross_fit": False},
    "self-loops": {"self_loops": True, "cross_fit": False},
    "no diffusion": {"restart": 1.0, "cross_fit": False},
    "weights": {"feature_weight": 0.5, "label_weight": 8.0, "cross_fit": False},
    "pseudo labels": {"n_pseudo": 2, "min_confidence": 0.5, "cross_fit": False},
}
ODD_SETTINGS: dict[str, dict[str, Any]] = {
    "no rounds": {"n_rounds": 0},
    "no training": {"n_warmup": 0, "n_epochs": 0, "cross_fit": False},
    "rare restart": {"restart": 1e-9},
    "feature_weight 0": {"feature_weight": 0.0},
    "feature_weight 1e-12": {"feature_weight": 1e-12},
    "feature_weight 1e6": {"feature_weight": 1e6},
    "feature_weight 1e160": {"feature_weight": 1e160, "cross_fit": False},
    "label_weight 0": {"label_weight": 0.0},
    "label_weight 1e8": {"label_weight": 1e8},
    "label_weight 1e30": {"label_weight": 1e30, "cross_fit": False},
    "label_weight 1e160": {"label_weight": 1e160, "cross_fit": False},
    "both weights 0": {"feature_weight": 0.0, "label_weight": 0.0, "cross_fit": False},
    "cold": {"temperature": 1e-8, "cross_fit": False},
    "hot": {"temperature": 1e8, "cross_fit": False},
    "coldest": {"temperature": 5e-324, "cross_fit": False},
    "certain only": {"min_confidence": 1.0, "n_pseudo": 0},
    "one neighbour": {"n_neighbors": 1},
    "many neighbours": {"n_neighbors": 1000},
    "kernel": {"encoder": KernelEncoder(), "cross_fit": False},
    "mlp": {"encoder": MLPEncoder(hidden=(4,)), "n_warmup": 2, "n_epochs": 2, "cross_fit": False},
    "forest": {"encoder": RandomForestClassifier(n_estimators=3), "cross_fit": False, "inputs": RawInputs()},
    "hops": {"inputs": HopInputs(), "cross_fit": False},
    "diffused": {"inputs": DiffusedInputs(), "cross_fit": False},
    "adjacency": {"inputs": AdjacencyInputs(), "cross_fit": False},
    "degrees": {"inputs": DegreeInputs(), "cross_fit": False},
    "robust": {"label_view": RobustLabels(), "cross_fit": False},
    "two hops": {"graph_view": TwoHopView, "cross_fit": False},
    "squared": {"graph_view": SquaredLaplacianView, "cross_fit": False},
    "high-pass": {"graph_view": HighPassView, "cross_fit": False},
    "locally linear": {"graph_view": LocallyLinearView, "cross_fit": False},
    "no graph": {"graph_view": NoGraphView, "cross_fit": False},
    "conjugate": {"solver": ConjugateGradient(), "cross_fit": False},
    "direct": {"solver": Direct(), "cross_fit": False},
    "jacobi": {"solver": JacobiSteps(n_steps=3), "cross_fit": False},
    "chebyshev": {"solver": ChebyshevSteps(n_steps=1), "cross_fit": False},
    "classes": {"classes": ["c0", "c1", "c2", "c9"], "cross_fit": False},
    "wrong type": {"n_rounds": "many"},
    "paper": {"n_diffusion": 0, "n_rounds": 2, "restart": 0.5, "cross_fit": False},
}
PLAIN: dict[str, Any] = {
    "rows": (4, 8, 20, 40, 80),
    "columns": (1, 3, 12),
    "features": ("array", "array", "csr", "pandas", "list"),
    "numbers": tuple(NUMBERS),
    "type": ("float64", "float32"),
    "labels": ("whole", "text", "floats", "text and -1", "nullable"),
    "n_classes": (2, 3, 5),
    "share": (0.1, 0.5, 1.0),
    "graph": ("none", "rows", "columns", "csr", "coo", "pairs", "triples"),
    "edges": (1.0, 3.0),
    "weights": ("none", *WEIGHTS),
    "settings": ("as they are", *[name for name in SETTINGS if name != "as they are"] * 2),
    "directed": (False,),
}
ODD: dict[str, Any] = {
    "rows": (1, 2, 3),
    "columns": (40,),
    "features": ("csc", "polars", "tensor", "3-d", "1-d", "bad sparse", "memory map", "masked", "None"),
    "numbers": tuple(ODD_NUMBERS),
    "type": ("float16", "int8", "uint64", "bool", "object"),
    "labels": tuple(ODD_LABELS),
    "n_classes": (1, 12),
    "share": (0.0, 0.02),
    "graph": ("pandas", "networkx", "digraph", "bad indices", "bad indptr", "dense", "lil", "strange object"),
    "edges": (0.0, 0.1),
    "weights": tuple(ODD_WEIGHTS),
    "settings": tuple(ODD_SETTINGS),
}


def check(case: Case) -> Outcome:
    """Fit, ask, tell, store and load."""
    about_graph = {"n": case["rows"], "form": case["graph"], "ends": "int", "dtype": "float64"}
    about_graph |= {key: case[key] for key in ("edges", "weights", "seed")}
    parts = (
        made(make_features, case | {"form": case["features"]}),
        made(make_labels, case),
        None if case["graph"] == "none" else made(make_graph, about_graph),
    )
    for part in parts:
        if isinstance(part, Outcome):
            return part
    return judged(lambda: try_model(case, *parts))


def try_model(case: Case, X: Any, y: Any, graph: Any) -> None:
    """A whole life of a model; a refusal after the fit is a refusal only of what was asked then."""
    settings = (SETTINGS | ODD_SETTINGS)[case["settings"]]
    model = AltOpt(random_state=case["seed"] % 1000, **settings).fit(X, y, graph=graph)
    hold_to_promises(model, case["rows"])
    chance = random(case)
    actions = [ask_new_nodes, explain, suggest, update, store]
    for k in chance.permutation(len(actions))[:3]:
        try:
            actions[k](model, case, chance)
        except InputError as error:
            promise(len(str(error).split()) > 3, f"{actions[k].__name__} was refused without a sentence")
    hold_to_promises(model, None)


def hold_to_promises(model: AltOpt, n: int | None) -> None:
    """The promises about every fitted model."""
    P, F, n_classes = model.label_distributions_, model.scores_, len(model.classes_)
    n = len(F) if n is None else n
    promise(P.shape == F.shape == (n, n_classes), f"probabilities {P.shape} and F {F.shape} of {n} nodes")
    promise(np.isfinite(F).all(), "F is not finite")
    promise(np.isfinite(P).all() and (P >= 0).all(), "probabilities are not finite")
    promise(np.allclose(P.sum(axis=1), 1, atol=1e-5), "probabilities do not sum to one")
    promise(np.isfinite(model.confidence_).all(), "confidence is not finite")
    promise(set(model.transduction_.tolist()) <= set(model.classes_.tolist()), "a label is no class")
    given = model.classes_[model.Y_.argmax(axis=1)]
    promise(np.array_equal(model.transduction_[model.labelled_], given), "a given label was changed")


def ask_new_nodes(model: AltOpt, case: Case, chance: Chance) -> None:
    X = chance.normal(size=(3, model.n_features_in_))
    edges = None if chance.random() < 0.5 else [(0, model.graph_.ids.tolist()[0])]
    P = model.predict_proba(X, edges=edges)
    promise(np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1, atol=1e-5), "new nodes: not probabilities")


def explain(model: AltOpt, case: Case, chance: Chance) -> None:
    ids = model.graph_.ids.tolist()
    k = int(chance.integers(len(ids)))
    explanation = model.explain(ids[k])
    promise(np.isfinite(explanation.evidence).all(), "an explanation is not finite")
    size = 1e-4 * (1 + np.abs(model.scores_[k]).max())
    promise(np.abs(explanation.evidence - model.scores_[k]).max() <= size, "an explanation does not sum to F")


def suggest(model: AltOpt, case: Case, chance: Chance) -> None:
    picks = model.suggest(2)
    promise(all(np.isfinite(gain) for _, gain in picks), "a suggestion's gain is not finite")
    positions = model.graph_.positions([node for node, _ in picks])
    promise(not model.labelled_[positions].any(), "a labelled node was suggested")


def update(model: AltOpt, case: Case, chance: Chance) -> None:
    ids, classes = model.graph_.ids.tolist(), model.classes_.tolist()
    one, other = (ids[int(k)] for k in chance.integers(len(ids), size=2))
    weight = float(chance.choice([1.0, 0.0, 0.5, 1e-300, 1e300]))
    labels = {one: classes[0]} if chance.random() < 0.7 else None
    edges = [(one, other, weight)] if chance.random() < 0.7 else None
    X = chance.normal(size=(1, model.n_features_in_)) if chance.random() < 0.3 else None
    change = model.update(labels=labels, edges=edges, features=X, refresh=bool(chance.random() < 0.3))
    promise(np.isfinite(model.scores_).all(), "after an update F is not finite")
    promise(not np.isnan(change.residual), "the residual of an update is NaN")
    if change.error_bound is not None:
        promise(not np.isnan(change.error_bound), "the bound of an update is NaN")
        ordinary = case["settings"] in SETTINGS and case["weights"] in WEIGHTS and weight in (0.0, 0.5, 1.0)
        if ordinary:
            hold_to_bound(model, change.error_bound)


def hold_to_bound(model: AltOpt, bound: float) -> None:
    """F is as near to the solution from scratch as the update said."""
    exact = Direct().solve(model.fitted_.objective(), model.scores_).F
    degrees = NormalizedAdjacency(model.graph_.adjacency, model.self_loops).degrees
    off = np.linalg.norm(model.scores_ - exact, axis=1)
    scaled = (off / np.sqrt(np.where(degrees > 0, degrees, 1.0))).max()
    promise(
        min(scaled, np.linalg.norm(off)) <= bound + 1e-9,
        f"F is off by {scaled:.2g}, the bound says {bound:.2g}",
    )


def store(model: AltOpt, case: Case, chance: Chance) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        loaded = AltOpt.load(Path(folder) / "model")
        same = np.array_equal(loaded.label_distributions_, model.label_distributions_)
        promise(same, "a loaded model has other probabilities")
        promise(
            loaded.transduction_.tolist() == model.transduction_.tolist(), "a loaded model has other labels"
        )


PART = Part(
    name="fits",
    what="whole fits on 1 to 80 nodes with odd features, labels, edges and settings, then predict_proba, explain, "
    "suggest, update with its bound against a full solve, save and load",
    strategy=recipe(PLAIN, ODD),
    check=check,
    trials=2500,
    seconds=120.0,
    short=12,
    batch=250,
)
