"""The paper's studies of ALT-OPT itself: what each part gives, how many steps, how surely, how sensitive."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.datasets.splits import hide
from altopt.training.pseudo_labels import Readout
from altopt_lab.baselines import LP
from altopt_lab.experiments import published
from altopt_lab.experiments.config import SEARCH_SPACE, form
from altopt_lab.experiments.methods import METHODS
from altopt_lab.experiments.protocols import N_SPLITS, RATES, Cell, split_of
from altopt_lab.experiments.run import Change, DatasetContexts, made_on
from altopt_lab.experiments.tables.paper_table import (
    Chart,
    PaperTable,
    RecordIndex,
    RunFilter,
    ScheduledRun,
    Series,
    Shown,
    Table,
    repeated,
)
from altopt_lab.experiments.tuned import tuned_settings
from altopt_lab.records import Record

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
ROUNDS: dict[str, Change] = {f"ALT-OPT-{k}": (("n_rounds", k),) for k in (1, 2, 3, 4, 5)} | {
    "ALT-OPT-Full": FULL
}
ROUND_CELLS = (Cell("Cora", "20"), Cell("CiteSeer", "20"), Cell("PubMed", "20"))


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
                ours = index.words(method, cell, (("n_steps", K),))
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
    found = [(x, index.accuracies(method, cell, change)) for x, cell, change in places]
    there = [(x, values) for x, values in found if len(values)]
    return Series(
        name,
        [x for x, _ in there],
        [float(values.mean()) for _, values in there],
        [float(values.std()) for _, values in there],
    )


@dataclass(frozen=True)
class SurestNodes:
    """How often the K surest unlabelled nodes of each class are right, after the first update of F and by LP."""

    cell: Cell
    split: int

    @property
    def key(self) -> str:
        return f"surest nodes, {self.cell}, split {self.split}"

    @property
    def needs_dataset(self) -> str:
        return self.cell.dataset

    def is_current(self, record: Record) -> bool:
        return True

    def perform(self, contexts: DatasetContexts) -> Record:
        context, method = contexts(self.cell.dataset), METHODS["ALT-OPT"]
        data, y = context.dataset, np.asarray(context.dataset.y)
        split = split_of(data, self.cell.rate, self.split)
        known = hide(y, split.train)
        settings, source = tuned_settings(method, self.cell)
        model = (
            form(settings | {"n_rounds": 0}).model(self.split, context.shared).fit(data.X, known, data.graph)
        )
        peer, peer_source = tuned_settings(METHODS["LP"], self.cell)
        spread = LP(**peer).fit(data.X, known, data.graph)
        reading = model._pseudo_labels().read(model.scores_)
        found = {"ALT-OPT": right_at(reading, y, known)}
        S = spread.label_distributions_
        entropy = -np.sum(S * np.log(np.maximum(S, 1e-12)), axis=1) / np.log(S.shape[1])
        found["LP"] = right_at(Readout(1 - entropy, S.argmax(axis=1), S.shape[1]), y, known)
        line = {"key": self.key, "dataset": self.cell.dataset, "rate": self.cell.rate, "right": found}
        return (
            line
            | {"tops": TOPS, "settings_from": [source, peer_source], "split_number": self.split}
            | made_on()
        )


def right_at(reading: Readout, y: Array, known: Array) -> list[float]:
    """Share of right labels among the K surest unlabelled nodes of each class, for each K."""
    free = np.flatnonzero(known < 0)
    order = free[np.argsort(-reading.w[free], kind="stable")]
    by_class = [order[reading.label[order] == k] for k in range(reading.n_classes)]
    chosen = [np.concatenate([nodes[:K] for nodes in by_class]) for K in TOPS]
    return [round(float(np.mean(reading.label[nodes] == y[nodes])), 6) for nodes in chosen]


def plan_top(only: RunFilter) -> list[ScheduledRun]:
    cell = Cell("Cora", "20")
    return [
        ScheduledRun(k, SurestNodes(cell, k)) for k in range(only.n_splits or N_SPLITS) if only.matches(cell)
    ]


def show_top(index: RecordIndex) -> list[Shown]:
    found = [
        line
        for k in range(N_SPLITS)
        if (line := index.get(SurestNodes(Cell("Cora", "20"), k).key)) is not None
    ]
    series = []
    for method in ("ALT-OPT", "LP") if found else ():
        values = 100 * np.array([line["right"][method] for line in found])
        series.append(Series(method, list(TOPS), values.mean(axis=0).tolist(), values.std(axis=0).tolist()))
    title = f"Cora, 20 labels per class, {len(found)} splits, after the first update of F"
    return [Chart(title, "K, surest nodes of each class", "right, %", series, published.notes("top-k"))]


def plan_rounds(only: RunFilter) -> list[ScheduledRun]:
    return [
        scheduled
        for cell in filter(only.matches, ROUND_CELLS)
        for change in ROUNDS.values()
        for scheduled in repeated("ALT-OPT", cell, only.n_splits or N_SPLITS, only.n_runs or 1, change)
    ]


def rounds_table(index: RecordIndex) -> Table:
    rows = [
        (name, *(index.words("ALT-OPT", cell, change) for cell in ROUND_CELLS))
        for name, change in ROUNDS.items()
    ]
    return Table("Accuracy by the number of updates of F", ("method", *map(str, ROUND_CELLS)), rows)


ABLATION = PaperTable("ablation", "What diffusion and pseudo labels give", plan_ablation, show_ablation)
LAYER_TABLE = PaperTable("layers", "Number of propagation layers", plan_layers, show_layers)
TOP_K = PaperTable("top-k", "Accuracy of the surest pseudo labels", plan_top, show_top)
SENSITIVITY = PaperTable(
    "sensitivity", "Sensitivity of lambda1 and lambda2", plan_sensitivity, show_sensitivity
)
