"""The three views of F, each in interchangeable forms."""

from altopt.operator.reconstruction import reconstruction_graph
from altopt.views.contrastive import Contrast, ContrastiveView
from altopt.views.feature import CrossEntropyFeatureView, FeatureView, SoftmaxFeatureView
from altopt.views.filters import HighPassView, SpectralFilter
from altopt.views.graph import GraphView, SquaredLaplacianView
from altopt.views.label import CrossEntropyLabelView, LabelView
from altopt.views.locally_linear import LocallyLinearView, Reconstruction
from altopt.views.none import NoGraphView
from altopt.views.objective import Objective, System
from altopt.views.quadratic import QuadraticForm
from altopt.views.robust import HuberLabelView, RobustLabels
from altopt.views.two_hop import SharedNeighbours, TwoHopView
from altopt.views.view import Curvature, Pull, View, ViewChoice, ViewSettings, as_view_choice, view_from
from altopt.views.walks import RandomWalks

__all__ = [
    "Contrast",
    "ContrastiveView",
    "CrossEntropyFeatureView",
    "CrossEntropyLabelView",
    "Curvature",
    "FeatureView",
    "GraphView",
    "HighPassView",
    "HuberLabelView",
    "LabelView",
    "LocallyLinearView",
    "NoGraphView",
    "Objective",
    "Pull",
    "QuadraticForm",
    "RandomWalks",
    "Reconstruction",
    "RobustLabels",
    "SharedNeighbours",
    "SoftmaxFeatureView",
    "SpectralFilter",
    "SquaredLaplacianView",
    "System",
    "TwoHopView",
    "View",
    "ViewChoice",
    "ViewSettings",
    "as_view_choice",
    "reconstruction_graph",
    "view_from",
]
