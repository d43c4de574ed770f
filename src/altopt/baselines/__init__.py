"""Peers to compare with, all on one contract: LP, MLP, GCN, GAT, APPNP, SGC, SIGN, C&S, PTA and PPRGo."""

from altopt.baselines.appnp import APPNP
from altopt.baselines.baseline import Baseline, SearchSpace
from altopt.baselines.correct_and_smooth import CorrectAndSmooth
from altopt.baselines.gat import GAT
from altopt.baselines.gcn import GCN
from altopt.baselines.lp import LP
from altopt.baselines.mlp import MLP
from altopt.baselines.pprgo import PPRGo
from altopt.baselines.pta import PTA
from altopt.baselines.sgc import SGC
from altopt.baselines.sign import SIGN

__all__ = [
    "APPNP",
    "BASELINES",
    "GAT",
    "GCN",
    "LP",
    "MLP",
    "PTA",
    "SGC",
    "SIGN",
    "Baseline",
    "CorrectAndSmooth",
    "PPRGo",
    "SearchSpace",
]

BASELINES: dict[str, type[Baseline]] = {
    kind.method: kind for kind in (LP, MLP, GCN, GAT, APPNP, SGC, SIGN, CorrectAndSmooth, PTA, PPRGo)
}
