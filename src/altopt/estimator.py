"""AltOpt: the parts assembled into one estimator with scikit-learn's interface."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from altopt.arrays import Array
from altopt.defaults import DEFAULTS, Defaults
from altopt.errors import InputError
from altopt.fitted.fit import OnRound, Progress, fit_model
from altopt.fitted.known import Answers, answers
from altopt.fitted.questions import FittedQuestions
from altopt.fitted.refit import refit
from altopt.fitted.request import Change, NewFeatures
from altopt.fitted.source import features_later, read_source, score
from altopt.fitted.update import update
from altopt.graph.settings import check_settings
from altopt.inputs import Inputs
from altopt.io import store
from altopt.io.codec import Given
from altopt.io.files import as_path
from altopt.io.folder import FILES, kind_of
from altopt.scale.run import fit_paths
from altopt.selection.candidates import Candidate
from altopt.selection.parameters import Parameters
from altopt.solvers import Solver
from altopt.training.paper import Variant, paper_settings


class AltOpt(FittedQuestions, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A label for every node of a graph, from node features, the edges and a few known labels.

    Soft labels F (n x c) are shared by three views, and found together with an encoder, P = encoder(X'):

        minimise over F, encoder:   feature_weight * D_X(P, F)  +  D_A(F)  +  label_weight * D_Y(Y_L, F_L)

    by turns: with P fixed, F solves a sparse linear system; with F fixed, the encoder learns from F. What is
    left at None is chosen from the training labels alone, by holding some of them back; `choice_` says how.

    Parameters
    ----------
    feature_weight, label_weight : float, optional
        lambda1 and lambda2; the graph's weight is 1. Default 2 each, unless held-out labels ask for another.
    restart : float in (0, 1], optional
        Weight of a node's own features in the diffusion that feeds the encoder; 1 means no diffusion. Default 0.2, with
        fewer than 30 labels 0.1.
    n_diffusion : int
        Steps of that diffusion.
    temperature : float
        Of the softmax that turns F into pseudo labels; lower is more certain.
    n_rounds : int or "full"
        How often F is updated and the encoder trained on it; "full" makes n_epochs rounds of one epoch.
    n_warmup, n_epochs : int
        Encoder epochs before the first round, and in each round.
    n_pseudo : int, optional
        The most certain unlabelled nodes per class to train on; None takes all, weighted; 0 takes none.
    min_confidence : float in [0, 1]
        Pseudo labels less certain than this are never trained on.
    encoder : Encoder, scikit-learn classifier, torch module or function (n_inputs, n_classes) -> module, optional
        The classifier must take sample weights. Default a LinearEncoder, regularised as held-out labels ask for.
    inputs : Inputs, optional
        What the encoder reads. Default hops 0, 1 and 2 beside the diffused features, each reduced to its leading
        directions; the latter alone on large graphs; the features alone where the graph does harm.
    solver : Solver, optional
        For F, in every round. Default Chebyshev steps, to 1e-2 in the rounds and 1e-6 at the end; Jacobi steps where a
        view is not quadratic.
    feature_view, graph_view, label_view : View class or ViewSettings, optional
        Default: the squared, Laplacian and squared forms, which make F's problem a linear system.
    cross_fit : bool
        Hold labels out, fold by fold, to choose, to calibrate and to estimate the accuracy. False fits once with the
        default of every part; there is no `leave_one_out_` then.
    self_loops : bool
        An edge from every node to itself, with the mean edge weight.
    n_neighbors : int
        Of the graph that is built from X when none is given.
    classes : array-like, optional
        All classes, when some may have no labelled node.
    class_prior : None, "labels" or dict {class: share}
        Class shares of all nodes: known (labels and probabilities follow them), those of the labels, or None to tell
        from the labels how they were drawn; see `leave_one_out_.draw`.
    random_state : int, RandomState or None
        The same seed gives the same bits. None draws one, recorded as `seed_`.
    defaults : Defaults, optional
        Other numbers of the recipe than altopt.defaults.DEFAULTS, made from it with dataclasses.replace.

    Attributes
    ----------
    transduction_ : ndarray (n_nodes,)
        A label for every node; a labelled node keeps its given label.
    label_distributions_ : ndarray (n_nodes, n_classes)
        Calibrated probabilities, columns as `classes_`.
    scores_, confidence_, reached_, labelled_ : ndarray (n_nodes, ...)
        F; the certainty of each row; whether a node has features or a label in reach; whether its label was given.
    leave_one_out_ : LeaveOneOut
        Honest accuracy with its interval, and what each labelled node would be called without its own label.
    choice_, graph_help_, temperature_ : dict, GraphHelp, float
        Which candidate held-out labels chose and why, what the graph is worth, and the calibration.
    columns_ : list of ColumnReading
        How each column of a table was read; it prints as a table.
    trace_, outcome_ : list of dict, str
        A record of each round, and why the fit stopped.
    fitted_ : FittedModel
        The owner of all of these; :class:`altopt.fitted.attributes.FittedAttributes` lists the others.

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
        class_prior: Any = None,
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
        self.class_prior = class_prior
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
        `diffusion=False` and `pseudo_labels=False` are its ablations. F is updated `n_rounds` times, the paper's k,
        with total_epochs / k epochs of the encoder between two updates; "full" updates it before every epoch. AltOpt's
        own `n_rounds`, which does not count its last update, is then k - 1. Any parameter of AltOpt may be given
        besides.
        """
        chosen = paper_settings(variant, diffusion, pseudo_labels, n_rounds, total_epochs, n_steps)
        return cls(**(chosen | settings))

    def fit(
        self,
        X: Any,
        y: Any = None,
        graph: Any = None,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        *,
        on_round: OnRound | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        memory: str | float | None = None,
    ) -> Self:
        """Find F and the encoder.

        Parameters
        ----------
        X : array, sparse matrix, tensor, table, memory map (n_nodes, n_features), Data or None
            One row of features for each node. The columns of a table may hold numbers, booleans, categories, dates
            and text, and values may be missing: `columns_` says how each was read. A path: a file of such a table,
            with a column node. None: the graph alone. A PyTorch Geometric Data brings X, y (by its train_mask) and
            the graph.
        y : array-like (n_nodes,), dict {node: label}, or Series or table by node id
            Labels; -1, None or NaN where unknown.
        graph : anything that Graph takes, optional
            A dict {kind: graph} for several kinds of edges. None builds a symmetric k-nearest-neighbour graph of X.
        sample_weight : array-like (n_nodes,), optional
            Of labels in the encoder's training and the accuracy; F keeps to each alike, but ignores those of weight 0.
        validation : (nodes, labels), optional
            Used to keep the best round and for nothing else. If it has the same number of nodes in every class it is
            treated as stratified, and accuracy is reweighted to class priors estimated from the confusion matrix.
        on_round : callable, optional
            Called after each round with rounds done, rounds planned and the round's record.
        checkpoint : path, optional
            A folder to store each finished step in: each fit with labels held out, each round. Remove it once the
            model is stored.
        resume : bool
            Go on after the last step that the checkpoint holds, with the same bits as an uninterrupted fit.
        memory : str or float, optional
            Fit on files within so much memory, as in "2GB". X, y and graph are paths of tables, of folders or globs of
            many files; the model comes to lie in the folder `checkpoint` and is read from there: `model_of_files_`.
        """
        check_settings(self.get_params(deep=False))
        folder = None if checkpoint is None else as_path(checkpoint, "checkpoint")
        parameters, self._fitted = self.parameters(), None
        if memory is not None:
            given = {"sample_weight": sample_weight, "validation": validation}
            self.model_of_files_ = fit_paths(parameters, X, y, graph, folder, memory, given, resume)
            return self
        self._checksums: dict[Path, str | None] = {}  # of the folders that hold this model
        source = read_source(self, X, y, graph, sample_weight, validation)
        self._fitted = fit_model(parameters, source, Progress(on_round, folder, resume))
        return self

    def predict_proba(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Class probabilities of nodes, most of all of those that were not part of the fit.

        With the X of the fit, or with ids of the model's nodes, they are those of these nodes, edges included.

        Parameters
        ----------
        X : as in fit (n_new_nodes, n_features)
        edges : pairs or table, optional
            Pairs (row of X, known node id); or a table with source and target, whose ends may also be two new nodes,
            named by `ids`, X's index or row; or a list of both. F is then solved on the whole graph. Without edges, a
            model that built its own graph ties each row to its nearest known nodes; a model fitted on a given graph
            goes by the features alone.
        ids : array-like, optional
            Ids of the nodes.
        """
        return self._answers(X, edges, ids).probabilities

    def predict(self, X: Any, edges: Any = None, *, ids: Any = None) -> Array:
        """Labels of nodes, of a known one the given label where there is one; see predict_proba."""
        return np.asarray(self.classes_[self._answers(X, edges, ids).codes])

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, edges: Any = None, *, ids: Any = None
    ) -> float:
        """The share of right labels among the rows whose label is known in y."""
        return score(self._answers(X, edges, ids).codes, X, y, ids, self.fitted_, sample_weight)

    def _answers(self, X: Any, edges: Any, ids: Any) -> Answers:
        return answers(self.fitted_, *features_later(self, X, ids), edges, named=ids is not None)

    def suspicious_labels(self, all: bool = False) -> list[tuple[Any, Any, Any, float]]:
        """(node, given, suggested, margin) of the labelled nodes that all other evidence outvotes, worst first.

        `all=True`: of every labelled node. The margin is the log of the given class's share of F without the node's
        own label, classes scaled to come out as often as they are given: next to nothing speaks for the first ones.
        """
        held_out = self.fitted_.leave_one_out
        if isinstance(held_out, str):
            raise InputError(f"suspicious_labels {held_out}")
        return held_out.suspicious(outvoted=not all)

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

        Give many at once: a call with a thousand labels costs little more than a call with one.

        Parameters
        ----------
        labels : dict {node: label}, pairs or table with node and label, optional
            -1 or None withdraws a label.
        edges : pairs (source, target), triples with a weight, or table, optional
            Weight 0 removes an edge. {kind: edges} where the graph has several kinds; so in predict.
        nodes, features : list of ids and a row of features for each, optional
            New nodes.
        refresh : bool
            Renew the diffused features and the encoder's output where edges changed. The encoder itself stays as it
            is in any case; without refresh so does its output for the known nodes.
        tolerance : float, optional
            F is pushed on until ||r_k|| <= tolerance sqrt(degree) on every node, r = rhs - H F; the result's
            `error_bound` certifies the distance to a solution from scratch. Default: 1e-9 up to 20,000 nodes, 1e-4 on
            larger graphs.

        Wrong input is refused as a whole, and the model stays as it was; so it does after Ctrl-C. Threads may update
        and read one model at once: they take turns. `temperature_`, `choice_` and `graph_help_`
        stay those of the fit; `leave_one_out_` is out of date after an update, until the next fit.
        """
        none = features is None and (nodes is None or self.fitted_.has_features)
        new = None if none else NewFeatures(*features_later(self, features, nodes))
        return update(self.fitted_, labels, edges, nodes, new, refresh, tolerance, store=True)

    def what_if(self, labels: Any, *, tolerance: float | None = None) -> Change:
        """What `update` would do with these labels; nothing is stored."""
        return update(self.fitted_, labels, None, None, None, False, tolerance, store=False)

    def refit(self, *, on_round: OnRound | None = None) -> Self:
        """Let the encoder learn from the labels that updates brought, and judge the model anew; X is not needed.

        The parts and settings that the fit chose are fitted again on the inputs that the model keeps, with every label
        it has. `leave_one_out_`, the calibration and suspicious labels are up to date then; `choice_` and `graph_help_`
        stay those of the fit, which alone chooses anew. Sample weights and validation labels of the fit are not kept
        and play no part.
        """
        self._fitted = refit(self.parameters(), self.fitted_, on_round)
        return self

    def save(self, path: str | Path) -> None:
        """Store the fitted model in a folder, as safetensors and JSON; an earlier one there is replaced whole.

        Other files in the folder stay as they are, and a folder that holds no model of altopt but other files is
        refused. So is the folder that this model was loaded from or stored in, where another process has stored
        something since: load it again and repeat the update. A symbolic link is followed.
        """
        fitted, path = self.fitted_, as_path(path, "path")
        columns, known, place = list(getattr(self, "feature_names_in_", [])), self._checksums, path.resolve()
        stored = store.Stored(self.get_params(deep=False), columns, fitted, known.get(place))
        known[place] = store.save(stored, path)

    @classmethod
    def load(cls, path: str | Path, parts: Sequence[type] = (), *, encoder: Any = None) -> Self:
        """A model stored by `save`; a damaged, foreign or newer one is refused in words.

        `parts` are your own classes (views, inputs, encoders) that the model was fitted with, and `encoder` your own
        torch module or the function that makes it: nothing but altopt's own is loaded because a file names it.
        A model that was fitted with --memory comes as a StoredModel, which has these methods and reads from disk.
        """
        if kind_of(as_path(path, "path")) == FILES:
            from altopt.scale.stored import StoredModel

            return cast(Self, StoredModel.load(Path(path)))
        stored = store.load(as_path(path, "path"), Given(parts, encoder))
        if set(stored.parameters) != set(cls().get_params(deep=False)):
            raise InputError(f"{path} has other parameters than {cls.__name__}. Fit and save again.")
        model = cls(**stored.parameters)
        model._fitted = stored.fitted
        model._checksums = {Path(path).resolve(): stored.checksum}
        reader = stored.fitted.reader
        n_columns = stored.fitted.n_features if reader is None else len(reader.columns)
        model.n_features_in_ = n_columns if stored.fitted.has_features else 0
        if stored.columns:
            model.feature_names_in_ = np.array(stored.columns, dtype=object)
        return model

    def parameters(self) -> Parameters:
        """The parameters as a record that resolves them to parts."""
        return Parameters(**self.get_params(deep=False))

    def default_candidate(self, n_nodes: int, n_features: int, n_labels: int | None = None) -> Candidate:
        """The parts as given, and where nothing is given, those that serve best without evidence."""
        return self.parameters().default_candidate(n_nodes, n_features, n_labels)

    def _takes_missing(self) -> bool:
        return self.parameters().resolved_encoder().takes_missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._takes_missing()
        return tags
