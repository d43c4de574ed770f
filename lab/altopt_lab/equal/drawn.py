"""The settings that a method tries in a cell: one that it is published with, five drawn at random."""

from dataclasses import asdict
from typing import Any
from zlib import crc32

import numpy as np

from altopt_lab.baselines import SearchSpace
from altopt_lab.equal.contest import N_TRIALS
from altopt_lab.equal.paper_method import USUAL
from altopt_lab.experiments.config import AltOptConfig
from altopt_lab.experiments.method import Settings
from altopt_lab.experiments.methods import WIDER, find_method
from altopt_lab.experiments.protocols import INDUCTIVE, Cell
from altopt_lab.experiments.tuning import n_points

SEED = 24
KIPF: Settings = {"learning_rate": 0.01, "dropout": 0.5, "weight_decay": 5e-4, "scale_rows": True}
# what its authors published a method with, on citation graphs where they have several; rows are scaled as GCN's are
AUTHORS: dict[str, Settings] = {
    "GCN": KIPF,
    "GAT": KIPF | {"learning_rate": 0.005, "dropout": 0.6},
    "APPNP": KIPF | {"weight_decay": 5e-3, "n_steps": 10, "restart": 0.1, "root": False},
    "SGC": KIPF | {"learning_rate": 0.2, "dropout": 0.0, "weight_decay": 5e-6, "n_steps": 2},
    "C&S": KIPF
    | {"weight_decay": 0.0, "n_steps": 50, "correct_alpha": 0.979, "smooth_alpha": 0.756, "autoscale": True},
    "PTA": KIPF | {"learning_rate": 0.1, "dropout": 0.0, "weight_decay": 5e-3, "n_steps": 10, "restart": 0.1},
    "PPRGo": KIPF
    | {"learning_rate": 0.005, "dropout": 0.1, "weight_decay": 1e-4, "restart": 0.25, "n_nearest": 32},
    "LP": {"alpha": 0.99, "n_steps": 50, "hold": False},
}


def six(name: str, cell: Cell) -> list[Settings]:
    """The first trial and five drawn points; methods with one space draw the same points in a cell."""
    method = find_method(name)
    space = method.space(inductive=cell.rate == INDUCTIVE)
    tried = [method.drop_unused(nearest(first(name), space))]
    rng = np.random.default_rng([SEED, crc32(str(cell).encode())])
    n_wanted = min(N_TRIALS, n_points(space))
    while len(tried) < n_wanted:
        drawn = {key: choices[rng.integers(len(choices))] for key, choices in space.items()}
        settings = method.drop_unused(drawn)
        if settings not in tried:
            tried.append(settings)
    return tried


def first(name: str) -> Settings:
    """What a method is published with.

    The paper names ranges alone: of its method the settings that we call usual, the same in every cell; of our wider
    form likewise. Of peers without settings of their own for such graphs (MLP, SIGN): GCN's.
    """
    if name == WIDER.name:
        return asdict(AltOptConfig())
    return USUAL if name.startswith("ALT-OPT") else AUTHORS.get(name, KIPF | {"n_steps": 2})


def nearest(settings: Settings, space: SearchSpace) -> Settings:
    """The nearest point of a space: of numbers the nearest choice, of all else the choice itself or the first.

    >>> nearest({"dropout": 0.6, "root": True}, {"dropout": (0.0, 0.5, 0.8), "root": (False, True), "heads": (8,)})
    {'dropout': 0.5, 'root': True, 'heads': 8}
    """
    return {key: nearest_choice(settings.get(key), choices) for key, choices in space.items()}


def nearest_choice(wanted: Any, choices: tuple[Any, ...]) -> Any:
    if wanted in choices:
        return wanted
    numbers = [one for one in choices if isinstance(one, int | float) and not isinstance(one, bool)]
    if isinstance(wanted, int | float) and not isinstance(wanted, bool) and numbers:
        return min(numbers, key=lambda one: abs(one - wanted))
    return choices[0]
