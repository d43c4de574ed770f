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
from altopt_lab.experiments.records import Record
from altopt_lab.experiments.run import Change, Grounds, made_on
from altopt_lab.experiments.tables.table import (
    Artefact,
    Ask,
    Chart,
    Series,
    Shelf,
    Shown,
    Table,
    Turn,
    repeated,
)
from altopt_lab.experiments.tuned import tuned_settings

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


def plan_ablation(ask: Ask) -> list[Turn]:
    cells = [Cell(name, rate) for rate in RATES for name in ABLATION_DATA]
    return [
        turn
        for cell in filter(ask.wants, cells)
        for change in ABLATIONS.values()
        for turn in repeated("ALT-OPT", cell, ask.n_splits or N_SPLITS, ask.n_runs or 1, change)
    ]


def show_ablation(shelf: Shelf) -> list[Shown]:
    charts: list[Shown] = []
    for name in ABLATION_DATA:
        series = [
            series_of(shelf, words, "ALT-OPT", [(rate, Cell(name, rate), change) for rate in RATES])
            for words, change in ABLATIONS.items()
        ]
        charts.append(
            Chart(
                name, "labels per class", "test accuracy, %", series, published.notes("ablation"), kind="bars"
            )
        )
    return charts


def plan_layers(ask: Ask) -> list[Turn]:
    return [
        turn
        for cell in filter(ask.wants, (Cell("Cora", rate) for rate in LAYER_RATES))
        for method in ("ALT-OPT", "APPNP")
        for K in LAYERS
        for turn in repeated(method, cell, ask.n_splits or N_SPLITS, ask.n_runs or 1, (("n_steps", K),))
    ]


def show_layers(shelf: Shelf) -> list[Shown]:
    paper, rows = published.published("layers"), []
    for rate in LAYER_RATES:
        for method in ("APPNP", "ALT-OPT"):
            for place, K in enumerate(LAYERS):
                cell = Cell("Cora", rate)
                ours = shelf.words(method, cell, (("n_steps", K),))
                rows.append((rate, method, str(K), ours, f"{paper[str(cell)][method][place]:.2f}"))
    return [
        Table("Accuracy on Cora with K steps", ("labels", "method", "K", "ours", "paper"), rows, n_labels=3)
    ]


def plan_sensitivity(ask: Ask) -> list[Turn]:
    return [
        turn
        for cell in filter(ask.wants, SENSITIVE)
        for setting in WEIGHTS
        for value in SEARCH_SPACE[setting]
        for turn in repeated("ALT-OPT", cell, ask.n_splits or 5, ask.n_runs or 1, ((setting, value),))
    ]


def show_sensitivity(shelf: Shelf) -> list[Shown]:
    return [
        Chart(
            f"{symbol}, the other at its tuned value",
            symbol,
            "test accuracy, %",
            [
                series_of(
                    shelf,
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


def series_of(shelf: Shelf, name: str, method: str, places: list[tuple[Any, Cell, Change]]) -> Series:
    """Means with their deviations, where there are runs."""
    found = [(x, shelf.accuracies(method, cell, change)) for x, cell, change in places]
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
    def reads(self) -> str:
        return self.cell.dataset

    def stands(self, record: Record) -> bool:
        return True

    def perform(self, grounds: Grounds) -> Record:
        ground, method = grounds(self.cell.dataset), METHODS["ALT-OPT"]
        data, y = ground.dataset, np.asarray(ground.dataset.y)
        split = split_of(data, self.cell.rate, self.split)
        known = hide(y, split.train)
        settings, source = tuned_settings(method, self.cell)
        model = (
            form(settings | {"n_rounds": 0}).model(self.split, ground.shared).fit(data.X, known, data.graph)
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


def plan_top(ask: Ask) -> list[Turn]:
    cell = Cell("Cora", "20")
    return [Turn(k, SurestNodes(cell, k)) for k in range(ask.n_splits or N_SPLITS) if ask.wants(cell)]


def show_top(shelf: Shelf) -> list[Shown]:
    found = [
        line
        for k in range(N_SPLITS)
        if (line := shelf.get(SurestNodes(Cell("Cora", "20"), k).key)) is not None
    ]
    series = []
    for method in ("ALT-OPT", "LP") if found else ():
        values = 100 * np.array([line["right"][method] for line in found])
        series.append(Series(method, list(TOPS), values.mean(axis=0).tolist(), values.std(axis=0).tolist()))
    title = f"Cora, 20 labels per class, {len(found)} splits, after the first update of F"
    return [Chart(title, "K, surest nodes of each class", "right, %", series, published.notes("top-k"))]


def plan_rounds(ask: Ask) -> list[Turn]:
    return [
        turn
        for cell in filter(ask.wants, ROUND_CELLS)
        for change in ROUNDS.values()
        for turn in repeated("ALT-OPT", cell, ask.n_splits or N_SPLITS, ask.n_runs or 1, change)
    ]


def rounds_table(shelf: Shelf) -> Table:
    rows = [
        (name, *(shelf.words("ALT-OPT", cell, change) for cell in ROUND_CELLS))
        for name, change in ROUNDS.items()
    ]
    return Table("Accuracy by the number of updates of F", ("method", *map(str, ROUND_CELLS)), rows)


ABLATION = Artefact("ablation", "What diffusion and pseudo labels give", plan_ablation, show_ablation)
LAYER_TABLE = Artefact("layers", "Number of propagation layers", plan_layers, show_layers)
TOP_K = Artefact("top-k", "Accuracy of the surest pseudo labels", plan_top, show_top)
SENSITIVITY = Artefact(
    "sensitivity", "Sensitivity of lambda1 and lambda2", plan_sensitivity, show_sensitivity
)
