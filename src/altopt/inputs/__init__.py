"""What the encoder reads, interchangeable: features, diffused or hop by hop, adjacency rows, degrees, side by side."""

from altopt.inputs.adjacency import AdjacencyInputs
from altopt.inputs.blocks import BlockInputs
from altopt.inputs.degrees import DegreeInputs
from altopt.inputs.diffused import PlainInputs, RawInputs
from altopt.inputs.hops import HopInputs
from altopt.inputs.inputs import EAGER, ChangedNodes, Inputs, LazyRows, NewNodes, Prepared, encoder_rows
from altopt.inputs.reduced import ReducedInputs
from altopt.operator.scaling import unit_rows, unit_sum

__all__ = [
    "EAGER",
    "AdjacencyInputs",
    "BlockInputs",
    "ChangedNodes",
    "DegreeInputs",
    "HopInputs",
    "Inputs",
    "LazyRows",
    "NewNodes",
    "PlainInputs",
    "Prepared",
    "RawInputs",
    "ReducedInputs",
    "encoder_rows",
    "unit_rows",
    "unit_sum",
]
