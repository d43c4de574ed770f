"""Optional libraries that benchmarks compare with; a missing one is named and nothing fails."""

import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

MKL, GEOMETRIC, NETWORK = "MKL (sparse_dot_mkl)", "PyTorch Geometric", "scikit-network"
MODULES = {MKL: "sparse_dot_mkl", GEOMETRIC: "torch_geometric", NETWORK: "sknetwork"}


def find(peer: str) -> Any:
    """The peer's module, or None where it cannot be imported."""
    if peer == MKL:
        point_to_mkl()
    try:
        module = import_module(MODULES[peer])
    except (ImportError, OSError):
        return None
    if peer == MKL:
        import torch

        module.mkl_set_num_threads(torch.get_num_threads())  # left alone it counts cores its own way
    return module


def point_to_mkl() -> None:
    """sparse_dot_mkl looks for MKL where MKL_RT says; pip puts it into the environment's own lib folder."""
    libraries = sorted(Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    if libraries:
        os.environ.setdefault("MKL_RT", str(libraries[-1]))
    # its threads would spin for 0.2 s after each product, on the cores of the next contestant
    os.environ.setdefault("KMP_BLOCKTIME", "1")


def missing(*peers: str) -> list[str]:
    return [peer for peer in peers if find(peer) is None]
