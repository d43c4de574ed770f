"""Encoder inputs, interchangeable: features, diffused or hop by hop, adjacency rows, degrees, several side by side."""

from altopt.inputs.adjacency import AdjacencyInputs
from altopt.inputs.blocks import BlockInputs
from altopt.inputs.degrees import DegreeInputs
from altopt.inputs.diffused import DiffusedInputs
from altopt.inputs.extremes import ExtremeInputs
from altopt.inputs.featureless import FeaturelessInputs
from altopt.inputs.features import FeatureInputs
from altopt.inputs.hops import HopInputs
from altopt.inputs.inputs import (
    ChangedNodes,
    Inputs,
    InputSource,
    NewNodes,
    Prepared,
    PreparedMatrix,
    as_inputs,
)
from altopt.inputs.kind import KindInputs
from altopt.inputs.label_shares import LabelShareInputs
from altopt.inputs.landmarks import LandmarkInputs
from altopt.inputs.memory import InputMemory, SourceShape
from altopt.inputs.raw import RawInputs
from altopt.inputs.reduced import ReducedInputs
from altopt.inputs.rows import EAGER, LazyRows, encoder_rows
from altopt.inputs.structure import StructureInputs
from altopt.operator.scaling import unit_rows, unit_sum

__all__ = [
    "EAGER",
    "AdjacencyInputs",
    "BlockInputs",
    "ChangedNodes",
    "DegreeInputs",
    "DiffusedInputs",
    "ExtremeInputs",
    "FeatureInputs",
    "FeaturelessInputs",
    "HopInputs",
    "InputMemory",
    "InputSource",
    "Inputs",
    "KindInputs",
    "LabelShareInputs",
    "LandmarkInputs",
    "LazyRows",
    "NewNodes",
    "Prepared",
    "PreparedMatrix",
    "RawInputs",
    "ReducedInputs",
    "SourceShape",
    "StructureInputs",
    "as_inputs",
    "encoder_rows",
    "unit_rows",
    "unit_sum",
]
