"""What a fit past memory costs, before it is made: memory, disk, bytes through the disk and time.

    steps     a step reads every edge once for each panel of columns, and does one multiplication for each entry of the
              adjacency and column; it takes the longer of the two, as a thread reads ahead
    encoding  every solve of a panel makes P anew: n x d times d x c
    files     Z, the panels of a round and F are written, and read where the next step needs them
    reading   the tables, once: so many seconds an edge

A rate of the machine, measured by `probe.py`, stands behind each line; `LOAD` is what the parts cost beside that.
"""

from dataclasses import dataclass

import numpy as np

from altopt.defaults import DEFAULTS
from altopt.scale.edge_stream import BLOCK_ENTRIES
from altopt.scale.fit import FIRST_STEPS, NEXT_STEPS
from altopt.scale.ingest import EDGE_BYTES, WEIGHT_BYTES
from altopt.scale.panel import ViewWeights
from altopt.scale.plan import BLOCKS, PROCESS, Plan, usable
from altopt.scale.probe import Rates
from altopt.scale.solve import rough_steps
from altopt.selection.evaluation import FEWEST_FOLDS

LOAD = 1.0  # of what the rates say; `altopt bench scale` fits it


@dataclass(frozen=True)
class Size:
    """The size of a problem; entries are edges counted from both ends."""

    n_nodes: int
    n_entries: int
    n_features: int
    n_classes: int
    n_labels: int
    weighted: bool = False

    @property
    def entry_bytes(self) -> int:
        return 8 if self.weighted else 4

    @property
    def edge_bytes(self) -> int:
        """Of the edges on disk."""
        return self.entry_bytes * self.n_entries + 8 * self.n_nodes


@dataclass(frozen=True)
class Stage:
    """A part of the work."""

    name: str
    seconds: float
    read: float = 0.0
    written: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Bytes and seconds.

    Examples
    --------
    >>> size = Size(n_nodes=2_449_029, n_entries=123_718_280, n_features=100, n_classes=47, n_labels=196_615)
    >>> cost = cost_of(size, 2e9, Rates(read=1.1e9, write=1.2e9, entry=0.2e-9, flops=4e10))
    >>> 1e9 < cost.memory <= 2e9, 10e9 < cost.read < 200e9, 60 < cost.seconds < 600
    (True, True, True)
    """

    memory: float
    disk: float
    stages: tuple[Stage, ...]
    rates: Rates
    free: float | None = None  # bytes of disk that are free, where that was asked

    @property
    def seconds(self) -> float:
        return sum(stage.seconds for stage in self.stages)

    @property
    def read(self) -> float:
        return sum(stage.read for stage in self.stages)

    @property
    def written(self) -> float:
        return sum(stage.written for stage in self.stages)

    def lines(self) -> list[str]:
        """For people."""
        rows = [
            f"{stage.name:<26} {stage.read / 1e9:9.1f} GB read {stage.written / 1e9:8.1f} GB written "
            f"{in_words(stage.seconds):>12}"
            for stage in self.stages
        ]
        total = (
            f"memory {self.memory / 1e9:.1f} GB, disk {self.disk / 1e9:.1f} GB, {self.read / 1e9:.1f} GB read, "
            f"{self.written / 1e9:.1f} GB written, about {in_words(self.seconds)}"
        )
        measured = (
            f"measured: disk {self.rates.read / 1e9:.2f} GB/s read, {self.rates.write / 1e9:.2f} GB/s written; a step "
            f"{1e9 * self.rates.entry:.2f} ns for an entry and column"
        )
        free = [] if self.free is None else [f"free on that disk: {self.free / 1e9:.1f} GB"]
        return [*rows, measured, *free, total]


def in_words(seconds: float) -> str:
    """
    >>> in_words(75), in_words(9000)
    ('75 s', '150 min')
    """
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def cost_of(size: Size, memory: float, rates: Rates, plan: Plan | None = None) -> Cost:
    """The cost of a fit within so much memory."""
    n, d, c = size.n_nodes, size.n_features, size.n_classes
    plan = plan or Plan.of(n, c, d, int(memory), "float16")
    z_panels, f_panels = widths(plan.z_columns), widths(plan.f_columns)
    item, z_item = np.dtype(plan.storage).itemsize, np.dtype(plan.z_storage).itemsize
    solve = SolveCost(size, memory, rates, item, z_item * n * d)
    tables = size.n_entries / 2
    stages = [
        Stage("reading the tables", tables * rates.edge, written=tables * EDGE_BYTES + 4 * n * d),
        SolveCost(size, memory, rates, 4, 0).steps("diffusing X", z_panels, DEFAULTS.n_diffusion, z_item, 0),
        *solve.rounds(f_panels),
        solve.last(f_panels),
        solve.folds(f_panels),
        solve.leave_one_out(plan.width),
        Stage(
            "predictions", 4 * n * c / rates.read + 8 * n * c / rates.write, read=4 * n * c, written=8 * n * c
        ),
    ]
    stages = [Stage(s.name, LOAD * s.seconds, s.read, s.written) for s in stages]
    in_blocks = max(BLOCKS * n * item * max(f_panels), BLOCKS * n * 4 * max(z_panels, default=0))
    stored = size.edge_bytes + 4 * n * d + fit_bytes(size, plan)
    peak = min(PROCESS + in_blocks + solve.edges_in_memory(in_blocks), memory)
    ingesting = tables * (EDGE_BYTES + (WEIGHT_BYTES if size.weighted else 0)) + 4 * n * d
    return Cost(peak, max(stored, ingesting), tuple(stages), rates)


def fit_bytes(size: Size, plan: Plan) -> int:
    """Bytes that a fit writes beside the problem: Z, the panels of two rounds, F and the predictions."""
    item, z_item = np.dtype(plan.storage).itemsize, np.dtype(plan.z_storage).itemsize
    return size.n_nodes * (z_item * size.n_features + (2 * item + 12) * size.n_classes)


def widths(columns: list[tuple[int, int]]) -> list[int]:
    """Columns of each panel, padded to whole vectors."""
    return [-(-(last - first) // 8) * 8 for first, last in columns]


@dataclass(frozen=True)
class SolveCost:
    """Steps on panels: what they compute, and what they read where the edges stay on disk."""

    size: Size
    memory: float
    rates: Rates
    item: int  # bytes of a number of a panel
    inputs: float  # bytes of Z, which P is made of

    def edges_in_memory(self, blocks: float) -> float:
        """Bytes of the edges where they are kept, else of the two buffers they are read into."""
        fit = self.size.edge_bytes + 8 * self.size.n_nodes
        room = usable(int(self.memory)) - blocks
        return fit if fit <= room else min(4.0 * BLOCK_ENTRIES * self.size.entry_bytes, max(room, 0.0))

    def on_disk(self, width: int) -> bool:
        blocks = float(BLOCKS * self.size.n_nodes * self.item * width)
        return self.edges_in_memory(blocks) < self.size.edge_bytes

    def steps(self, name: str, panels: list[int], count: float, kept: float, solves: float) -> Stage:
        """So many steps on every panel, whose columns are then written with `kept` bytes a number."""
        size, rates = self.size, self.rates
        seconds = read = 0.0
        for width in panels:
            edges = size.edge_bytes * (count if self.on_disk(width) else 1)
            seconds += max(count * size.n_entries * width * rates.entry * self.item / 2, edges / rates.read)
            read += edges
        encoding = 2.0 * size.n_nodes * size.n_features * size.n_classes * len(panels) * solves
        read += self.inputs * len(panels) * solves
        written = size.n_nodes * sum(panels) * kept
        seconds += encoding / rates.flops + self.inputs * len(panels) * solves / rates.read
        return Stage(name, seconds + written / rates.write, read, written)

    def rounds(self, panels: list[int]) -> list[Stage]:
        """The rounds: a few steps each and the one that says how near they came."""
        n_rounds = DEFAULTS.n_rounds
        count = FIRST_STEPS + 1 + (n_rounds - 1) * (NEXT_STEPS + 1)
        return [self.steps(f"{n_rounds} rounds", panels, count, self.item * n_rounds, n_rounds)]

    def last(self, panels: list[int]) -> Stage:
        """The last solve, and its correction in float32."""
        return self.steps("the last solve", panels, 2 * (self.rough + 1) + 2, 4.0, 2)

    def folds(self, panels: list[int]) -> Stage:
        """Solves with an encoder that did not see some of the labels."""
        return self.steps("held-out labels", panels, FEWEST_FOLDS * (self.rough + 1), 0.0, FEWEST_FOLDS)

    def leave_one_out(self, width: int) -> Stage:
        """Solves for unit vectors of some of the labelled nodes, so many at a time."""
        n_nodes = self.size.n_nodes
        most = max(DEFAULTS.exact_min, min(DEFAULTS.exact_labels, int(DEFAULTS.exact_work / n_nodes)))
        units = [width] * -(-min(most, self.size.n_labels) // width)
        return self.steps("leave-one-out", units, self.rough + 2, 0.0, 0)

    @property
    def rough(self) -> int:
        """Steps of a rough solve."""
        return rough_steps(ViewWeights(DEFAULTS.view_weight, DEFAULTS.view_weight))
