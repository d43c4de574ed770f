"""Baselines on one contract: the methods of the paper's tables, PTA and PPRGo."""

from altopt_lab.baselines.appnp import APPNP
from altopt_lab.baselines.baseline import Baseline, SearchSpace
from altopt_lab.baselines.correct_and_smooth import CorrectAndSmooth
from altopt_lab.baselines.gat import GAT
from altopt_lab.baselines.gcn import GCN
from altopt_lab.baselines.gcnii import GCNII
from altopt_lab.baselines.geomgcn import GeomGCN
from altopt_lab.baselines.gprgnn import GPRGNN
from altopt_lab.baselines.h2gcn import H2GCN
from altopt_lab.baselines.linkx import LINKX
from altopt_lab.baselines.lp import LP
from altopt_lab.baselines.mixhop import MixHop
from altopt_lab.baselines.mlp import MLP
from altopt_lab.baselines.pprgo import PPRGo
from altopt_lab.baselines.pta import PTA
from altopt_lab.baselines.sgc import SGC
from altopt_lab.baselines.sign import SIGN

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
# the paper's table of heterophilous graphs
HETEROPHILY: dict[str, type[Baseline]] = {
    kind.method: kind for kind in (GeomGCN, H2GCN, MixHop, GCNII, GPRGNN, LINKX)
}
