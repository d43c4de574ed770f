"""The machine of the measurements: processor, versions, memory bandwidth and peak arithmetic."""

import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from altopt.operator.kernels.dispatch import description
from altopt.threads import MULTITHREAD_MIN_SIZE, available_processors, threads_for
from altopt_lab.bench.timing import Contestant, Timing, best_of, race

TRIAD = "STREAM triad"
TRIAD_LENGTH = 32_000_000  # float32 numbers in each of three arrays, 128 MB, beyond any cache
SGEMM = "sgemm"
SGEMM_SIZE = 2048
PACKAGES = (
    "altopt",
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "torch-geometric",
    "mkl",
    "sparse_dot_mkl",
    "scikit-network",
)


def describe() -> dict[str, Any]:
    """Processor, cores, memory and versions."""
    return {
        "cpu": cpu_model(),
        "cores": available_processors(),
        "memory_gb": round(memory_gb(), 1),
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "kernels": description(),
        "versions": {
            name: installed for name in PACKAGES if (installed := installed_version(name)) is not None
        },
    }


def cpu_model() -> str:
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()


def memory_gb() -> float:
    if not hasattr(os, "sysconf"):
        return float("nan")
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def installed_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


@contextmanager
def same_threads(size: int = MULTITHREAD_MIN_SIZE) -> Iterator[int]:
    """As many threads for everyone as a fit would use on arrays of `size` numbers: one, or all cores."""
    import torch

    with threads_for(size, with_torch=True):
        before = torch.get_num_threads()
        torch.set_num_threads(1 if size < MULTITHREAD_MIN_SIZE else available_processors())
        try:
            yield torch.get_num_threads()
        finally:
            torch.set_num_threads(before)


def triad() -> Contestant:
    """a = b + 3 c by torch: 12 bytes a number, what writing without reading first would move."""

    def prepare() -> Callable[[], object]:
        import torch

        a, b, c = (torch.full((TRIAD_LENGTH,), float(k)) for k in range(3))
        return lambda: torch.add(b, c, alpha=3.0, out=a)

    return Contestant(TRIAD, prepare, "roof", note="a = b + 3 c, torch, float32")


def bandwidth(timings: list[Timing]) -> float:
    """GB/s of the triad in these timings."""
    return 12 * TRIAD_LENGTH / 1e9 / (best_of(timings, TRIAD) or float("nan"))


def bandwidth_alone(repeats: int = 5) -> float:
    """The same where nothing else is timed in this process."""
    with same_threads():
        return bandwidth(race([triad()], repeats, cap=5.0))


def sgemm() -> Contestant:
    """A product of two square float32 matrices, the densest arithmetic there is."""

    def prepare() -> Callable[[], object]:
        import torch

        a, b = (torch.ones((SGEMM_SIZE, SGEMM_SIZE)) for _ in range(2))
        out = torch.empty_like(a)
        return lambda: torch.mm(a, b, out=out)

    return Contestant(SGEMM, prepare, "roof", note=f"{SGEMM_SIZE} x {SGEMM_SIZE} matrices, torch, float32")


def arithmetic(timings: list[Timing]) -> float:
    """GFLOP/s of sgemm in these timings."""
    return 2 * SGEMM_SIZE**3 / 1e9 / (best_of(timings, SGEMM) or float("nan"))
