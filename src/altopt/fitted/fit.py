"""The fit: a candidate chosen by held-out labels, its rounds, its evaluation, and the FittedModel they leave."""

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from altopt.arrays import Array, working_dtype
from altopt.errors import InputError
from altopt.fitted.model import FittedModel, PlainReadout, ReadoutRule, node_kinds, reached_nodes
from altopt.fitted.source import Source
from altopt.graph.settings import seed_of
from altopt.graph.validation import UNKNOWN
from altopt.io.checkpoint import Checkpoint, begin
from altopt.operator import NormalizedAdjacency
from altopt.operator.feature_matrix import empty_rows
from altopt.selection.by_kind import with_kinds_apart
from altopt.selection.calibration import TemperedShares, column_factors
from altopt.selection.candidates import Candidate, alternatives
from altopt.selection.choice import Choice
from altopt.selection.draw import attainable, read_class_prior, shares_of_rest
from altopt.selection.edge_weights import choose_edge_weights, chosen_once
from altopt.selection.estimate import nothing_learnt, too_wide
from altopt.selection.evaluation import Evaluator
from altopt.selection.fit_data import FitData, eager_limit
from altopt.selection.graph_help import GraphHelp, KindHelp
from altopt.selection.held_out import Verdict
from altopt.selection.leave_one_out import NOT_HELD_BACK, LeaveOneOut
from altopt.selection.parameters import Parameters
from altopt.threads import threads_for
from altopt.training.alternate import Outcome, Problem, Round, State, alternate, as_dicts, warm_up
from altopt.training.journal import LOG, Journal
from altopt.training.pseudo_labels import PseudoLabels

OnRound = Callable[[int, int, Round], None]
WIDTH_OF_INPUTS = 256  # columns of the encoder's inputs that decide how many threads pay


@dataclass(frozen=True)
class Progress:
    """Who hears of each round, and where finished steps are stored."""

    on_round: OnRound | None = None
    folder: Path | None = None
    resume: bool = False

    def checkpoint(self, parameters: Parameters, source: Source) -> Checkpoint | None:
        """Where the steps of this fit are stored; None where they are not."""
        if self.folder is None:
            return None
        settings = vars(parameters) | {"random_state": None}
        seed = None if parameters.random_state is None else seed_of(parameters.random_state)
        data = vars(source) | dict.fromkeys(
            ("graph", "neighbours", "reader", "notes", "digest")
        )  # they play no part in any step
        graph = source.graph
        edges = {name: (kind.adjacency, kind.directed_adjacency) for name, kind in graph.kinds.items()}
        whole = graph.adjacency, graph.directed_adjacency
        return begin(self.folder, seed, settings, (data, whole, edges), self.resume)


def fit_model(parameters: Parameters, source: Source, progress: Progress) -> FittedModel:
    """Choose a candidate, evaluate it, alternate."""
    checkpoint = progress.checkpoint(parameters, source)
    n_labels = int((source.codes != UNKNOWN).sum())
    LOG.info("fitting %d nodes with %d labels", source.graph.n_nodes, n_labels)
    with nullcontext() if checkpoint is None else checkpoint:
        model = fit_by_steps(parameters, source, checkpoint, progress.on_round)
    held_out = model.leave_one_out
    expected = "" if isinstance(held_out, str) else f" {held_out.in_words()}"
    LOG.info("fitted: %s.%s %s", model.choice["plan"], expected, model.outcome)
    return model


def fit_by_steps(
    parameters: Parameters, source: Source, checkpoint: Checkpoint | None, on_round: OnRound | None
) -> FittedModel:
    """The fit, each step taken from the checkpoint or computed and stored there."""
    X, graph, classes, codes = source.X, source.graph, source.classes, source.codes
    n, n_features = X.shape
    labelled = codes != UNKNOWN
    n_labels = int(labelled.sum())
    data = FitData(
        graph=graph,
        A_tilde=NormalizedAdjacency(graph.adjacency, parameters.self_loops),
        X=X,
        codes=codes,
        n_classes=len(classes),
        dtype=working_dtype(n, len(classes)),
        restart=parameters.resolved_restart(n_labels),
        n_diffusion=parameters.n_diffusion,
        seed=seed_of(parameters.random_state) if checkpoint is None else checkpoint.seed,
        class_prior=read_class_prior(parameters.class_prior, classes),
        sample_weight=source.sample_weight,
        built=source.neighbours is not None,
        eager=eager_limit(n, len(classes), parameters.cross_fit, parameters.numbers),
        defaults=parameters.numbers,
    )
    usual = parameters.default_candidate(n, n_features, n_labels)
    worth: dict[str, KindHelp] = {}
    if len(graph.kinds) > 1 and parameters.cross_fit and usual.linear and usual.uses_graph:
        with threads_for(n * min(n_features, WIDTH_OF_INPUTS), with_torch=False):
            data, worth = with_edge_weights(parameters, data, usual, checkpoint)
        graph = data.graph
    featureless = np.flatnonzero(empty_rows(X) if source.featureless is None else source.featureless)
    reached = np.ones(n, dtype=bool)
    if len(featureless):
        reached = reached_nodes(n, featureless, graph.components, codes)
    isolated = np.diff(graph.adjacency.indptr) == 0
    kinds = node_kinds(labelled, isolated, reached)
    solvers, rule = parameters.solvers(n, len(classes)), parameters.pseudo_labels()
    with threads_for(n * min(n_features, WIDTH_OF_INPUTS), with_torch=usual.encoder.uses_torch):
        evaluator = None
        if parameters.cross_fit and usual.linear:
            schedule = parameters.schedule(usual, data.seed)
            evaluator = Evaluator(data, solvers, rule, schedule, checkpoint)
        choice = choose(parameters, usual, evaluator, data)
        taken = choice.plan if evaluator is None else evaluator.in_full(choice.plan)
        candidate = data.with_data_dependent_settings(taken)
        inputs = data.inputs(candidate)[0]
        data.drop_other_inputs(candidate)
        found = fit_candidate(
            parameters,
            data,
            evaluator,
            choice,
            candidate,
            kinds,
            classes,
            on_round,
            source.validation,
            checkpoint,
        )
        graph_help = None
        if evaluator is not None:
            graph_help = with_kinds(evaluator.graph_help(choice, found.verdict, classes), worth)
    outcome, readout, verdict = found.outcome, found.readout, found.verdict
    reading = readout.read(outcome.F, kinds)
    return FittedModel(
        classes=classes,
        candidate=candidate,
        solver=candidate.solvers(solvers).last,
        readout=readout,
        temperature=found.temperature,
        self_loops=parameters.self_loops,
        restart=data.restart,
        n_diffusion=parameters.n_diffusion,
        seed=data.seed,
        n_features=n_features,
        feature_exponents=source.feature_exponents,
        has_features=source.has_features,
        digest=source.digest,
        reader=source.reader,
        last_graph=graph,
        neighbours=source.neighbours,
        inputs=inputs,
        encoder=outcome.learner,
        scores=outcome.F,
        encoder_output=outcome.P,
        codes=codes.astype(np.int32),
        labels=np.where(labelled, codes, reading.label).astype(np.int32),
        confidence=reading.w,
        reached=reached,
        isolated=isolated,
        featureless=featureless,
        start=outcome.start,
        steps=outcome.steps,
        choice=choice.record(),
        graph_help=graph_help,
        leave_one_out=found.leave_one_out,
        trace=as_dicts(outcome.trace),
        outcome=" ".join([outcome.reason, *source.notes, *told(verdict, n_labels)]),
    )


@dataclass(frozen=True)
class FittedCandidate:
    """A candidate's rounds, and what held-out labels say of them."""

    outcome: Outcome
    readout: ReadoutRule
    leave_one_out: LeaveOneOut | str
    verdict: Verdict | None

    @property
    def temperature(self) -> float | None:
        return None if self.verdict is None else self.verdict.readout.temperature


def fit_candidate(
    parameters: Parameters,
    data: FitData,
    evaluator: Evaluator | None,
    choice: Choice,
    candidate: Candidate,
    kinds: Array,
    classes: Array,
    on_round: OnRound | None,
    validation: tuple[Array, Array] | None = None,
    checkpoint: Checkpoint | None = None,
) -> FittedCandidate:
    """The rounds of the chosen candidate with all labels, and their evaluation."""
    if evaluator is not None and len(evaluator.nodes):
        evaluator.leave_one_out_scores(choice.plan)  # before the rounds, whose last update is not stored
    problem = data.problem(candidate, validation=validation)
    outcome = alternate_from(parameters, problem, candidate, data, checkpoint, on_round)
    require_finite_outcome(outcome)
    held_out: LeaveOneOut | str = NOT_HELD_BACK
    verdict = None
    if evaluator is not None:
        held_out, verdict = evaluator.leave_one_out(choice, outcome.F, kinds, data.graph.ids, classes)
    readout: ReadoutRule = (
        unjudged_readout(data, parameters.pseudo_labels(), outcome.F) if verdict is None else verdict.readout
    )
    return FittedCandidate(outcome, readout, held_out, verdict)


def with_edge_weights(
    parameters: Parameters, data: FitData, usual: Candidate, checkpoint: Checkpoint | None
) -> tuple[FitData, dict[str, KindHelp]]:
    """The data with the weights of the kinds of edges that held-out labels choose, and what each kind is worth."""
    journal = checkpoint or Journal()
    schedule = parameters.schedule(usual, data.seed)
    solvers = parameters.solvers(len(data.codes), data.n_classes)
    evaluator = Evaluator(data, solvers, parameters.pseudo_labels(), schedule)
    if not evaluator.n_folds:
        return data, {}
    chosen = chosen_once(
        journal,
        list(data.graph.kinds),
        lambda: choose_edge_weights(data, evaluator.chooser, evaluator.n_folds, usual),
    )
    graph = data.graph.with_edge_weights(chosen.weights)
    A_tilde = NormalizedAdjacency(graph.adjacency, data.A_tilde.self_loops)
    data = replace(data, graph=graph, A_tilde=A_tilde, telling=chosen.telling, _made={}, _parts={})
    return data, chosen.help


def with_kinds(graph_help: GraphHelp | None, worth: dict[str, KindHelp]) -> GraphHelp | None:
    """What the graph is worth, each kind of edges included; from the kinds alone where plans were not compared."""
    if graph_help is None and worth:
        any_kind = next(iter(worth.values()))
        graph_help = GraphHelp(any_kind.all_kinds, any_kind.features_alone, {})
    return None if graph_help is None else replace(graph_help, per_kind=worth)


def unjudged_readout(data: FitData, rule: PseudoLabels, F: Array) -> ReadoutRule:
    """How F is read where no labels were held out: as the rule does, or so that given class shares are kept to."""
    if not isinstance(data.class_prior, np.ndarray):
        return PlainReadout(rule)
    T, labelled = 1.0, data.labelled  # no held-out label tells another
    counts = np.bincount(data.codes[labelled], minlength=data.n_classes)
    shares = shares_of_rest(data.class_prior, counts, int((~labelled).sum()))
    rows = F if labelled.all() else F[~labelled]
    factors = column_factors(rows, attainable(shares, counts), T, data.defaults)
    return TemperedShares(T, tuple(factors.tolist()), unreached=tuple(shares.tolist()))


def told(verdict: Verdict | None, n_labels: int) -> list[str]:
    """What held-out labels leave to be said; that nothing was learnt is a warning too."""
    if verdict is None:
        return []
    draw = verdict.draw
    assumed = [draw.sentence] if draw.kind in ("by class", "unevenly") else []
    lost = nothing_learnt(verdict.accuracy, draw, n_labels)
    if lost:
        warnings.warn(lost, stacklevel=6)
    wide = too_wide(verdict.accuracy, n_labels)
    return [*assumed, *filter(None, (wide, lost))]


def require_finite_outcome(outcome: Outcome) -> None:
    """Refuse an F or P with infinity or NaN in it, however it came about."""
    for name, rows in (("F", outcome.F), ("P, the encoder's output,", outcome.P)):
        if not np.isfinite(rows.sum(dtype=np.float64)) and not np.isfinite(rows).all():
            node = int(np.argmin(np.isfinite(rows).all(axis=1)))
            raise InputError(
                f"the fit broke down: {name} is not finite at node {node}. The settings or an encoder of your own led "
                "beyond the range of floating-point numbers; try the defaults, and scale the columns of X."
            )


def choose(parameters: Parameters, usual: Candidate, evaluator: Evaluator | None, data: FitData) -> Choice:
    """The candidate to fit, among those that differ where nothing was given."""
    if evaluator is None:
        return Choice(usual, [], "cross_fit is off.")
    others: list[Candidate] = []
    if parameters.encoder_is_free and parameters.graph_view is None:
        n_labels = len(evaluator.nodes)
        others = alternatives(
            usual, data.source, n_labels, data.n_classes, parameters.numbers, built=data.built
        )
        others = with_kinds_apart(usual, others, data.telling)
    return evaluator.choose(usual, others, parameters.weights_are_free)


def alternate_from(
    parameters: Parameters,
    problem: Problem,
    candidate: Candidate,
    data: FitData,
    checkpoint: Checkpoint | None,
    on_round: OnRound | None,
) -> Outcome:
    """The rounds, from the start or from a checkpoint."""
    schedule = parameters.schedule(candidate, data.seed)
    learner = candidate.encoder.begin(problem.rows.shape[1], data.n_classes, data.seed)
    state = None if checkpoint is None else checkpoint.find_round(learner)
    if state is None:
        state = warm_up(problem, learner, schedule)

    def after_round(state: State) -> None:
        if checkpoint is not None:
            checkpoint.store_round(state)
        LOG.info("round %d of %d", state.n_done, schedule.n_rounds)
        if on_round is not None:
            on_round(state.n_done, schedule.n_rounds, state.trace[-1])

    rule = parameters.pseudo_labels(problem.Y)
    solvers = candidate.solvers(parameters.solvers(len(data.codes), data.n_classes))
    return alternate(problem, state, solvers, rule, schedule, after_round)
