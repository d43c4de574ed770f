"""Every number of the recipe that AltOpt follows by default: what it is, why it is so, and where that was found.

`python -m altopt.defaults` prints docs/defaults.md. Limits of memory and time that do not change an answer stand
beside the code they limit.
"""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from altopt.errors import InputError

HAND = "Set by hand."
TIME = "Bounds the time of a fit; set by hand."
MEMORY = "Bounds the memory of a fit; set by hand."
SEARCH = "Found by search on splits 200 and up of the benchmark graphs, which are not reported"
PRIORS = f"{SEARCH}, for estimated class priors as a whole (commits 589bb82 and 7417d0e)."
PROTOTYPE = "From a prototype."
HETEROPHILY = (
    "Found by search on validation nodes of the two heterophilous graphs without duplicates, some of them test nodes "
    "of other splits (docs/results.md, Heterophilous graphs; commits e8c8ccb and 31cb147)."
)

FIT, PARAMETER = "AltOpt(defaults=...)", "a parameter of AltOpt"
PART, CONSTANT = "a setting of a part", "a constant of the code"


def number(value: Any, what: str, why: str, set_by: str = FIT) -> Any:
    """A field of Defaults with its provenance; `set_by` is where another value is given."""
    return field(default=value, metadata={"what": what, "why": why, "set_by": set_by})


@dataclass(frozen=True)
class Defaults:
    """The numbers of the recipe.

    Each field carries `what`, `why` and `set_by` in its metadata. `AltOpt(defaults=...)` takes another instance;
    a number that is a parameter of AltOpt or a setting of a part such as `KernelEncoder` is given there instead, and a
    few are constants of the code.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(DEFAULTS, n_folds=5).n_folds
    5
    """

    # the loop
    n_rounds: int = number(5, "rounds of (update F, train the encoder)", "As in AltOpt.paper.", PARAMETER)
    n_diffusion: int = number(10, "steps of the diffusion of X", HAND, PARAMETER)
    n_warmup: int = number(40, "encoder epochs before the first round", HAND, PARAMETER)
    n_epochs: int = number(40, "encoder epochs in each round", HAND, PARAMETER)
    n_neighbors: int = number(10, "neighbours in the graph built from X", HAND, PARAMETER)
    temperature: float = number(0.2, "temperature of the softmax that makes pseudo labels", HAND, PARAMETER)
    view_weight: float = number(2.0, "feature_weight and label_weight; the graph's weight is 1", HAND)
    restart: float = number(
        0.2,
        "restart of the diffusion with `few_labels` labels or more",
        f"{SEARCH}, and of three tables of scikit-learn; 0.3 was tried and not taken (commit e9197dc).",
    )
    restart_few: float = number(
        0.1,
        "restart of the diffusion with fewer labels",
        f"With few labels what neighbours share counts for more. {SEARCH} (commit e9197dc).",
    )
    few_labels: int = number(30, "labels from which `restart` holds", f"{SEARCH} (commit e9197dc).")
    stop_when_changed_below: float = number(0.001, "share of changed labels at which the rounds end", HAND)
    rtol_rounds: float = number(
        1e-2,
        "relative error of F in the rounds",
        "There F only selects and weights pseudo labels.",
    )
    rtol_last: float = number(
        1e-6, "relative error of the last F", "Below what any answer shows: scores agree to six digits."
    )
    jacobi_rounds: int = number(20, "Jacobi steps in the rounds, for views that are not quadratic", HAND)
    jacobi_last: int = number(200, "Jacobi steps of the last update, for views that are not quadratic", HAND)

    # pseudo labels
    pseudo_times_labelled: float = number(5.0, "total weight of pseudo labels, in given labels", HAND)
    pseudo_limit: int = number(
        6000,
        "pseudo labels in a round; a quarter of that in a fit without a fold",
        "The encoder needs a spread of nodes, not every one.",
    )
    certainty_exponent: int = number(2, "power of the certainty w that weights a pseudo label", HAND)

    # class priors
    prior_labels: int = number(
        10,
        "labels a class from which estimated priors are trusted fully",
        f"With fewer they are held back. {PRIORS}",
    )
    prior_trust_exponent: int = number(2, "power of the trust below that number", PRIORS)
    prior_sample: int = number(5000, "rows of F that priors are estimated from", TIME)
    prior_strength: float = number(
        0.3, "weight of the shares of largest entries in EM, all rows together 1", PRIORS
    )
    prior_confidence: float = number(
        0.85,
        "mean confidence to which rows are sharpened before EM",
        f"From vague rows EM finds one class with nearly all nodes. {PRIORS}",
    )
    prior_max_factor: float = number(
        1.6, "largest column factor of F; the smallest is one over it", f"Was 4.0 before 7417d0e. {PRIORS}"
    )
    prior_factor_steps: int = number(20, "steps of the search for column factors", TIME)
    confusion_count: float = number(
        0.5,
        "pseudo-count of each pair of classes in the confusion matrix of validation nodes",
        "Jeffreys' prior.",
    )
    confusion_steps: int = number(
        3,
        "EM steps from uniform priors to those behind the confusion matrix",
        "More steps follow the chance in which nodes were drawn. The number was set by hand (commit e915ce4).",
    )

    # what the encoder reads, and how tight it is
    hops: tuple[int, ...] = number((0, 1, 2), "hops that the encoder reads", HAND)
    hop_components: int = number(128, "leading directions of each hop", HAND)
    directions_per_label: int = number(
        2,
        "leading directions of each hop for a label",
        "Few labels cannot tell more apart: +10 points on one benchmark graph with one label a class, +1.5 on another "
        f"with five, nothing lost on average. {SEARCH} (commit f26ab7a).",
    )
    min_directions: int = number(16, "least leading directions of each hop", f"{SEARCH} (commit f26ab7a).")
    diffused_directions: int = number(
        2, "leading directions of the diffused features, for one of each hop", f"{SEARCH} (commit f26ab7a)."
    )
    embedding_directions: int = number(
        54,
        "width of the spectral embedding of the graph, from its walks of two steps",
        "With the range finder's margin one panel of 64 columns; by hand.",
    )
    hop_limit: int = number(
        40_000_000,
        "numbers in the encoder's inputs up to which hops are read, and of diffused features that float32 keeps",
        MEMORY,
    )
    row_exponent: float = number(
        0.5, "power of its length by which a row, or a row of a block, is divided", HAND, PART
    )
    n_power: int = number(
        2,
        "power iterations for leading directions",
        "Fewer were tried and not taken (docs/results.md).",
        PART,
    )
    zero_share: float = number(
        0.1,
        "share of zeros from which a column without negative numbers is a count",
        "Half made measurements of common words and lost 0.4 points (Photo, rows of equal sums); by hand.",
        CONSTANT,
    )
    peer_ratio: float = number(
        30.0,
        "ratio to the typical size of such columns up to which a column is a count",
        "Words of the benchmark graphs differ by less than 10; by hand.",
        CONSTANT,
    )
    tame_from: float = number(
        3.0, "standard deviations from which a measurement counts by its logarithm", HAND, CONSTANT
    )
    shared_share: float = number(
        0.2,
        "share of the mean of what columns share at which a column of a table has half its weight",
        "0.15 and 0.3 were tried on six generated and four real tables: within 1 point but for one of each.",
        CONSTANT,
    )
    start_frequency: float = number(
        3.0, "frequency of the cosines that seed directions of the adjacency", HAND, CONSTANT
    )
    C: float = number(
        20.0,
        "C of the linear encoder for inputs of effective rank `C_rank`",
        f"The best C fell with the effective rank, and one rule served all. {SEARCH}, and of three tables of "
        "scikit-learn (commit e9197dc).",
        CONSTANT,
    )
    C_rank: float = number(35.0, "effective rank for which `C` holds", "As `C`.", CONSTANT)
    C_exponent: float = number(1.5, "power of the effective rank with which C falls", "As `C`.", CONSTANT)
    C_max: float = number(40.0, "largest C", "As `C`.", CONSTANT)
    C_sample: int = number(1000, "rows from which the effective rank is estimated", TIME, CONSTANT)
    sharpness: float = number(
        2.0,
        "factor of the logits before the softmax",
        "L2 shrinks logits.",
        PART,
    )
    encoder_tolerance: float = number(1e-4, "relative fall of the loss at which L-BFGS ends", TIME, PART)
    label_share_prior: float = number(
        2.0, "labels of all classes that a share among a node's neighbours starts from", HAND, CONSTANT
    )
    kernel_gamma: float = number(3.0, "gamma of the kernel exp(gamma (cos - 1))", HAND)
    kernel_ridge: float = number(0.1, "ridge of the kernel encoder, on adjacency rows alone", HAND)
    kernel_rows: int = number(
        4000,
        "training rows up to which the kernel solution is exact; above, half as many landmarks",
        TIME,
        PART,
    )

    # candidates
    weight_factors: tuple[float, float] = number((0.25, 4.0), "factors of the views' weights tried", HAND)
    kernel_limit: int = number(20_000_000, "nodes times labels up to which kernels are candidates", TIME)
    linear_C: float = number(30.0, "C of linear candidates without smoothing", HAND)
    ties_share: float = number(
        0.8,
        "share of ties in the rows of `ties before features`; `ties and features` has the rest of C",
        "Two social networks ask for different weights of ties, and both are tried; by hand.",
    )
    forest_labels: int = number(100, "labels from which a forest is grown", HAND)
    boosting_labels: int = number(
        500,
        "labels for each pair of classes from which trees are boosted instead",
        "With many labels boosted trees do better than a forest in half the time; where that begins, by hand.",
    )
    n_trees: int = number(
        60,
        "trees for each class in a boosted sum, and of a forest without a fold of the labels",
        "50 to 100 boosted ones did as well on validation nodes of Tolokers.",
    )
    forest_trees: int = number(
        200,
        "trees of a forest that is taken",
        "The mean of more trees is never worse, and what 60 say changes from seed to seed.",
    )
    boosting_leaves: int = number(
        15, "leaves of such a tree", "31 lost 0.1 points on validation nodes of Tolokers."
    )
    tree_columns: int = number(
        32,
        "columns of X up to which trees read them as they are; of more, so many leading directions of each hop",
        HETEROPHILY,
    )
    forest_leaf: int = number(2, "least nodes in a leaf", HETEROPHILY)
    forest_features: float = number(0.3, "share of the inputs tried at a split", HAND)

    # comparison and cross-fitting
    n_folds: int = number(3, "folds of held-out labels", PROTOTYPE)
    choosing_labels: int = number(
        2000,
        "labels from which one fold decides; three times as many choose, at most",
        PROTOTYPE,
    )
    usual_lead: float = number(
        5.0,
        "fall of the summed log loss by which another candidate must win",
        f"What a handful of labels can say by chance. {PROTOTYPE}",
    )
    min_z: float = number(
        2.0,
        "standard errors by which a candidate must win, or be dropped",
        "One in forty by chance. Set by hand.",
    )
    edge_chance: float = number(
        3.0,
        "standard errors up to which edges may join what is alike by chance",
        "One in 370 by chance: what is taken for noise is not smoothed along. Set by hand.",
    )
    weak_ties: float = number(
        0.2,
        "share of edges that join what is alike, above chance, which that test must be able to see",
        "Few edges cannot tell noise from weak ties. Set by hand.",
    )
    cut_odds: float = number(
        6.0,
        "log odds of a labelling for each e-fold of fewer edges cut, in a graph built from X",
        f"The cluster assumption must not decide alone. {PROTOTYPE}",
    )
    max_cut_odds: float = number(8.0, "largest such log odds", "As `cut_odds`.")
    least_cut: float = number(0.01, "share of edges added to those cut", "As `cut_odds`.")
    clamped_feature_weight: float = number(
        1e-4,
        "feature_weight of the graph alone: what answers where no label reaches",
        "A cluster's features must not outvote one label: 0.001 costs two moons 0.6 points (splits 900 to 909).",
    )
    clamped_label_weight: float = number(100.0, "label_weight of the graph alone: labels held fast", HAND)
    mixture_weight: float = number(0.1, "least weight of a part of a mixture, or of a kind of edges", HAND)
    fold_rounds: int = number(2, "rounds of a fit without a fold", TIME)
    large: int = number(5_000_000, "numbers of F from which candidates are not compared", TIME)

    # leave-one-out
    exact_labels: int = number(2000, "labelled nodes whose inverse diagonal is solved for", TIME)
    exact_work: float = number(4e7, "nodes times such labels; above, fewer labels", TIME)
    exact_min: int = number(200, "such labels at the least", TIME)
    exact_rtol: float = number(
        1e-3,
        "relative error of the inverse diagonal that needs no solve, and of these solves",
        "Far below what a label more or less moves; a solve's own error in the diagonal is its square.",
    )

    # the estimated accuracy
    variance_at_random: float = number(
        1.3,
        "variance of the rate of held-out hits, in binomial ones",
        "Chosen on fits of eleven graphs, last and unconfirmed: 96 % of intervals hold, 95 % without.",
    )
    variance_by_class: float = number(
        1.6,
        "the same where labels were drawn by class, and of the ROC AUC",
        "Held-out hits scatter 1.45 times as much there; the rest is for class sizes that are not known.",
    )
    draw_level: float = number(
        0.01,
        "level of the tests that tell how labels were drawn",
        "Usual; no false alarm in 210 random draws.",
    )
    resamples: int = number(
        200, "resamples of held-out labels: optimism of the choice, variance of average precision", TIME
    )

    # columns of a table
    rare_category: int = number(5, "rows below which categories of a table are read together", HAND, CONSTANT)
    max_words: int = number(5000, "most frequent words of a text column", MEMORY, CONSTANT)

    # calibration
    power_bounds: tuple[float, float] = number((0.1, 10.0), "bounds of temperature_", HAND)
    confidence_sample: int = number(20_000, "unlabelled nodes whose confidence is matched", TIME)

    # suggestions
    suggest_candidates: int = number(1000, "nodes that suggestions are picked from", TIME, CONSTANT)
    suggest_witnesses: int = number(3000, "nodes that a suggestion is evaluated on", TIME, CONSTANT)
    suggest_trust: float = number(
        3.0,
        "labels a class at which the model's own doubt weighs as much as coverage",
        "A model of few labels does not know what it does not know.",
        CONSTANT,
    )


DEFAULTS = Defaults()


def checked(defaults: Defaults | None) -> Defaults:
    """The given numbers, or DEFAULTS; refuses one that has to be given elsewhere, where it would be ignored."""
    if defaults is None:
        return DEFAULTS
    if not isinstance(defaults, Defaults):
        raise InputError(
            f"defaults must be a Defaults, but is {defaults!r}. Make one with replace(DEFAULTS, ...)."
        )
    for entry in fields(defaults):
        value = getattr(defaults, entry.name)
        if entry.metadata["set_by"] != FIT and value != entry.default:
            raise InputError(
                f"defaults has {entry.name}={value!r}, but this number is {entry.metadata['set_by']} and would be "
                "ignored here."
            )
    return defaults


def page() -> str:
    """docs/defaults.md."""
    lines = [
        "# Defaults",
        "",
        "Every number of the recipe, from `altopt.defaults`; `python -m altopt.defaults` prints this page. `set by` is",
        "where another value is given: `AltOpt(defaults=replace(DEFAULTS, n_folds=3))`, say. `half` and `double` say",
        "what such a value changes, in points of accuracy (ROC AUC where one of two classes is small): mean ± standard",
        "error over fits to real and generated data on the same splits, made by",
        "`python -m altopt_lab.experiments.defaults_worth`. Where no label changes, the calibration error may.",
        "",
        "| name | value | what | why | set by | half | double |",
        "|---|---|---|---|---|---|---|",
    ]
    file = Path(__file__).with_name("worth.json")
    worth = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for entry in fields(Defaults):
        about, found = entry.metadata, worth.get(entry.name, {})
        cells = (entry.default, about["what"], about["why"], about["set_by"], *effects(found))
        lines.append(f"| `{entry.name}` | {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def effects(found: dict[str, Any]) -> tuple[str, str]:
    """What half and double of a number change, in words."""
    if "flipped" in found:
        return f"flipped: {effect(found['flipped'])}", ""
    half, double = (effect(found[way]) if way in found else "" for way in ("half", "double"))
    if half or double:
        return half, double
    return ": ".join(["not measured", *filter(None, [found.get("not measured")])]), ""


def effect(one: dict[str, Any]) -> str:
    if "reason" in one:
        return f"{one['failed']} of {one['runs']} fits fail: {one['reason']}"
    if one["change"] == one["error"] == 0.0:
        calibration = one["calibration"]
        return f"no label changes; calibration {calibration:+.4f}" if calibration else "no label changes"
    return f"{one['change']:+.2f} ± {one['error']:.2f}"


if __name__ == "__main__":
    print(page(), end="")
