"""A refit: the parts that a fit chose, trained again with the labels that updates brought; X is not needed."""

from dataclasses import replace

import numpy as np

from altopt.errors import InputError
from altopt.fitted.fit import OnRound, fit_candidate, told
from altopt.fitted.model import FittedModel, node_kinds, reached_nodes
from altopt.graph.validation import UNKNOWN
from altopt.inputs import BlockInputs, Inputs, Prepared
from altopt.operator import NormalizedAdjacency
from altopt.selection.choice import Choice
from altopt.selection.draw import read_class_prior
from altopt.selection.evaluation import Evaluator
from altopt.selection.fit_data import FitData, eager_limit
from altopt.selection.parameters import Parameters
from altopt.threads import threads_for
from altopt.training.alternate import as_dicts
from altopt.training.journal import LOG


def refit(parameters: Parameters, model: FittedModel, on_round: OnRound | None = None) -> FittedModel:
    """The model that its chosen parts give with every label it has now; the model itself stays as it is."""
    with model.lock:
        graph, codes, P = model.graph, model.codes.copy(), model.encoder_output.copy()
        inputs, n_labels = model.inputs, int(model.labelled.sum())
    LOG.info("refitting %d nodes with %d labels", len(codes), n_labels)
    n, n_classes, candidate = len(codes), len(model.classes), model.candidate
    data = FitData(
        graph=graph,
        A_tilde=NormalizedAdjacency(graph.adjacency, model.self_loops),
        X=P,  # in the place of features that are not kept: it tells nodes apart that tie
        codes=codes,
        n_classes=n_classes,
        dtype=model.scores.dtype,
        restart=model.restart,
        n_diffusion=model.n_diffusion,
        seed=model.seed,
        class_prior=read_class_prior(parameters.class_prior, model.classes),
        built=model.neighbours is not None,
        eager=eager_limit(n, n_classes, parameters.cross_fit, parameters.numbers),
        defaults=parameters.numbers,
    )
    keep_inputs(data, candidate.inputs, inputs)
    reached = np.ones(n, dtype=bool)
    if len(model.featureless):
        reached = reached_nodes(n, model.featureless, graph.components, codes)
    labelled = codes != UNKNOWN
    kinds = node_kinds(labelled, model.isolated, reached)
    choice = Choice(candidate, [], str(model.choice.get("reason", "")))
    with threads_for(n * P.shape[1], with_torch=candidate.encoder.uses_torch):
        evaluator = None
        if parameters.cross_fit and candidate.linear:
            schedule = parameters.schedule(candidate, data.seed)
            solvers = parameters.solvers(len(data.codes), data.n_classes)
            evaluator = Evaluator(data, solvers, parameters.pseudo_labels(), schedule)
        found = fit_candidate(parameters, data, evaluator, choice, candidate, kinds, model.classes, on_round)
    outcome = found.outcome
    reading = found.readout.read(outcome.F, kinds)
    refitted = f"Refitted with {n_labels:,} labels; parts and settings are those that the fit chose."
    return replace(
        model,
        last_graph=graph,
        inputs=data.inputs(candidate)[0],
        readout=found.readout,
        temperature=found.temperature,
        encoder=outcome.learner,
        scores=outcome.F,
        encoder_output=outcome.P,
        codes=codes,
        labels=np.where(labelled, codes, reading.label).astype(np.int32),
        confidence=reading.w,
        reached=reached,
        start=outcome.start,
        steps=outcome.steps,
        leave_one_out=found.leave_one_out,
        trace=as_dicts(outcome.trace),
        outcome=" ".join([outcome.reason, refitted, *told(found.verdict, n_labels)]),
    )


def keep_inputs(data: FitData, inputs: Inputs, prepared: Prepared) -> None:
    """The encoder inputs that the model has are those of the refit, but for blocks made from labels."""
    if not inputs.reads_labels:
        data.keep(inputs, prepared)
    elif isinstance(inputs, BlockInputs):
        for part, block in zip(inputs.parts, prepared.parts):  # type: ignore[attr-defined]
            keep_inputs(data, part, block)
    elif inputs.reads_features:
        raise InputError(
            f"refit cannot make {type(inputs).__name__} anew: they read X beside labels, and a model keeps no X. "
            "Call fit() with all labels."
        )
