"""AltOpt: the parts assembled into one estimator with scikit-learn's interface."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from altopt.arrays import Array, working_dtype
from altopt.defaults import DEFAULTS, Defaults, checked
from altopt.encoders import Encoder, LinearEncoder, as_encoder
from altopt.errors import InputError
from altopt.fitted.attributes import FittedAttributes
from altopt.fitted.explain import explain
from altopt.fitted.explanation import Explanation
from altopt.fitted.model import FittedModel, ReadoutRule, reached_nodes
from altopt.fitted.new_nodes import scores_of_new_nodes
from altopt.fitted.request import Change, NewFeatures
from altopt.fitted.suggest import suggest
from altopt.fitted.update import update
from altopt.graph import Graph
from altopt.graph.knn import Neighbours
from altopt.graph.settings import check_settings, seed_of
from altopt.graph.validation import UNKNOWN, read_validation, read_X, read_y, require_finite
from altopt.inputs import Inputs, as_inputs
from altopt.io import checkpoint as checkpoints
from altopt.io import store
from altopt.operator import NormalizedAdjacency
from altopt.operator.feature_matrix import empty_rows, has_missing
from altopt.selection.candidates import (
    Candidate,
    alternatives,
    default_inputs,
    default_restart,
    without_graph,
)
from altopt.selection.compare import Choice
from altopt.selection.evaluation import Evaluator
from altopt.selection.fit_data import FitData, eager_limit
from altopt.selection.leave_one_out import NOT_HELD_BACK, LeaveOneOut
from altopt.solvers import ChebyshevSteps, ConjugateGradient, JacobiSteps, Solver, as_solver
from altopt.threads import threads_for
from altopt.training.alternate import (
    Outcome,
    Problem,
    Round,
    Schedule,
    Solvers,
    State,
    alternate,
    as_dicts,
    warm_up,
)
from altopt.training.class_priors import prior_trust
from altopt.training.paper import Variant, paper_settings
from altopt.training.pseudo_labels import (
    ClassBalanced,
    ConfidenceThreshold,
    NoPseudoLabels,
    PseudoLabels,
    TopPerClass,
)
from altopt.views import FeatureView, GraphView, LabelView, ViewChoice, as_view_choice

OnRound = Callable[[int, int, Round], None]


class AltOpt(FittedAttributes, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A label for every node of a graph, from node features, the edges and a few known labels.

    Soft labels F (n x c) are shared by three views, and found together with an encoder, P = encoder(X'):

        minimise over F, encoder:   feature_weight * D_X(P, F)  +  D_A(F)  +  label_weight * D_Y(Y_L, F_L)

    by turns: with P fixed, F solves a sparse linear system; with F fixed, the encoder learns from F. What is
    left at None is chosen from the training labels alone, by holding some of them back; `choice_` says how.

    Parameters
    ----------
    feature_weight, label_weight : the weights lambda1 and lambda2; the graph's weight is 1. Default 2 each, unless
        held-out labels ask for another.
    restart : weight of a node's own features in the diffusion that feeds the encoder; 1 means no diffusion. Default
        0.2, with fewer than 30 labels 0.1.
    n_diffusion : steps of that diffusion.
    temperature : of the softmax that turns F into pseudo labels; lower is surer. The probabilities handed out are
        F's shares to the power 1 / `temperature_`, which is fitted to held-out labels; None where there were none.
    n_rounds : how often F is updated and the encoder trained on it; "full" makes n_epochs rounds of one epoch.
    n_warmup, n_epochs : encoder epochs before the first round, and in each round.
    n_pseudo : the surest unlabelled nodes per class to train on; None takes all, weighted; 0 takes none.
    min_confidence : pseudo labels less sure than this are never trained on.
    encoder : an encoder or any scikit-learn classifier that takes sample weights. Default a LinearEncoder, as tight
        as the labels ask for.
    inputs : what the encoder reads. Default hops 0, 1 and 2 beside the diffused features, each reduced to its leading
        directions; the latter alone on large graphs; the features alone where the graph does harm.
    solver : for F, in every round. Default Chebyshev steps, to 1e-2 in the rounds and 1e-6 at the end; Jacobi's
        where a view is not quadratic.
    feature_view, graph_view, label_view : classes or settings from altopt.views, or your own
        (docs/adding_a_view.md). Default: the squared, Laplacian and squared forms, which make F's problem a
        linear system.
    cross_fit : hold labels back, fold by fold, to choose, to calibrate and to say how accurate the fit is. False fits
        once with the default of every part; there is no `leave_one_out_` then.
    self_loops : tie every node to itself, with the mean edge weight.
    n_neighbors : of the graph that is built from X when none is given.
    classes : all classes, when some may have no labelled node.
    random_state : a seed; the same seed gives the same bits. None draws one, recorded as `seed_`.
    defaults : other numbers of the recipe than altopt.defaults.DEFAULTS, made from it with dataclasses.replace.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1]])
    >>> AltOpt(random_state=0).fit(X, ["a", None, "b", None], graph=[(0, 1), (2, 3)]).transduction_.tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        *,
        feature_weight: float | None = None,
        label_weight: float | None = None,
        restart: float | None = None,
        n_diffusion: int = DEFAULTS.n_diffusion,
        temperature: float = DEFAULTS.temperature,
        n_rounds: int | Literal["full"] = DEFAULTS.n_rounds,
        n_warmup: int = DEFAULTS.n_warmup,
        n_epochs: int = DEFAULTS.n_epochs,
        n_pseudo: int | None = None,
        min_confidence: float = 0.0,
        encoder: Any = None,
        inputs: Inputs | None = None,
        solver: Solver | None = None,
        feature_view: Any = None,
        graph_view: Any = None,
        label_view: Any = None,
        cross_fit: bool = True,
        self_loops: bool = False,
        n_neighbors: int = DEFAULTS.n_neighbors,
        classes: Any = None,
        random_state: Any = None,
        defaults: Defaults | None = None,
    ) -> None:
        self.feature_weight = feature_weight
        self.label_weight = label_weight
        self.restart = restart
        self.n_diffusion = n_diffusion
        self.temperature = temperature
        self.n_rounds = n_rounds
        self.n_warmup = n_warmup
        self.n_epochs = n_epochs
        self.n_pseudo = n_pseudo
        self.min_confidence = min_confidence
        self.encoder = encoder
        self.inputs = inputs
        self.solver = solver
        self.feature_view = feature_view
        self.graph_view = graph_view
        self.label_view = label_view
        self.cross_fit = cross_fit
        self.self_loops = self_loops
        self.n_neighbors = n_neighbors
        self.classes = classes
        self.random_state = random_state
        self.defaults = defaults

    @classmethod
    def paper(
        cls,
        variant: Variant = "mse",
        *,
        diffusion: bool = True,
        pseudo_labels: bool = True,
        n_rounds: int | Literal["full"] = 5,
        total_epochs: int = 500,
        n_steps: int = 10,
        **settings: Any,
    ) -> Self:
        """The paper to the letter: its steps, its step size, its schedule.

        `variant`: "mse" (Eqs. 4-5), "ce" (appendix A), "H" (squared Laplacian) or "N" (appendix C).
        `diffusion=False` and `pseudo_labels=False` are its ablations. `n_rounds` updates of F are spread evenly
        over `total_epochs`. Any parameter of AltOpt may be given besides.
        """
        chosen = paper_settings(variant, diffusion, pseudo_labels, n_rounds, total_epochs, n_steps)
        return cls(**(chosen | settings))

    def fit(
        self,
        X: Any,
        y: Any,
        graph: Any = None,
        validation: tuple[Any, Any] | None = None,
        *,
        on_round: OnRound | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Find F and the encoder.

        Parameters
        ----------
        X : array, sparse matrix, tensor, table or memory map (n_nodes, n_features)
            One row of features for each node.
        y : array-like (n_nodes,)
            Labels; -1, None or NaN where unknown.
        graph : anything that Graph takes, optional
            None builds a symmetric k-nearest-neighbour graph of X.
        validation : (nodes, labels), optional
            Used to keep the best round and for nothing else. If it has the same number of nodes in every class it is
            treated as stratified, and accuracy is reweighted to class priors estimated from the confusion matrix.
        on_round : callable, optional
            Called after each round with rounds done, rounds planned and the round's record.
        checkpoint : path, optional
            A folder to store the state in after each round.
        resume : bool
            Go on from the checkpoint, with the same bits as an uninterrupted fit.
        """
        check_settings(self.get_params(deep=False))
        defaults = checked(self.defaults)
        self._fitted = None
        _check_feature_names(self, X, reset=True)
        X, row_ids = read_X(X)
        X = self._check_X(X, reset=True)
        n, n_features = X.shape
        classes, codes = read_y(y, n, self.classes)
        labelled = codes != UNKNOWN
        n_labels = int(labelled.sum())
        neighbours, graph = self._read_graph(graph, X, row_ids)
        validation = read_validation(validation, graph, labelled, classes)
        seed = seed_of(self.random_state)
        data = FitData(
            graph=graph,
            A_tilde=NormalizedAdjacency(graph.adjacency, self.self_loops),
            X=X,
            codes=codes,
            n_classes=len(classes),
            dtype=working_dtype(n, len(classes)),
            restart=default_restart(n_labels, defaults) if self.restart is None else self.restart,
            n_diffusion=self.n_diffusion,
            seed=seed,
            eager=eager_limit(n, len(classes), self.cross_fit, defaults),
            defaults=defaults,
        )
        usual = self.default_candidate(n, n_features, n_labels)
        solvers, rule = self._solvers(), self._pseudo_labels()
        with threads_for(n * min(n_features, 256), with_torch=usual.encoder.uses_torch):
            evaluator = None
            if self.cross_fit and usual.linear:
                evaluator = Evaluator(data, solvers, rule, self._schedule(usual, seed))
            choice = self._choose(usual, evaluator, graph)
            data.drop_other_inputs(choice.plan)
            candidate = data.with_data_dependent_settings(choice.plan)
            inputs = data.inputs(candidate)[0]
            problem = data.problem(candidate, validation=validation)
            outcome = self._alternate(problem, candidate, seed, graph, on_round, checkpoint, resume)
            F = outcome.F
            leave_one_out: LeaveOneOut | str = NOT_HELD_BACK
            tempered, graph_help = None, None
            if evaluator is not None:
                leave_one_out, tempered = evaluator.leave_one_out(choice, F, graph.ids, classes)
                graph_help = evaluator.graph_help(choice, F, classes)
        readout: ReadoutRule = rule if tempered is None else tempered
        reading = readout.read(F)
        featureless = np.flatnonzero(empty_rows(X))
        reached = np.ones(n, dtype=bool)
        if len(featureless):
            reached = reached_nodes(n, featureless, graph.components, codes)
        self._fitted = FittedModel(
            classes=classes,
            candidate=candidate,
            solver=solvers.last,
            readout=readout,
            temperature=None if tempered is None else tempered.temperature,
            self_loops=self.self_loops,
            restart=data.restart,
            n_diffusion=self.n_diffusion,
            seed=seed,
            n_features=n_features,
            last_graph=graph,
            neighbours=neighbours,
            inputs=inputs,
            encoder=outcome.learner,
            scores=F,
            encoder_output=outcome.P,
            codes=codes.astype(np.int32),
            labels=np.where(labelled, codes, reading.label).astype(np.int32),
            confidence=reading.w,
            reached=reached,
            featureless=featureless,
            start=outcome.start,
            steps=outcome.steps,
            choice=choice.record(),
            graph_help=graph_help,
            leave_one_out=leave_one_out,
            trace=as_dicts(outcome.trace),
            outcome=outcome.reason,
        )
        return self

    def _read_graph(self, graph: Any, X: Any, row_ids: Any) -> tuple[Neighbours | None, Graph]:
        """The graph in the order of X's rows; where none is given, that of nearest neighbours, and their index."""
        if graph is not None:
            return None, (graph if isinstance(graph, Graph) else Graph(graph)).rows_for(X.shape[0], row_ids)
        if self._takes_missing() and has_missing(X):
            raise InputError("X holds NaN, so nearest neighbours cannot be told. Give a graph, or fill in X.")
        neighbours = Neighbours(X, self.n_neighbors)
        return neighbours, neighbours.graph()

    def _choose(self, usual: Candidate, evaluator: Evaluator | None, graph: Graph) -> Choice:
        """The candidate to fit, among those that differ where nothing was given."""
        if evaluator is None:
            return Choice(usual, [], "cross_fit is off.")
        defaults = checked(self.defaults)
        free = self.encoder is None and self.inputs is None
        alone = without_graph(usual, defaults) if free and self.graph_view is None else None
        others = alternatives(usual, graph, len(evaluator.nodes), defaults) if free else []
        tune_weights = self.feature_weight is None and self.label_weight is None
        return evaluator.choose(usual, others, alone, tune_weights)

    def _alternate(
        self,
        problem: Problem,
        candidate: Candidate,
        seed: int,
        graph: Graph,
        on_round: OnRound | None,
        checkpoint: str | Path | None,
        resume: bool,
    ) -> Outcome:
        """The rounds, from the start or from a checkpoint."""
        schedule = self._schedule(candidate, seed)
        learner = candidate.encoder.begin(problem.rows.shape[1], problem.Y.shape[1], seed)
        folder = None if checkpoint is None else Path(checkpoint)
        mark, state = "", None
        if folder is not None:
            mark = checkpoints.fingerprint(self.get_params(deep=False), seed, graph, problem)
            state = checkpoints.load(folder, mark, learner) if resume else None
        if state is None:
            state = warm_up(problem, learner, schedule)

        def after_round(state: State) -> None:
            if folder is not None:
                checkpoints.save(folder, mark, state)
            if on_round is not None:
                on_round(state.n_done, schedule.n_rounds, state.trace[-1])

        rule = self._pseudo_labels(problem.Y)
        return alternate(problem, state, self._solvers(), rule, schedule, after_round)

    def predict_proba(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Class probabilities of nodes that were not part of the fit.

        Parameters
        ----------
        X : as in fit (n_new_nodes, n_features)
        edges : pairs or table, optional
            Pairs (row of X, known node id); or a table with source and target, whose ends may also be two new nodes,
            named by `ids`, X's index or row; or a list of both. F is then solved on the whole graph. Without edges, a
            model that built its own graph ties each row to its nearest known nodes; a model fitted on a given graph
            goes by the features alone.
        ids : array-like, optional
            Ids of the new nodes.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        X, row_ids = read_X(X)
        X = self._check_X(X, reset=False)
        row_ids = row_ids if ids is None else np.asarray(ids)
        return self.fitted_.readout.soften(scores_of_new_nodes(self.fitted_, X, row_ids, edges))

    def predict(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Labels of nodes that were not part of the fit; see predict_proba."""
        probabilities = self.predict_proba(X, edges, ids=ids)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def suspicious_labels(self) -> list[tuple[Any, Any, Any, float]]:
        """(node, given, suggested, margin) of all labelled nodes, the most suspicious first.

        The margin is the given class's share of F, with the node's own label taken out, minus the largest other: far
        below zero, all other evidence outvotes the label. `explain` shows which.
        """
        held_out = self.fitted_.leave_one_out
        if isinstance(held_out, str):
            raise InputError(f"suspicious_labels {held_out}")
        return held_out.suspicious()

    def explain(self, node: Any, *, tolerance: float | None = None) -> Explanation:
        """The ledger of a node's prediction: which labels and which nodes' features gave it its row of F.

        The shares sum to that row of `scores_`; exact for the encoder output that was used and for F before the
        softmax. Evidence is followed until less than `tolerance` sqrt(degree) of the node's weight is left anywhere;
        what lies beyond is one entry with node None. The default follows all of it up to 20,000 nodes, and stops at
        1e-5 on larger graphs, where a ledger has very many entries.
        """
        return self.explain_many([node], tolerance=tolerance)[0]

    def explain_many(self, nodes: Any, *, tolerance: float | None = None) -> list[Explanation]:
        """An explanation for each of several nodes."""
        return explain(self.fitted_, list(nodes), tolerance)

    def update(
        self,
        labels: Any = None,
        edges: Any = None,
        nodes: Any = None,
        features: Any = None,
        refresh: bool = False,
        *,
        tolerance: float | None = None,
    ) -> Change:
        """Take in new labels, edges and nodes without a refit; says whose labels moved.

        Parameters
        ----------
        labels : dict {node: label}, pairs or table with node and label, optional
            -1 or None withdraws a label.
        edges : pairs (source, target), triples with a weight, or table, optional
            Weight 0 removes an edge.
        nodes, features : list of ids and a row of features for each, optional
            New nodes.
        refresh : bool
            Renew the diffused features and the encoder's output where edges changed. The encoder itself stays as it
            is in any case; without refresh so does its output for the known nodes.
        tolerance : float, optional
            F is pushed on until ||r_k|| <= tolerance sqrt(degree) on every node, r = rhs - H F; the result's
            `error_bound` certifies the distance to a solution from scratch. Default: 1e-9 up to 20,000 nodes, 1e-4 on
            larger graphs.

        Wrong input is refused as a whole, and the model stays as it was. `temperature_`, `choice_` and `graph_help_`
        stay those of the fit; `leave_one_out_` is out of date after an update, until the next fit.
        """
        new = self._read_new_features(features)
        return update(self.fitted_, labels, edges, nodes, new, refresh, tolerance, store=True)

    def what_if(self, labels: Any, *, tolerance: float | None = None) -> Change:
        """What `update` would do with these labels; nothing is stored."""
        return update(self.fitted_, labels, None, None, None, False, tolerance, store=False)

    def suggest(self, n: int = 10, *, among: Any = None) -> list[tuple[Any, float]]:
        """Which unlabelled nodes are worth labelling next: [(node, expected gain)], best first.

        The gain is the number of wrong labels that a node's label is expected to correct, given those before it;
        picks are spread over the graph. `among` names the nodes that can be asked for; None: any. Both candidates and
        the nodes they are evaluated by are seeded samples on large graphs.
        """
        return suggest(self.fitted_, n, among)

    def save(self, path: str | Path) -> None:
        """Store the fitted model in a folder, as safetensors and JSON; an earlier one there is replaced whole."""
        columns = list(getattr(self, "feature_names_in_", []))
        store.save(store.Stored(self.get_params(deep=False), columns, self.fitted_), Path(path))

    @classmethod
    def load(cls, path: str | Path, parts: Sequence[type] = ()) -> Self:
        """A model stored by `save`; a damaged, foreign or newer one is refused in words.

        `parts` are your own classes (views, inputs, encoders) that the model was fitted with: nothing but altopt's own
        is loaded because a file names it.
        """
        stored = store.load(Path(path), parts)
        model = cls(**stored.parameters)
        model._fitted = stored.fitted
        model.n_features_in_ = stored.fitted.n_features
        if stored.columns:
            model.feature_names_in_ = np.array(stored.columns, dtype=object)
        return model

    # the parts, with their defaults

    def _encoder(self) -> Encoder:
        return LinearEncoder() if self.encoder is None else as_encoder(self.encoder)

    def default_candidate(self, n_nodes: int, n_features: int, n_labels: int | None = None) -> Candidate:
        """The parts as given, and where nothing is given, those that serve best without evidence."""
        defaults = checked(self.defaults)
        if self.inputs is None:
            inputs = default_inputs(n_nodes, n_features, n_labels, defaults)
        else:
            inputs = as_inputs(self.inputs)
        return Candidate(
            "usual",
            inputs,
            self._encoder(),
            defaults.view_weight if self.feature_weight is None else self.feature_weight,
            defaults.view_weight if self.label_weight is None else self.label_weight,
            *self._views(),
        )

    def _views(self) -> tuple[ViewChoice, ViewChoice, ViewChoice]:
        """The feature view, the graph view and the label view."""
        return (
            as_view_choice(self.feature_view or FeatureView, "feature_view"),
            as_view_choice(self.graph_view or GraphView, "graph_view"),
            as_view_choice(self.label_view or LabelView, "label_view"),
        )

    def _solvers(self) -> Solvers:
        """Who updates F. In the rounds F only has to tell which nodes are how sure; the last one is to 1e-6."""
        if self.solver is not None:
            solver = as_solver(self.solver)
            return Solvers(solver, solver)
        views, defaults = self._views(), checked(self.defaults)
        if not all(view.quadratic for view in views):
            return Solvers(JacobiSteps(defaults.jacobi_rounds), JacobiSteps(defaults.jacobi_last))
        rough, fine = defaults.rtol_rounds, defaults.rtol_last
        if self.feature_weight != 0 and views[0].squared:
            return Solvers(ChebyshevSteps(rtol=rough), ChebyshevSteps(rtol=fine))
        return Solvers(ConjugateGradient(rtol=rough), ConjugateGradient(rtol=fine))

    def _schedule(self, candidate: Candidate, seed: int) -> Schedule:
        stop_below = checked(self.defaults).stop_when_changed_below if self.n_pseudo is None else None
        if self.n_rounds == "full":
            return Schedule(self.n_warmup, self.n_epochs, 1, seed, stop_below)
        return Schedule(self.n_warmup, candidate.rounds(self.n_rounds), self.n_epochs, seed, stop_below)

    def _pseudo_labels(self, Y: Array | None = None) -> PseudoLabels:
        """The rule that makes pseudo labels out of F; with the labels Y it keeps to estimated class priors."""
        rule: PseudoLabels
        if self._views()[0].needs_confidence:
            rule = ConfidenceThreshold(self.min_confidence)
        elif self.n_pseudo is None:
            defaults = checked(self.defaults)
            rule = ClassBalanced(
                self.temperature,
                self.min_confidence,
                times_labelled=defaults.pseudo_times_labelled,
                limit=defaults.pseudo_limit,
                defaults=defaults,
            )
            if Y is not None:
                label_shares = Y.mean(axis=0)
                trust = prior_trust(len(Y), len(label_shares), defaults)
                rule = replace(rule, trust=trust, label_shares=tuple(label_shares.tolist()))
        else:
            rule = TopPerClass(self.n_pseudo, self.temperature, self.min_confidence)
        return NoPseudoLabels(rule) if self.n_pseudo == 0 else rule

    # reading X

    def _check_X(self, X: Any, reset: bool) -> Any:
        missing = self._takes_missing()
        if isinstance(X, np.memmap) and X.ndim == 2 and X.dtype.kind == "f":
            if reset:
                self.n_features_in_ = X.shape[1]
        else:
            if sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
                require_finite(X, missing)
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                reset=reset,
                skip_check_array=False,
                ensure_all_finite="allow-nan" if missing else True,
            )
        # what a sparse X does not hold is zero, not missing
        require_finite(X, missing and not sp.issparse(X))
        return X

    def _read_new_features(self, features: Any) -> NewFeatures | None:
        """Features of new nodes, checked."""
        if features is None:
            return None
        check_is_fitted(self)
        X, row_ids = read_X(features)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise InputError(
                f"features must have {self.n_features_in_} columns, as X had at the fit, but its shape is {X.shape}: "
                f"{X.shape[-1]} features."
            )
        return NewFeatures(self._check_X(X, reset=False), row_ids)

    def _takes_missing(self) -> bool:
        return self._encoder().takes_missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing()
        return tags
