"""Trees as encoders of candidates: a forest of randomised ones, and boosted ones."""

from altopt.defaults import DEFAULTS, Defaults
from altopt.encoders import TabularEncoder


def forest(n_trees: int, defaults: Defaults = DEFAULTS) -> TabularEncoder:
    """Extremely randomised trees: few labels, many inputs, hardly anything to tune."""
    from sklearn.ensemble import ExtraTreesClassifier  # loaded where it is wanted

    return TabularEncoder(
        ExtraTreesClassifier(
            n_estimators=n_trees,
            min_samples_leaf=defaults.forest_leaf,
            max_features=defaults.forest_features,
        )
    )


def boosted_trees(defaults: Defaults = DEFAULTS, max_features: float | None = None) -> TabularEncoder:
    """Gradient boosting on histograms."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return TabularEncoder(
        HistGradientBoostingClassifier(
            max_iter=defaults.n_trees,
            max_leaf_nodes=defaults.boosting_leaves,
            max_features=defaults.forest_features if max_features is None else max_features,
            early_stopping=False,
        )
    )
