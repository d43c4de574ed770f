"""The classes of scikit-learn and LightGBM that a stored classifier may consist of: nothing else is ever made."""

from functools import cache
from importlib import import_module

from altopt.errors import InputError

MODULES = {
    "lightgbm": "LGBMClassifier",
    "sklearn.calibration": "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.dummy": "DummyClassifier",
    "sklearn.ensemble": """
        AdaBoostClassifier BaggingClassifier ExtraTreesClassifier GradientBoostingClassifier
        HistGradientBoostingClassifier RandomForestClassifier StackingClassifier VotingClassifier
    """,
    "sklearn.ensemble._hist_gradient_boosting.binning": "_BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor": "TreePredictor",
    "sklearn.feature_selection": "VarianceThreshold",
    "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
    "sklearn.isotonic": "IsotonicRegression",
    "sklearn.linear_model": "LogisticRegression LogisticRegressionCV SGDClassifier",
    "sklearn.naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.neural_network": "MLPClassifier",
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.preprocessing": """
        FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler Normalizer
        OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer RobustScaler
        StandardScaler
    """,
    "sklearn.svm": "LinearSVC NuSVC SVC",
    "sklearn.tree": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier",
}
MODULE_OF = {name: module for module, names in MODULES.items() for name in names.split()}

LOSSES = {"HalfBinomialLoss": False, "ExponentialLoss": False, "HalfMultinomialLoss": True}  # takes n_classes
LOSS_MODULE = "sklearn._loss.loss"

# of these only training makes use, and training begins anew
FOR_TRAINING = {
    ("numpy.random.mtrand", "RandomState"),
    ("numpy.random._generator", "Generator"),
    ("sklearn._loss._loss", "CyHalfBinomialLoss"),
    ("sklearn.metrics._scorer", "_PassthroughScorer"),
    ("sklearn.metrics._scorer", "_Scorer"),
    ("sklearn.metrics._scorer", "_MultimetricScorer"),
    ("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer"),
    ("sklearn.neural_network._stochastic_optimizers", "SGDOptimizer"),
}


@cache
def class_of(name: str) -> type:
    """The class of this name in the table."""
    if name not in MODULE_OF:
        raise InputError(f"{name} is not among the scikit-learn classes that are loaded")
    found = getattr(import_module(MODULE_OF[name]), name)
    assert isinstance(found, type)
    return found


def is_known(kind: type) -> bool:
    return kind.__name__ in MODULE_OF and class_of(kind.__name__) is kind


def loss_of(name: str, n_classes: int) -> object:
    """A loss of gradient boosting, made anew."""
    if name not in LOSSES:
        raise InputError(f"{name} is not a loss that is loaded")
    loss: object = getattr(import_module(LOSS_MODULE), name)(
        **({"n_classes": n_classes} if LOSSES[name] else {})
    )
    return loss
