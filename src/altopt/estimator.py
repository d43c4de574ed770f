"""AltOpt: the parts assembled into one estimator with scikit-learn's face."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_feature_names, check_is_fitted, validate_data

from altopt.arrays import Array, certainty, working_dtype
from altopt.encoders import Encoder, LinearEncoder, as_encoder
from altopt.errors import InputError
from altopt.fitted import new_nodes
from altopt.fitted.answers import Answers
from altopt.graph import Graph
from altopt.graph.knn import Neighbours
from altopt.graph.settings import check_settings, seed_of
from altopt.graph.validation import (
    UNKNOWN,
    read_validation,
    read_X,
    read_y,
    require_finite,
)
from altopt.inputs import EAGER, Inputs, NewNodes, as_inputs
from altopt.io import store
from altopt.operator import NormalizedAdjacency
from altopt.operator.feature_matrix import empty_rows, has_missing
from altopt.selection.calibration import TemperedShares
from altopt.selection.candidates import (
    MOST,
    USUAL_WEIGHT,
    Candidate,
    alternatives,
    default_inputs,
    default_restart,
    without_graph,
)
from altopt.selection.evaluation import LARGE, Evaluator, GraphHelp
from altopt.selection.fit_data import FitData
from altopt.selection.leave_one_out import NOT_HELD_BACK
from altopt.solvers import ChebyshevSteps, ConjugateGradient, JacobiSteps, Solver
from altopt.threads import threads_for
from altopt.training.alternate import Problem, Round, Schedule, Solvers, State, alternate, as_dicts, warm_up
from altopt.training.class_priors import prior_trust
from altopt.training.paper import Variant, paper_settings
from altopt.training.pseudo_labels import (
    ClassBalanced,
    ConfidenceThreshold,
    NoPseudoLabels,
    PseudoLabels,
    TopPerClass,
)
from altopt.views import FeatureView, GraphView, LabelView, Objective

ROUGH, FINE = 1e-2, 1e-6  # relative errors of F in the rounds and at the end
SETTLED = 0.001  # a default fit stops when at most this share of the nodes changed label in a round


class AltOpt(Answers, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        n_diffusion: int = 10,
        temperature: float = 0.2,
        n_rounds: int | Literal["full"] = 5,
        n_warmup: int = 40,
        n_epochs: int = 40,
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
        n_neighbors: int = 10,
        classes: Any = None,
        random_state: Any = None,
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
        on_round: Callable[[int, int, Round], None] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Find F and the encoder.

        X : one row of features per node: numpy, scipy sparse, torch, DataFrame or memory map.
        y : one label per node; -1, None or NaN where unknown.
        graph : anything Graph takes; None builds a symmetric k-nearest-neighbour graph of X.
        validation : (nodes, labels), used for one thing only: to keep the best round. Where there are as many of every
            class they were drawn by class, and classes count by their size, estimated from who is taken for whom.
        on_round : called after each round with rounds done, rounds planned and the round's record.
        checkpoint : a folder to store the state in after each round; with `resume` the fit goes on from there.
        """
        check_settings(self.get_params(deep=False))
        _check_feature_names(self, X, reset=True)
        X, row_ids = read_X(X)
        X = self._check_X(X, reset=True)
        n = X.shape[0]
        self.classes_, codes = read_y(y, n, self.classes)
        self.labelled_ = codes != UNKNOWN
        self.seed_ = seed_of(self.random_state)
        n_labels = int(self.labelled_.sum())
        self.restart_ = default_restart(n_labels) if self.restart is None else self.restart
        if graph is None and self._takes_missing() and has_missing(X):
            raise InputError("X holds NaN, so nearest neighbours cannot be told. Give a graph, or fill in X.")
        self.neighbours_ = Neighbours(X, self.n_neighbors) if graph is None else None
        if self.neighbours_ is not None:
            self.graph_ = self.neighbours_.graph()
        else:
            self.graph_ = (graph if isinstance(graph, Graph) else Graph(graph)).rows_for(n, row_ids)
        A_tilde = NormalizedAdjacency(self.graph_.adjacency, self.self_loops)
        dtype = working_dtype(n, len(self.classes_))
        material = FitData(
            graph=self.graph_,
            A_tilde=A_tilde,
            X=X,
            codes=codes,
            n_classes=len(self.classes_),
            dtype=dtype,
            restart=self.restart_,
            n_diffusion=self.n_diffusion,
            seed=self.seed_,
            eager=MOST if self.cross_fit and n * len(self.classes_) < LARGE else EAGER,  # read for every fold
        )
        judges = read_validation(validation, self.graph_, self.labelled_, self.classes_)
        self.plan_ = self.usual_plan(n, X.shape[1], n_labels)
        with threads_for(n * min(X.shape[1], 256), with_torch=self.plan_.encoder.uses_torch):
            judge = self._judge(material) if self.cross_fit and self.plan_.linear else None
            self._choose(judge)
            material.drop_other_inputs(self.plan_)
            self.plan_ = material.with_data_dependent_settings(self.plan_)
            self.inputs_ = material.inputs(self.plan_)[0]
            problem = material.problem(self.plan_, validation=judges)
            self.Y_ = problem.Y
            self._alternate(problem, on_round, checkpoint, resume)
            self._judge_fit(judge)
        self.reached_ = ~empty_rows(X)
        self.featureless_ = np.flatnonzero(~self.reached_)
        if not self.reached_.all():
            has_label = np.bincount(self.graph_.components, weights=self.labelled_) > 0
            self.reached_ |= has_label[self.graph_.components]
        self._read_out(codes)
        return self

    def _alternate(
        self,
        problem: Problem,
        on_round: Callable[[int, int, Round], None] | None,
        checkpoint: str | Path | None,
        resume: bool,
    ) -> None:
        schedule = self._schedule()
        learner = self.plan_.encoder.begin(problem.rows.shape[1], len(self.classes_), self.seed_)
        mark = store.fingerprint(self, problem) if checkpoint is not None else ""
        state = None
        if checkpoint is not None and resume:
            state = store.load_checkpoint(Path(checkpoint), mark, learner)
        if state is None:
            state = warm_up(problem, learner, schedule)

        def after_round(state: State) -> None:
            if checkpoint is not None:
                store.save_checkpoint(Path(checkpoint), mark, state)
            if on_round is not None:
                on_round(state.n_done, schedule.n_rounds, state.trace[-1])

        rule = self._pseudo_labels(in_sizes=True)
        outcome = alternate(problem, state, self._solvers(), rule, schedule, after_round)
        self.scores_, self.encoder_output_, self.encoder_ = outcome.F, outcome.P, outcome.learner
        self.trace_, self.outcome_ = as_dicts(outcome.trace), outcome.reason
        self.n_iter_ = len(self.trace_)
        self.start_ = outcome.start

    def _judge(self, material: FitData) -> Evaluator:
        return Evaluator(material, self._solvers(), self._pseudo_labels(), self._schedule())

    def _choose(self, judge: Evaluator | None) -> None:
        """The plan, among those that differ where nothing was given; what each said of held-out labels."""
        self.choice_: dict[str, Any] = {
            "plan": self.plan_.name,
            "considered": [],
            "reason": "cross_fit is off.",
        }
        if judge is None:
            return
        free = self.encoder is None and self.inputs is None
        alone = without_graph(self.plan_) if free and self.graph_view is None else None
        others = alternatives(self.plan_, self.graph_, len(judge.nodes)) if free else []
        weigh = self.feature_weight is None and self.label_weight is None
        choice = judge.choose(self.plan_, others, alone, weigh)
        self.plan_, self.choice_ = choice.plan, choice.record()

    def _judge_fit(self, judge: Evaluator | None) -> None:
        """How good the fit is, from labels it was not shown: accuracy, temperature, what the graph is worth."""
        self.temperature_: float | None = None
        self._leave_one_out = NOT_HELD_BACK
        self.graph_help_: GraphHelp | None = None
        if judge is None:
            return
        self._leave_one_out, reading = judge.leave_one_out(
            self.plan_, self.scores_, self.graph_.ids, self.classes_
        )
        self.temperature_ = None if reading is None else reading.temperature
        self.graph_help_ = judge.graph_help(self.classes_, self.scores_)

    def _read_out(self, codes: Array) -> None:
        """From F to what users ask for."""
        reading = self._reading().read(self.scores_)
        self.confidence_ = reading.w
        self.transduction_ = self.classes_[np.where(codes == UNKNOWN, reading.label, codes)]

    @property
    def label_distributions_(self) -> Array:
        """Class probabilities of every node, columns as `classes_`; made from `scores_` when asked for."""
        if not hasattr(self, "scores_"):
            raise AttributeError("label_distributions_ is there after fit.")
        return self._reading().soften(self.scores_)

    def predict_proba(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Class probabilities of nodes that were not there at fit.

        edges : pairs (row of X, known node id); or a table with source and target, whose ends may also be two
            new nodes, named by `ids`, X's index or row; or a list of both. F is then solved on the whole graph.
            Without edges, a model that built its own graph ties each row to its nearest known nodes; a model
            fitted on a given graph goes by the features alone.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        X, row_ids = read_X(X)
        X = self._check_X(X, reset=False)
        row_ids = row_ids if ids is None else np.asarray(ids)
        if edges is None and self.neighbours_ is not None:
            F = self._vote_of_neighbours(X)
        else:
            ends = new_nodes.resolve_edges(self.graph_, X.shape[0], row_ids, [] if edges is None else edges)
            F = self._solve_extended(X, ends)
        return self._reading().soften(F)

    def predict(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Labels of nodes that were not there at fit; see predict_proba."""
        probabilities = self.predict_proba(X, edges, ids=ids)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def _solve_extended(self, X: Any, ends: tuple[Array, Array, Array]) -> Array:
        """F of the new nodes, from one solve over known and new nodes together."""
        n_new = X.shape[0]
        grown = new_nodes.grown(self.graph_, n_new, ends)
        A_tilde = NormalizedAdjacency(grown.adjacency, self.self_loops)
        new = new_nodes.new_nodes(grown, A_tilde, X, self.restart_, self.n_diffusion)
        rows = self.inputs_.rows(self.inputs_.extend(new))
        P = np.concatenate([self.encoder_output_, self.encoder_.predict(rows)])
        labelled = np.concatenate([self.labelled_, np.zeros(n_new, dtype=bool)])
        objective = self._objective(grown, A_tilde, self.Y_, labelled)(P, certainty(P))
        start = np.zeros_like(P)
        start[labelled] = self.Y_
        return self._solvers().last.solve(objective, start).F[-n_new:]

    def _vote_of_neighbours(self, X: Any) -> Array:
        """F of each new row on its own, from its nearest known nodes' F held fixed and its own P.

        F_i = (lambda1 P_i + sum_j a_ij F_j) / (lambda1 + 1): the row of the linear system that belongs to i.
        """
        assert self.neighbours_ is not None
        rows, known = self.neighbours_.edges_of(X)
        n, n_new = self.graph_.n_nodes, X.shape[0]
        if self.plan_.graph_view is not GraphView:  # another view has another row: solve it
            return self._solve_extended(X, (rows + n, known, np.ones(len(rows))))
        degrees = np.bincount(rows, minlength=n_new)[rows] * np.maximum(self.graph_.degrees[known], 1.0)
        ties = sp.csr_array((1.0 / np.sqrt(degrees), (rows, known)), shape=(n_new, n + n_new))
        edges = sp.csr_array((np.ones(len(rows)), (rows, known)), shape=ties.shape)
        new = NewNodes(X, ties, edges, edges, self.restart_, self.n_diffusion)
        P = self.encoder_.predict(self.inputs_.rows(self.inputs_.extend(new)))
        weight = self.plan_.feature_weight
        F = (weight * P + ties[:, :n] @ self.scores_) / (weight + 1.0)
        return np.asarray(F)

    def save(self, path: str | Path) -> None:
        """Store the fitted model in a folder, as safetensors and JSON; an earlier one there is replaced whole."""
        check_is_fitted(self)
        store.save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path, parts: Sequence[type] = ()) -> Self:
        """A model stored by `save`; a damaged, foreign or newer one is refused in words.

        parts : your own classes (views, inputs, encoders) that the model was fitted with; nothing but altopt's
            own is imported on a file's word.
        """
        return store.load(cls, Path(path), parts)

    # the parts, with their defaults

    def _encoder(self) -> Encoder:
        return LinearEncoder() if self.encoder is None else as_encoder(self.encoder)

    def usual_plan(self, n_nodes: int, n_features: int, n_labels: int | None = None) -> Candidate:
        """The parts as given, and where nothing is given, those that serve best without evidence."""
        return Candidate(
            "usual",
            default_inputs(n_nodes, n_features, n_labels) if self.inputs is None else as_inputs(self.inputs),
            self._encoder(),
            USUAL_WEIGHT if self.feature_weight is None else self.feature_weight,
            USUAL_WEIGHT if self.label_weight is None else self.label_weight,
            self.feature_view or FeatureView,
            self.graph_view or GraphView,
            self.label_view or LabelView,
        )

    def _solvers(self) -> Solvers:
        """Who updates F. In the rounds F only has to tell which nodes are how sure; the last one is to 1e-6."""
        if self.solver is not None:
            return Solvers(self.solver, self.solver)
        feature_view = self.feature_view or FeatureView
        views = (feature_view, self.graph_view or GraphView, self.label_view or LabelView)
        if not all(view.quadratic for view in views):
            return Solvers(JacobiSteps(n_steps=20), JacobiSteps(n_steps=200))
        if self.feature_weight != 0 and feature_view.squared:
            return Solvers(ChebyshevSteps(rtol=ROUGH), ChebyshevSteps(rtol=FINE))
        return Solvers(ConjugateGradient(rtol=ROUGH), ConjugateGradient(rtol=FINE))

    def _schedule(self) -> Schedule:
        stop_below = SETTLED if self.n_pseudo is None else None
        if self.n_rounds == "full":
            return Schedule(self.n_warmup, self.n_epochs, 1, self.seed_, stop_below)
        return Schedule(
            self.n_warmup, self.plan_.rounds(self.n_rounds), self.n_epochs, self.seed_, stop_below
        )

    def _reading(self) -> TemperedShares | PseudoLabels:
        """How F is read to the user: as held-out labels ask for, else as the loop reads it."""
        return self._pseudo_labels() if self.temperature_ is None else TemperedShares(self.temperature_)

    def _pseudo_labels(self, in_sizes: bool = False) -> PseudoLabels:
        """The rule that makes pseudo labels out of F; `in_sizes` of the classes for the fit, not where it is judged."""
        rule: PseudoLabels
        if (self.feature_view or FeatureView).needs_confidence:
            rule = ConfidenceThreshold(self.min_confidence)
        elif self.n_pseudo is None:
            rule = ClassBalanced(self.temperature, self.min_confidence)
            if in_sizes:
                label_shares = self.Y_.mean(axis=0)
                trust = prior_trust(len(self.Y_), len(label_shares))
                rule = replace(rule, trust=trust, label_shares=tuple(label_shares.tolist()))
        else:
            rule = TopPerClass(self.n_pseudo, self.temperature, self.min_confidence)
        return NoPseudoLabels(rule) if self.n_pseudo == 0 else rule

    def _objective(
        self, graph: Graph, A_tilde: NormalizedAdjacency, Y: Array, labelled: Array
    ) -> Callable[[Array, Array], Objective]:
        """From P and w to the three views' sum; `graph` is the one that A_tilde is of."""
        return self.plan_.objective(graph, A_tilde, Y, labelled)

    # the door

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

    def _takes_missing(self) -> bool:
        return self._encoder().takes_missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing()
        return tags
