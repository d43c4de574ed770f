"""What a fit past memory costs, before it is made: memory, disk, bytes through the disk and time.

    steps     a step reads every edge once for each panel of columns, and does one multiplication for each entry of the
              adjacency and column; it takes the longer of the two, as a thread reads ahead
    encoding  every solve of a panel makes P anew: n x d times d x c
    files     Z, the panels of a round and F are written, and read where the next step needs them
    training  the encoder goes through the labelled rows again and again
    jobs      each costs something, however little it does
    reading   the tables, once: so many seconds an edge and a number

A rate of the machine, measured by `probe.py`, stands behind the first three. `CONSTANTS` is all that does not follow
from the problem and the machine: `altopt_lab.bench.scale_cost` fits it to whole fits.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from altopt.defaults import DEFAULTS
from altopt.inputs import ReducedInputs
from altopt.inputs.directions import few_columns
from altopt.scale.edge_stream import BLOCK_ENTRIES
from altopt.scale.fit import FIRST_STEPS, NEXT_STEPS
from altopt.scale.ingest import DATABASE_SHARE, EDGE_BYTES, WEIGHT_BYTES
from altopt.scale.make_inputs import MARGIN
from altopt.scale.panel import ViewWeights
from altopt.scale.plan import BLOCKS, Plan, columns, usable
from altopt.scale.probe import Rates
from altopt.scale.solve import rough_steps
from altopt.selection.candidates import diffused_inputs
from altopt.selection.evaluation import FEWEST_FOLDS


@dataclass(frozen=True)
class Constants:
    """What a fit costs beside what the rates of the machine say.

    Parameters
    ----------
    load : float
        Of what the rates say of steps, encoding and files.
    start, job : float
        Seconds of a fit and of a job, however small.
    training : float
        Seconds for a row, a feature and a class in an iteration of the encoder's training.
    tables, edge, number : float
        Seconds to read tables, however small; for an edge; for a number of the features.
    process, row : float
        Bytes of a process; of a labelled row for each of its features and classes.
    reading, of_number, of_edge : float
        Bytes of a process that reads tables; for a number of the features that are read together; for an edge, until
        the database has its share of the memory.
    """

    load: float
    start: float
    job: float
    training: float
    tables: float
    edge: float
    number: float
    process: float
    row: float
    reading: float
    of_number: float
    of_edge: float


CONSTANTS = Constants(
    load=2.38,
    start=0.658,
    job=0.000687,
    training=0.0,
    tables=0.142,
    edge=0.0,
    number=7.32e-08,
    process=311000000.0,
    row=17.1,
    reading=349000000.0,
    of_number=26.7,
    of_edge=47.5,
)


ROWS = 200_000  # of features read together: a row group
VIEWS = ViewWeights(DEFAULTS.view_weight, DEFAULTS.view_weight)


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

    @cached_property
    def inputs(self) -> ReducedInputs:
        """What Z is made as."""
        return diffused_inputs(self.n_nodes, self.n_features, self.n_labels)

    @property
    def n_inputs(self) -> int:
        """Columns of Z: the features, or as many of their directions as are kept."""
        return min(self.n_features, self.inputs.n_components)

    def plan(self, memory: float) -> Plan:
        """The panels of a fit within so much memory."""
        return Plan.of(self.n_nodes, self.n_classes, self.n_inputs, int(memory), self.inputs.storage)


@dataclass(frozen=True)
class Stage:
    """A part of the work; `panels` of it can be done at the same time."""

    name: str
    seconds: float
    read: float = 0.0
    written: float = 0.0
    panels: int = 1


@dataclass(frozen=True)
class Cost:
    """Bytes and seconds.

    Examples
    --------
    >>> size = Size(n_nodes=2_449_029, n_entries=123_718_280, n_features=100, n_classes=47, n_labels=196_615)
    >>> cost = cost_of(size, 2e9, Rates(read=1.1e9, write=1.2e9, entry=0.2e-9, flops=4e10))
    >>> 0.5e9 < cost.memory < 4e9, 10e9 < cost.read < 200e9, 30 < cost.seconds < 900
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

    def seconds_on(self, workers: int) -> float:
        """Of so many machines like this one: each takes panels, and what is no panel's is done by one of them."""
        return sum(s.seconds * -(-s.panels // workers) / s.panels for s in self.stages)

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


def cost_of(
    size: Size, memory: float, rates: Rates, plan: Plan | None = None, constants: Constants = CONSTANTS
) -> Cost:
    """The cost of a fit within so much memory."""
    n, d, c = size.n_nodes, size.n_features, size.n_classes
    parts, plan, edges = Parts(size, memory, rates, plan), plan or size.plan(memory), size.n_entries / 2
    given = constants.tables + constants.edge * edges + constants.number * n * d
    stages = (
        Stage("reading the tables", given, written=edges * EDGE_BYTES + 4 * n * d),
        *(replace(stage, seconds=constants.load * stage.seconds) for stage in parts.by_rates),
        Stage("training the encoder", constants.training * parts.trained),
        Stage("jobs", constants.start + constants.job * parts.n_jobs),
    )
    fitting = constants.process + constants.row * size.n_labels * (size.n_inputs + c) + parts.in_memory
    database = min(constants.of_edge * edges, DATABASE_SHARE * memory)
    together = constants.of_number * min(n, ROWS) * d  # and the database is not at work then
    stored = size.edge_bytes + 4 * n * d + fit_bytes(size, plan)
    ingesting = edges * (EDGE_BYTES + (WEIGHT_BYTES if size.weighted else 0)) + 4 * n * d
    return Cost(
        max(fitting, constants.reading + max(database, together)), max(stored, ingesting), stages, rates
    )


def fit_bytes(size: Size, plan: Plan) -> int:
    """Bytes that a fit writes beside the problem: Z, the panels of two rounds, F and the predictions."""
    item, z_item = np.dtype(plan.storage).itemsize, np.dtype(plan.z_storage).itemsize
    sketch = 2 * 4 * sum(last - first for first, last in sketched(size, plan))
    return size.n_nodes * (z_item * size.n_inputs + sketch + (2 * item + 12) * size.n_classes)


def sketched(size: Size, plan: Plan) -> list[tuple[int, int]]:
    """Panels of what the directions of wide features are found from: see `make_inputs`."""
    n, d, rank = size.n_nodes, size.n_features, size.n_inputs
    if d <= rank:
        return []
    return columns(d if few_columns(n, d) else min(rank + MARGIN, n, d), plan.x_width)


def widths(columns: list[tuple[int, int]]) -> list[int]:
    """Columns of each panel, padded to whole vectors."""
    return [-(-(last - first) // 8) * 8 for first, last in columns]


class Parts:
    """The parts of a fit, by the rates of the machine and by number.

    Parameters
    ----------
    size : Size
    memory : float
    rates : Rates
    plan : Plan, optional
    """

    def __init__(self, size: Size, memory: float, rates: Rates, plan: Plan | None = None) -> None:
        self.size, self.memory, self.rates = size, memory, rates
        self.plan = plan = plan or size.plan(memory)
        self.z_panels, self.f_panels = widths(plan.z_columns), widths(plan.f_columns)
        self.item, self.z_item = np.dtype(plan.storage).itemsize, np.dtype(plan.z_storage).itemsize
        self.rough = rough_steps(VIEWS)

    @cached_property
    def by_rates(self) -> list[Stage]:
        n, c, rates, panels = self.size.n_nodes, self.size.n_classes, self.rates, self.f_panels
        n_rounds, rough = DEFAULTS.n_rounds, self.rough
        rounds = self.tries * (FIRST_STEPS + 1 + (n_rounds - 1) * (NEXT_STEPS + 1))
        written, read = 8.0 * n * c, 4.0 * n * c
        return [
            *self.diffusing(),
            self.steps(f"{n_rounds} rounds", panels, rounds, self.item * n_rounds, self.tries * n_rounds),
            self.steps(
                "the last solve", panels, 2 * (rough + 1) + 2, 4.0, 2
            ),  # and its correction in float32
            self.steps("held-out labels", panels, FEWEST_FOLDS * (rough + 1), 0.0, FEWEST_FOLDS),
            self.steps("leave-one-out", self.units, rough + 2, 0.0, 0),
            Stage("predictions", read / rates.read + written / rates.write, read, written),
        ]

    @property
    def tries(self) -> int:
        """Solves of a round: where there are several panels the number of steps is tried first."""
        return 1 if len(self.f_panels) == 1 else 2

    def diffusing(self) -> list[Stage]:
        """Z, and what its directions are found from."""
        size, known = self.size, self.plan
        stages = [self.steps("diffusing X", self.z_panels, DEFAULTS.n_diffusion, self.z_item, 0, item=4)]
        sketch = widths(sketched(size, known))
        if sketch:
            times = 1 if few_columns(size.n_nodes, size.n_features) else 2 * (size.inputs.n_power + 1)
            count = float(DEFAULTS.n_diffusion * times)
            made = self.steps("directions of X", sketch, count, 4.0 * times, 0, item=4)
            product = 2.0 * size.n_nodes * size.n_features * sum(sketch) * times / self.rates.flops
            stages = [replace(made, seconds=made.seconds + product), *stages]
        return stages

    def steps(
        self, name: str, panels: list[int], count: float, kept: float, solves: float, item: int | None = None
    ) -> Stage:
        """So many steps on every panel, whose columns are then written with `kept` bytes a number."""
        size, rates, item = self.size, self.rates, item or self.item
        seconds = read = 0.0
        for width in panels:
            on_disk = self.edges_in_memory(self.blocks(width, item)) < size.edge_bytes
            edges = size.edge_bytes * (count if on_disk else max(solves, 1.0))
            seconds += max(count * size.n_entries * width * rates.entry * item / 2, edges / rates.read)
            read += edges
        inputs = self.z_item * size.n_nodes * size.n_inputs * len(panels) * solves  # of Z, which P is made of
        encoding = 2.0 * size.n_nodes * size.n_inputs * size.n_classes * len(panels) * solves
        written = size.n_nodes * sum(panels) * kept
        seconds += encoding / rates.flops + inputs / rates.read + written / rates.write
        return Stage(name, seconds, read + inputs, written, max(len(panels), 1))

    def blocks(self, width: int, item: int) -> float:
        return float(BLOCKS * self.size.n_nodes * item * width)

    def edges_in_memory(self, blocks: float) -> float:
        """Bytes of the edges where they are kept, else of the two buffers they are read into."""
        held = self.size.edge_bytes + 8 * self.size.n_nodes
        room = usable(int(self.memory)) - blocks
        return held if held <= room else min(4.0 * BLOCK_ENTRIES * self.size.entry_bytes, max(room, 0.0))

    @property
    def in_memory(self) -> float:
        """Bytes of the largest panel's blocks and of the edges beside them."""
        panels = [(width, self.item) for width in self.f_panels] + [(width, 4) for width in self.z_panels]
        blocks = max(self.blocks(*panel) for panel in panels)
        return blocks + self.edges_in_memory(blocks)

    @property
    def units(self) -> list[int]:
        """Panels of unit vectors: some of the labelled nodes are taken out exactly, unless they have many neighbours.

        A walk of two steps comes back to a node of degree k in about 1 of k cases.
        """
        size = self.size
        unlabelled, labelled = np.asarray(VIEWS.bounds.step_scale)
        degree = size.n_entries / size.n_nodes
        if DEFAULTS.exact_rtol * degree * unlabelled * labelled * (unlabelled - 1.0) > 1.0:
            return []
        most = max(DEFAULTS.exact_min, min(DEFAULTS.exact_labels, int(DEFAULTS.exact_work / size.n_nodes)))
        return [self.plan.width] * -(-min(most, size.n_labels) // self.plan.width)

    @property
    def trained(self) -> float:
        """Rows, features and classes that the encoder's training goes through, in all iterations."""
        n_labels = self.size.n_labels
        pseudo = min(DEFAULTS.pseudo_limit, self.size.n_nodes)
        of_rounds = DEFAULTS.n_rounds * DEFAULTS.n_epochs * (n_labels + pseudo)
        of_all = (1 + FEWEST_FOLDS) * DEFAULTS.n_warmup * n_labels + of_rounds
        return float(of_all * self.size.n_inputs * self.size.n_classes)

    @property
    def n_jobs(self) -> int:
        """Of a fit: those of each panel, and those that there are once, for a round or for a fold."""
        panels, rounds = len(self.f_panels), DEFAULTS.n_rounds
        of_panels = panels * (self.tries * rounds + FEWEST_FOLDS + 2) + len(self.z_panels) + len(self.units)
        return of_panels + 3 * rounds + 2 * FEWEST_FOLDS + 9
