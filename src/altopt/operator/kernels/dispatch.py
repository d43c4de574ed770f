"""Which implementation of the kernels is used: the compiled one where it was built, else scipy's; torch's on request.

Modules of this folder ask `native()` and fall back to their own scipy or numpy form; nobody else uses it. Fits on files
have no other form and ask for what is `required`.
"""

import os
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any

from altopt.errors import InputError


def find_native() -> Any:
    """The compiled module: the installed one, or one built into the folder that ALTOPT_NATIVE names."""
    folder = os.environ.get("ALTOPT_NATIVE")
    if folder is not None:
        spec = PathFinder.find_spec("_native", [folder])
        if spec is None or spec.loader is None:
            raise InputError(f"ALTOPT_NATIVE names {folder}, but there is no _native module in it. Unset it.")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    try:
        return import_module("altopt.operator.kernels._native")
    except ImportError:  # installed without a compiler
        return None


COMPILED = find_native()
MIN_RELEASED = 2**24  # bytes of a block from which giving back what is free is worth its time


def requested() -> str:
    """What ALTOPT_KERNELS asks for: "native" (the default), "scipy", "torch" or "torch:<device>"."""
    kernels = os.environ.get("ALTOPT_KERNELS") or "native"
    if kernels not in ("native", "scipy") and kernels.partition(":")[0] != "torch":
        raise InputError(
            f"ALTOPT_KERNELS is {kernels!r}. Set it to native, scipy, torch or torch:<device>, or leave it unset."
        )
    return kernels


def native() -> Any:
    """The compiled module where it was built and is not switched off, else None."""
    return COMPILED if requested() == "native" else None


def required(by: str, instead: str) -> Any:
    """The compiled module, for work that has no other form."""
    if COMPILED is None:
        raise InputError(
            f"{by} needs the compiled kernels, which were not built on this machine. Install altopt where there is a "
            f"C++ compiler, or {instead}."
        )
    return COMPILED


def native_available() -> bool:
    """Whether the compiled kernels are in use."""
    return native() is not None


def description() -> str:
    """Which kernels are in use, for people."""
    if requested() != "native":
        return f"native kernels switched off by ALTOPT_KERNELS={requested()}"
    if COMPILED is None:
        return "no native kernels were built; scipy serves"
    return f"native kernels for {COMPILED.level()}"


def release_free_memory(block_bytes: float) -> None:
    """Return the heap's freed memory to the system, between phases that allocate different blocks of this size.

    Small ones are kept: they would be asked for again at once, page by page.
    """
    if COMPILED is not None and block_bytes >= MIN_RELEASED:
        COMPILED.release_free_memory()
