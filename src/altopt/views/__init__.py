"""The three views of F, each in interchangeable forms."""

from altopt.views.feature import CrossEntropyFeatureView, FeatureView, SoftmaxFeatureView
from altopt.views.graph import GraphView, SquaredLaplacianView
from altopt.views.label import CrossEntropyLabelView, LabelView
from altopt.views.view import Curvature, Objective, View

__all__ = [
    "CrossEntropyFeatureView",
    "CrossEntropyLabelView",
    "Curvature",
    "FeatureView",
    "GraphView",
    "LabelView",
    "Objective",
    "SoftmaxFeatureView",
    "SquaredLaplacianView",
    "View",
]
