"""The paper's studies of ALT-OPT: ablation, propagation steps, accuracy of pseudo labels, sensitivity."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets.splits import hide
from altopt_lab.baselines import LP
from altopt_lab.experiments import published
from altopt_lab.experiments.config import SEARCH_SPACE, AltOptConfig
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import N_SPLITS, OGB_CELLS, RATES, Cell, split_of
from altopt_lab.experiments.run import Change
from altopt_lab.experiments.tables.paper_table import (
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    repeated,
)
from altopt_lab.experiments.tuned import tuned_settings
from altopt_lab.experiments.work import Contexts, Work
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record
from altopt_lab.table import Chart, Series, Shown, Table

ABLATIONS: dict[str, Change] = {
    "ALT-OPT": (),
    "without diffusion": (("restart", 1.0),),
    "without pseudo labels": (("n_pseudo", 0),),
}
ABLATION_DATA = ("Cora", "CiteSeer")
LAYERS, LAYER_RATES = (1, 2, 3, 5, 10), ("5", "10", "20")
SENSITIVE = (Cell("Physics", "20"), Cell("Photo", "20"))
WEIGHTS = {"feature_weight": "lambda1", "label_weight": "lambda2"}
TOPS = (20, 60, 100, 140, 180, 220, 260)
FULL: Change = (("n_rounds", "full"),)
# the paper's k updates of F: k - 1 rounds, and the update at the end of a fit
ROUNDS: dict[str, Change] = {f"ALT-OPT-{k}": (("n_rounds", k - 1),) for k in (1, 2, 3, 4, 5)} | {
    "ALT-OPT-Full": FULL
}
ROUND_CELLS = (Cell("Cora", "20"), Cell("CiteSeer", "20"), Cell("PubMed", "20"), *OGB_CELLS)


def plan_ablation(only: RunFilter) -> list[ScheduledRun]:
    cells = [Cell(name, rate) for rate in RATES for name in ABLATION_DATA]
    return [
        scheduled
        for cell in filter(only.matches, cells)
        for change in ABLATIONS.values()
        for scheduled in repeated("ALT-OPT", cell, only.n_splits or N_SPLITS, only.n_runs or 1, change)
    ]


def show_ablation(index: RecordIndex) -> list[Shown]:
    charts: list[Shown] = []
    for name in ABLATION_DATA:
        series = [
            series_of(index, words, "ALT-OPT", [(rate, Cell(name, rate), change) for rate in RATES])
            for words, change in ABLATIONS.items()
        ]
        charts.append(
            Chart(
                name, "labels per class", "test accuracy, %", series, published.notes("ablation"), kind="bars"
            )
        )
    return charts


def plan_layers(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, (Cell("Cora", rate) for rate in LAYER_RATES))
        for method in ("ALT-OPT", "APPNP")
        for K in LAYERS
        for scheduled in repeated(
            method, cell, only.n_splits or N_SPLITS, only.n_runs or 1, (("n_steps", K),)
        )
    ]


def show_layers(index: RecordIndex) -> list[Shown]:
    paper, rows = published.published("layers"), []
    for rate in LAYER_RATES:
        for method in ("APPNP", "ALT-OPT"):
            for place, K in enumerate(LAYERS):
                cell = Cell("Cora", rate)
                ours = index.text(method, cell, (("n_steps", K),))
                rows.append((rate, method, str(K), ours, f"{paper[str(cell)][method][place]:.2f}"))
    return [
        Table("Accuracy on Cora with K steps", ("labels", "method", "K", "ours", "paper"), rows, n_labels=3)
    ]


def plan_sensitivity(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, SENSITIVE)
        for setting in WEIGHTS
        for value in SEARCH_SPACE[setting]
        for scheduled in repeated("ALT-OPT", cell, only.n_splits or 5, only.n_runs or 1, ((setting, value),))
    ]


def show_sensitivity(index: RecordIndex) -> list[Shown]:
    return [
        Chart(
            f"{symbol}, the other at its tuned value",
            symbol,
            "test accuracy, %",
            [
                series_of(
                    index,
                    cell.dataset,
                    "ALT-OPT",
                    [(value, cell, ((setting, value),)) for value in SEARCH_SPACE[setting]],
                )
                for cell in SENSITIVE
            ],
            published.notes("sensitivity"),
        )
        for setting, symbol in WEIGHTS.items()
    ]


def series_of(index: RecordIndex, name: str, method: str, places: list[tuple[Any, Cell, Change]]) -> Series:
    """Means with their deviations, where there are runs."""
    accuracies = {x: index.accuracies(method, cell, change) for x, cell, change in places}
    recorded = {x: values for x, values in accuracies.items() if len(values)}
    means = [float(values.mean()) for values in recorded.values()]
    marks = [index.mark(index.good(method, cell, change)) for x, cell, change in places if len(accuracies[x])]
    return Series(name, list(recorded), means, [float(values.std()) for values in recorded.values()], marks)


@dataclass(frozen=True)
class SurestNodes(Work):
    """Accuracy of the K most certain unlabelled nodes of each class, after the first update of F and by LP."""

    cell: Cell
    split: int

    @property
    def key(self) -> str:
        return f"surest nodes, {self.cell}, split {self.split}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    def identity(self) -> Record:
        return {"dataset": self.cell.dataset, "rate": self.cell.rate, "split_number": self.split}

    def measure(self, contexts: Contexts) -> Record:
        context = contexts(self.cell.dataset)
        data, y = context.dataset, np.asarray(context.dataset.y)
        known = hide(y, split_of(data, self.cell.rate, self.split).train)
        settings, source = tuned_settings(METHODS["ALT-OPT"], self.cell)
        config = AltOptConfig.from_settings(settings | {"n_rounds": 0})
        model = config.model(self.split, context.feature_inputs).fit(data.X, known, data.graph)
        peer_settings, peer_source = tuned_settings(METHODS["LP"], self.cell)
        peer = LP(**peer_settings).fit(data.X, known, data.graph)
        right = {
            "ALT-OPT": right_at(model.label_distributions_, y, known),
            "LP": right_at(peer.label_distributions_, y, known),
        }
        return {"right": right, "tops": TOPS, "settings_from": [source, peer_source]}


def right_at(S: Array, y: Array, known: Array) -> list[float]:
    """Accuracy on the K most certain unlabelled nodes of each class, for each K; certainty is 1 - H(S_i) / log c."""
    label, n_classes = S.argmax(axis=1), S.shape[1]
    certainty = 1 + np.sum(S * np.log(np.maximum(S, 1e-12)), axis=1) / np.log(n_classes)
    unlabelled = np.flatnonzero(known < 0)
    order = unlabelled[np.argsort(-certainty[unlabelled], kind="stable")]
    by_class = [order[label[order] == k] for k in range(n_classes)]
    return [round(accuracy(label, y, np.concatenate([nodes[:K] for nodes in by_class])), 6) for K in TOPS]


def plan_top(only: RunFilter) -> list[ScheduledRun]:
    cell = Cell("Cora", "20")
    return [
        ScheduledRun(k, SurestNodes(cell, k)) for k in range(only.n_splits or N_SPLITS) if only.matches(cell)
    ]


def show_top(index: RecordIndex) -> list[Shown]:
    records = [
        line
        for k in range(N_SPLITS)
        if (line := index.get(SurestNodes(Cell("Cora", "20"), k).key)) is not None
    ]
    series = []
    for method in ("ALT-OPT", "LP") if records else ():
        values = 100 * np.array([line["right"][method] for line in records])
        means, spread = values.mean(axis=0).tolist(), values.std(axis=0).tolist()
        series.append(Series(method, list(TOPS), means, spread, [index.mark(records)] * len(TOPS)))
    title = f"Cora, 20 labels per class, {len(records)} splits, after the first update of F"
    return [Chart(title, "K, surest nodes of each class", "right, %", series, published.notes("top-k"))]


def plan_rounds(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, ROUND_CELLS)
        for change in ROUNDS.values()
        for scheduled in repeated(
            "ALT-OPT", cell, min(only.n_splits or N_SPLITS, cell.n_splits), only.n_runs or 1, change
        )
    ]


def rounds_table(index: RecordIndex) -> Table:
    rows = [
        (name, *(index.text("ALT-OPT", cell, change) for cell in ROUND_CELLS))
        for name, change in ROUNDS.items()
    ]
    note = (
        "ALT-OPT-k makes k updates of F, as the paper's: k - 1 rounds and the last update. ALT-OPT as we tuned it, not "
        "the paper's method; 100 epochs on labels come first, all others are spread over the rounds."
    )
    return Table("Accuracy by the number of updates of F", ("method", *map(str, ROUND_CELLS)), rows, (note,))


ABLATION = PaperTable("ablation", "Ablation of diffusion and pseudo labels", plan_ablation, show_ablation)
LAYER_TABLE = PaperTable("layers", "Number of propagation layers", plan_layers, show_layers)
TOP_K = PaperTable("top-k", "Accuracy of the most certain pseudo labels", plan_top, show_top)
SENSITIVITY = PaperTable(
    "sensitivity", "Sensitivity of lambda1 and lambda2", plan_sensitivity, show_sensitivity
)
