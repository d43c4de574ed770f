"""Peers to compare with, all on one contract: those of the paper's tables, and PTA and PPRGo."""

from altopt.baselines.appnp import APPNP
from altopt.baselines.baseline import Baseline, SearchSpace
from altopt.baselines.correct_and_smooth import CorrectAndSmooth
from altopt.baselines.gat import GAT
from altopt.baselines.gcn import GCN
from altopt.baselines.gcnii import GCNII
from altopt.baselines.geomgcn import GeomGCN
from altopt.baselines.gprgnn import GPRGNN
from altopt.baselines.h2gcn import H2GCN
from altopt.baselines.linkx import LINKX
from altopt.baselines.lp import LP
from altopt.baselines.mixhop import MixHop
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
    "GCNII",
    "GPRGNN",
    "H2GCN",
    "HETEROPHILY",
    "LINKX",
    "LP",
    "MLP",
    "PTA",
    "SGC",
    "SIGN",
    "Baseline",
    "CorrectAndSmooth",
    "GeomGCN",
    "MixHop",
    "PPRGo",
    "SearchSpace",
]

BASELINES: dict[str, type[Baseline]] = {
    kind.method: kind for kind in (LP, MLP, GCN, GAT, APPNP, SGC, SIGN, CorrectAndSmooth, PTA, PPRGo)
}
# the paper's table of graphs whose neighbours differ
HETEROPHILY: dict[str, type[Baseline]] = {
    kind.method: kind for kind in (GeomGCN, H2GCN, MixHop, GCNII, GPRGNN, LINKX)
}
