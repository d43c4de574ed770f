"""What compiled code reads of a stored classifier without looking: checked before it may."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.tree._tree import NODE_DTYPE, Tree

from altopt.arrays import Array
from altopt.errors import InputError

KERNELS = ("linear", "poly", "rbf", "sigmoid")
BITSET_WORDS = 8  # of 32 bits: the categories 0 to 255


def require(holds: Any, what: str) -> None:
    if not holds:
        raise InputError(what)


def whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def records(data: Array, dtype: np.dtype[Any]) -> Array:
    """Bytes as aligned records of a dtype."""
    fits = data.dtype == np.uint8 and data.size > 0 and data.size % dtype.itemsize == 0
    require(fits, "the nodes of a tree are not of this scikit-learn")
    return np.frombuffer(data.tobytes(), dtype=dtype).copy()


def refuse_bad_children(left: Array, right: Array, split: Array) -> None:
    """Children stand behind their parents and inside the tree, so that every walk ends at a leaf."""
    own, n = np.arange(len(left)), len(left)
    for child in (left.astype(np.int64), right.astype(np.int64)):
        inside = (child > own) & (child < n)
        require(inside[split].all(), "a tree has children outside of it")


def tree_of(nodes: Array, values: Array, n_features: Any, max_depth: Any) -> Tree:
    """A decision tree with one output."""
    require(whole(n_features) and 0 < n_features < 2**31, "a tree has no number of features")
    require(whole(max_depth) and 0 <= max_depth < 2**31, "a tree has no depth")
    nodes = records(nodes, NODE_DTYPE)
    n = len(nodes)
    require(values.dtype == np.float64 and values.ndim == 3, "the values of a tree are not numbers")
    require(values.shape[:2] == (n, 1) and values.shape[2] > 0, "a tree has not one value for each node")
    require(np.isfinite(values).all(), "the values of a tree are not finite")
    split = nodes["left_child"] != -1
    require((nodes["right_child"][~split] == -1).all(), "a leaf of a tree has a child")
    refuse_bad_children(nodes["left_child"], nodes["right_child"], split)
    feature = nodes["feature"][split]
    require(((feature >= 0) & (feature < n_features)).all(), "a tree asks for features that are not there")
    require(not np.isnan(nodes["threshold"][split]).any(), "a threshold of a tree is not a number")
    made = Tree(int(n_features), np.array([values.shape[2]], dtype=np.intp), 1)
    state = {
        "max_depth": int(max_depth),
        "node_count": n,
        "nodes": nodes,
        "values": np.ascontiguousarray(values),
    }
    made.__setstate__(state)
    return made


def check_tree(state: dict[str, Any]) -> None:
    """DecisionTreeClassifier and its kin."""
    if "tree_" in state:
        tree = state["tree_"]
        require(type(tree) is Tree, "a decision tree is none")
        require(whole(state.get("n_features_in_")), "a decision tree has no number of features")
        require(tree.n_features == state["n_features_in_"], "a decision tree reads other features")


def trees_in(estimators: Any, n_features: Any) -> list[Tree]:
    """The trees of an ensemble that hands them its rows unchecked."""
    require(whole(n_features), "an ensemble of trees has no number of features")
    trees = [vars(one).get("tree_") for one in estimators]
    require(all(type(tree) is Tree for tree in trees), "an ensemble of trees holds something else")
    require(all(tree.n_features == n_features for tree in trees), "trees of an ensemble read other features")
    return trees


def check_forest(state: dict[str, Any]) -> None:
    if "estimators_" in state:
        require(type(state["estimators_"]) is list, "a forest has no list of trees")
        trees = trees_in(state["estimators_"], state.get("n_features_in_"))
        require(len(trees) > 0, "a forest has no trees")


def check_boosting(state: dict[str, Any]) -> None:
    """GradientBoostingClassifier: compiled code adds the trees' values to one column for each class."""
    if "estimators_" not in state:
        return
    grid, n_classes = state["estimators_"], state["n_classes_"]
    require(whole(n_classes) and n_classes >= 2, "boosted trees have no number of classes")
    width = 1 if n_classes == 2 else int(n_classes)
    require(isinstance(grid, np.ndarray) and grid.dtype == object, "boosted trees are no table")
    require(grid.ndim == 2 and grid.shape[1] == width, "boosted trees are not one for each class")
    trees = trees_in(grid.ravel(), state.get("n_features_in_"))
    require(all(tree.max_n_classes == 1 for tree in trees), "a boosted tree has more than one value")
    require(state.get("n_trees_per_iteration_") == width, "boosted trees are not one for each class")
    loss = state["_loss"]
    right = "HalfMultinomialLoss" if width > 1 else ("HalfBinomialLoss", "ExponentialLoss")
    require(type(loss).__name__ in right, "boosted trees have another loss")
    require(width == 1 or loss.n_classes == width, "boosted trees have another loss")
    first = state.get("init_")
    if isinstance(first, str) and first == "zero":
        return
    require(type(first).__name__ == "DummyClassifier", "boosted trees start from something else")
    prior = vars(first).get("class_prior_")
    require(vars(first).get("strategy") == "prior", "boosted trees start from something else")
    require(isinstance(prior, np.ndarray) and prior.shape == (n_classes,), "boosted trees have no priors")


def check_predictor(state: dict[str, Any]) -> None:
    """A tree of HistGradientBoostingClassifier; its bytes become records."""
    nodes = state["nodes"] = records(state["nodes"], np.dtype(PREDICTOR_RECORD_DTYPE))
    require(np.isfinite(nodes["value"]).all(), "a value of a tree is not finite")
    split = nodes["is_leaf"] == 0
    refuse_bad_children(nodes["left"], nodes["right"], split)
    for name in ("binned_left_cat_bitsets", "raw_left_cat_bitsets"):
        sets = state[name]
        right = isinstance(sets, np.ndarray) and sets.dtype == np.uint32 and sets.ndim == 2
        require(right and sets.shape[1] == BITSET_WORDS, "the categories of a tree are wrong")
        state[name] = np.ascontiguousarray(sets)
    by_category = split & (nodes["is_categorical"] != 0)
    n_sets = len(state["raw_left_cat_bitsets"])
    require(
        (nodes["bitset_idx"][by_category] < n_sets).all(), "a tree asks for categories that are not there"
    )


def check_hist_boosting(state: dict[str, Any]) -> None:
    if "_predictors" not in state:
        return
    n_features = state["n_features_in_"]
    require(whole(n_features), "boosted trees have no number of features")
    for predictor in [one for stage in state["_predictors"] for one in stage]:
        require(type(predictor).__name__ == "TreePredictor", "boosted trees hold something else")
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        inside = (nodes["feature_idx"] >= 0) & (nodes["feature_idx"] < n_features)
        require(inside.all(), "a tree asks for features that are not there")
    mapper = state.get("_bin_mapper")
    require(type(mapper).__name__ == "_BinMapper", "boosted trees have no bins")
    is_categorical, thresholds = vars(mapper)["is_categorical_"], vars(mapper)["bin_thresholds_"]
    right = isinstance(is_categorical, np.ndarray) and is_categorical.shape == (n_features,)
    require(right and len(thresholds) == n_features, "boosted trees have bins of other features")
    for categories in (thresholds[column] for column in np.flatnonzero(is_categorical)):
        known = isinstance(categories, np.ndarray) and categories.ndim == 1 and categories.dtype.kind in "iuf"
        require(known and ((categories >= 0) & (categories < 32 * BITSET_WORDS)).all(), "a category is wrong")
    check_preprocessor(state.get("_preprocessor"), int(n_features))


def check_preprocessor(preprocessor: Any, n_features: int) -> None:
    """What numbers the categories hands on as many columns as it takes."""
    if preprocessor is None:
        return
    require(type(preprocessor).__name__ == "ColumnTransformer", "categories are numbered by something else")
    require(
        vars(preprocessor).get("n_features_in_") == n_features, "categories are numbered for other features"
    )
    columns = []
    for _, step, chosen in vars(preprocessor)["transformers_"]:
        if isinstance(step, str) and step == "drop":
            continue
        plain = type(step).__name__ == "FunctionTransformer" and vars(step).get("kw_args") is None
        require(plain or type(step).__name__ == "OrdinalEncoder", "categories are numbered by something else")
        columns.append(np.arange(n_features)[chosen])
    require(
        sorted(np.concatenate(columns).tolist()) == list(range(n_features)), "columns are lost or doubled"
    )


def check_svc(state: dict[str, Any]) -> None:
    """libsvm trusts the sizes that its model states."""
    require(state.get("kernel") in KERNELS, "a support vector machine has a kernel of its own")
    if "support_vectors_" not in state:
        return
    n_support, vectors = state["_n_support"], state["support_vectors_"]
    k, n = len(n_support), vectors.shape[0]
    require(
        isinstance(n_support, np.ndarray) and n_support.dtype == np.int32, "support vectors are not counted"
    )
    require((n_support >= 0).all() and int(n_support.sum()) == n, "support vectors are miscounted")
    require(k >= 2 and len(state["classes_"]) == k, "support vectors are of other classes")
    require(len(state["support_"]) == n, "support vectors are miscounted")
    require(vectors.shape == (n, state.get("n_features_in_")), "support vectors have other features")
    for name in ("_dual_coef_", "dual_coef_"):
        require(state[name].shape == (k - 1, n), "support vectors have other coefficients")
    pairs = k * (k - 1) // 2
    for name in ("_intercept_", "intercept_"):
        require(state[name].shape == (pairs,), "support vectors have other intercepts")
    for name in ("_probA", "_probB"):
        require(state[name].shape in ((0,), (pairs,)), "support vectors have other probabilities")
    require(state["_probA"].shape == state["_probB"].shape, "support vectors have other probabilities")


OTHER_PARAMS = """
    verbose verbosity deterministic force_row_wise force_col_wise max_bin min_data_in_bin cat_smooth cat_l2
    max_cat_threshold max_cat_to_onehot extra_trees path_smooth seed bagging_seed feature_fraction_seed
""".split()  # noqa: SIM905


def check_lightgbm(state: dict[str, Any]) -> None:
    others = state.get("_other_params", {})
    require(isinstance(others, dict) and set(others) <= set(OTHER_PARAMS), "LightGBM has unknown parameters")
    if state.get("_Booster") is not None:
        booster = state["_Booster"]
        require(type(booster).__name__ == "Booster", "LightGBM's trees are something else")
        n_features = booster.num_feature()
        same = state.get("_n_features") == n_features == state.get("_n_features_in")
        require(same, "LightGBM's trees read other features")


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "DecisionTreeClassifier": check_tree,
    "DecisionTreeRegressor": check_tree,
    "ExtraTreeClassifier": check_tree,
    "ExtraTreesClassifier": check_forest,
    "RandomForestClassifier": check_forest,
    "GradientBoostingClassifier": check_boosting,
    "TreePredictor": check_predictor,
    "HistGradientBoostingClassifier": check_hist_boosting,
    "SVC": check_svc,
    "NuSVC": check_svc,
    "LGBMClassifier": check_lightgbm,
}
