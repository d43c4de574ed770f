"""All methods that are compared, by name."""

from difflib import get_close_matches

from altopt import AltOpt
from altopt.errors import InputError
from altopt.views import SquaredLaplacianView
from altopt_lab.baselines import BASELINES, HETEROPHILY
from altopt_lab.equal.paper_method import PaperMethod, PaperMethodOnGraph
from altopt_lab.experiments.altopt_methods import PLANS, AltOptMethod, DefaultMethod, FixedPlanMethod
from altopt_lab.experiments.baseline_methods import BaselineMethod
from altopt_lab.experiments.method import Method
from altopt_lab.experiments.option_methods import OPTIONS
from altopt_lab.experiments.recipe import fixed_recipe

OURS, DEFAULT, RECIPE = AltOptMethod(), DefaultMethod(), DefaultMethod("fixed recipe", fixed_recipe)
DEFAULT_SQUARED = DefaultMethod(
    "AltOpt(graph_view=SquaredLaplacianView)",
    lambda seed: AltOpt(graph_view=SquaredLaplacianView, random_state=seed),
)
PAPER: tuple[Method, ...] = (
    PaperMethod("ALT-OPT (paper, mse)"),
    PaperMethod("ALT-OPT (paper, ce)", "ce"),
    PaperMethod("ALT-OPT-Full (paper)", fixed=(("n_rounds", "full"),)),
    PaperMethod("ALT-OPT-N (paper)", "N"),
    PaperMethod("ALT-OPT-H (paper, X as it is)", "H", fixed=(("restart", 1.0),)),
    PaperMethodOnGraph("ALT-OPT-H (GCN as encoder)", "H", fixed=(("restart", 1.0),)),
)
WIDER = AltOptMethod("ALT-OPT (ours, wider search)")
NORMALISED = AltOptMethod("ALT-OPT-N", fixed=(("variant", "N"),))
SQUARED = AltOptMethod("ALT-OPT-H", fixed=(("variant", "H"),))
SQUARED_LINKS = AltOptMethod("ALT-OPT-H on links", links=True, fixed=(("variant", "H"),))
LINKS = AltOptMethod("ALT-OPT on links", links=True)
ALL: tuple[Method, ...] = (
    OURS,
    DEFAULT,
    RECIPE,
    DEFAULT_SQUARED,
    *PAPER,
    WIDER,
    NORMALISED,
    SQUARED,
    SQUARED_LINKS,
    LINKS,
    *OPTIONS,
    *(FixedPlanMethod(f"always {plan}", plan=plan) for plan in PLANS),
    *(
        BaselineMethod(kind, name, "none" if name == "LP" else "keep the best epoch")
        for name, kind in (BASELINES | HETEROPHILY).items()
    ),
    *(
        BaselineMethod(
            (BASELINES | HETEROPHILY)[name],
            f"{name}, usual settings",
            "none" if name == "LP" else "keep the best epoch",
            None,
        )
        for name in ("APPNP", "GCN", "SGC", "MLP", "SIGN", "C&S", "GAT", "LP", "LINKX")
    ),
    *(
        BaselineMethod(BASELINES[name], f"{name}, no validation labels", "none", None)
        for name in ("LP", "SGC", "C&S", "APPNP")
    ),
    *(
        BaselineMethod(
            BASELINES[name],
            f"{name} on 0/1 words, no validation labels",
            "none",
            None,
            fixed=(("scale_rows", False),),
        )
        for name in ("SGC", "C&S", "APPNP")
    ),
)
METHODS = {method.name: method for method in ALL}


def find_method(name: str) -> Method:
    """A method by its name in the tables.

    >>> find_method("APPNP").validation
    'keep the best epoch'
    """
    known = {plain(method): method for method in METHODS}
    if plain(name) not in known:
        near = get_close_matches(plain(name), known, n=1)
        listed = [method for method in METHODS if not method.startswith(("always", "AltOpt("))]
        hint = "".join(f" Did you mean {known[one]!r}?" for one in near)
        raise InputError(f"No method is called {name!r}.{hint} There are: {'; '.join(listed)}.")
    return METHODS[known[plain(name)]]


def plain(name: str) -> str:
    """Case and spaces do not tell methods apart."""
    return "".join(name.lower().split())
