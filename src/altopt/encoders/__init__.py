"""Encoders, interchangeable: they predict labels from the features alone."""

from altopt.encoders.attention import AttentionEncoder
from altopt.encoders.encoder import Encoder, Learner
from altopt.encoders.ensemble import EnsembleEncoder
from altopt.encoders.kernel import KernelEncoder
from altopt.encoders.linear import LinearEncoder
from altopt.encoders.mixture import MixtureEncoder
from altopt.encoders.mlp import MLPEncoder
from altopt.encoders.network import TorchEncoder
from altopt.encoders.tabular import TabularEncoder, as_encoder

__all__ = [
    "AttentionEncoder",
    "Encoder",
    "EnsembleEncoder",
    "KernelEncoder",
    "Learner",
    "LinearEncoder",
    "MLPEncoder",
    "MixtureEncoder",
    "TabularEncoder",
    "TorchEncoder",
    "as_encoder",
]
