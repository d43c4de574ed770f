"""LightGBM's trees as text: written by it, and read by it only after every line has been understood."""

import re
from importlib import import_module
from typing import Any

import numpy as np

from altopt.encoders.scikit.checks import require

END = b"end of trees"
HEAD = """
    version num_class num_tree_per_iteration label_index max_feature_idx objective feature_names feature_infos
    tree_sizes
""".split()  # noqa: SIM905
PER_SPLIT = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
ALSO_PER_SPLIT = ("internal_value", "internal_weight", "internal_count")
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
CATEGORIES = ("cat_boundaries", "cat_threshold")
NUMBERS = ("num_leaves", "num_cat", "is_linear", "shrinkage")
CATEGORICAL = 1  # the bit of decision_type


def stored_text(booster: Any) -> bytes:
    """All trees, without the parameters that stand behind them."""
    text: bytes = booster.model_to_string(num_iteration=-1).encode()
    require(END in text, "LightGBM's trees, whose text has no end")
    return text[: text.index(END)] + END + b"\n"


def booster_of(text: bytes, best_iteration: int) -> Any:
    refuse_bad_text(text)
    booster = import_module("lightgbm").Booster(model_str=text.decode("ascii"))
    booster.best_iteration = best_iteration
    return booster


def refuse_bad_text(text: bytes) -> None:
    """Every line is one that LightGBM writes, and every number inside its range."""
    head_text, _, rest = text.partition(b"\n\n")
    lines = head_text.decode("ascii").split("\n")
    require(lines[0] == "tree", "LightGBM's trees begin otherwise")
    head = fields(lines[1:], HEAD)
    require(set(head) == set(HEAD), "LightGBM's head lacks a line")
    n_features, n_classes = int(head["max_feature_idx"]) + 1, int(head["num_class"])
    require(head["version"] == "v4" or head["version"] == "v3", "LightGBM's trees have another version")
    require(
        int(head["num_tree_per_iteration"]) == n_classes > 0, "LightGBM's trees are not one for each class"
    )
    objective = "binary sigmoid:1" if n_classes == 1 else f"multiclass num_class:{n_classes}"
    require(head["objective"] == objective, "LightGBM's trees have another objective")
    for name in ("feature_names", "feature_infos"):
        require(len(head[name].split(" ")) == n_features, f"LightGBM's {name} are of other features")
    sizes = [int(size) for size in head["tree_sizes"].split()]
    require(
        all(size > 0 for size in sizes) and len(sizes) % n_classes == 0, "LightGBM's trees are miscounted"
    )
    require(rest[sum(sizes) :] == END + b"\n", "LightGBM's trees have other sizes")
    begin = 0
    for index, size in enumerate(sizes):
        block = rest[begin : begin + size].decode("ascii")
        begin += size
        require(
            block.startswith(f"Tree={index}\n") and block.endswith("\n\n\n"),
            "LightGBM's trees have other sizes",
        )
        refuse_bad_tree(block.rstrip("\n").split("\n")[1:], n_features)


def fields(lines: list[str], known: list[str]) -> dict[str, str]:
    held: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        require(equals and name in known and name not in held, f"LightGBM's text has a line {line[:40]!r}")
        require(re.fullmatch(r"[\x21-\x7e]*( [\x21-\x7e]+)*", value), f"LightGBM's {name} is not plain")
        held[name] = value
    return held


def refuse_bad_tree(lines: list[str], n_features: int) -> None:
    known = [*PER_SPLIT, *ALSO_PER_SPLIT, *PER_LEAF, *CATEGORIES, *NUMBERS]
    held = {name: np.array(value.split(), dtype=np.float64) for name, value in fields(lines, known).items()}
    require(all(held[name].shape == (1,) for name in NUMBERS), "a tree of LightGBM lacks a number")
    n_leaves, n_cat = int(held["num_leaves"][0]), int(held["num_cat"][0])
    require(n_leaves >= 1 and held["is_linear"][0] == 0, "a tree of LightGBM has no leaves")
    require(held["leaf_value"].shape == (n_leaves,), "a tree of LightGBM has other leaves")
    require(np.isfinite(held["leaf_value"]).all(), "a leaf of LightGBM is not finite")
    if n_leaves == 1:
        require(n_cat == 0, "a tree of LightGBM has categories without splits")
    for name in (*PER_SPLIT, *ALSO_PER_SPLIT, *PER_LEAF):
        size = n_leaves if name in PER_LEAF else n_leaves - 1
        empty = n_leaves == 1 and name != "leaf_value" and held.get(name, np.empty(0)).size in (0, 1)
        require(empty or held[name].shape == (size,), f"a tree of LightGBM has another {name}")
    if n_leaves > 1:
        refuse_bad_splits(
            {name: held[name] for name in (*PER_SPLIT, *CATEGORIES) if name in held}, n_cat, n_features
        )


def refuse_bad_splits(held: dict[str, Any], n_cat: int, n_features: int) -> None:
    n = len(held["split_feature"])
    feature, own = held["split_feature"], np.arange(n)
    require(((feature >= 0) & (feature < n_features)).all(), "LightGBM asks for features that are not there")
    for name in ("left_child", "right_child"):
        child = held[name]
        fits = np.where(child >= 0, (child > own) & (child < n), child >= -(n + 1))
        require(fits.all(), "a tree of LightGBM has children outside of it")
    require(
        ((held["decision_type"] >= 0) & (held["decision_type"] < 16)).all(), "LightGBM decides in another way"
    )
    by_category = (held["decision_type"].astype(int) & CATEGORICAL) == 1
    threshold = held["threshold"][by_category]
    require(((threshold >= 0) & (threshold < n_cat)).all(), "LightGBM asks for categories that are not there")
    require((n_cat > 0) == ("cat_boundaries" in held), "LightGBM's categories are wrong")
    if n_cat:
        ends, sets = held["cat_boundaries"], held["cat_threshold"]
        right = ends.shape == (n_cat + 1,) and ends[0] == 0 and (np.diff(ends) >= 0).all()
        require(right and ends[-1] == len(sets), "LightGBM's categories are wrong")
        require(((sets >= 0) & (sets < 2**32)).all(), "LightGBM's categories are wrong")
