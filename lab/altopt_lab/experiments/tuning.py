"""Tuning with optuna on validation accuracy; trials are recorded, so that a search can be resumed.

A trial is fitted on one tuning split after another and pruned when it is behind. The best few are then fitted on more
splits, because the best of many trials on two splits is mostly luck. No test label is used, and no tuning split is ever
reported.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean
from typing import Any

import numpy as np

from altopt.arrays import Array
from altopt.errors import InputError
from altopt.training.class_priors import class_weights, priors_from_confusion
from altopt_lab.experiments import tuned
from altopt_lab.experiments.context import DatasetContext
from altopt_lab.experiments.method import Method, Settings, projected_on
from altopt_lab.experiments.protocols import CO_OCCURRENCE, INDUCTIVE, Cell, split_of, tuning_splits
from altopt_lab.experiments.work import made_on
from altopt_lab.metrics import accuracy
from altopt_lab.records import Record, Records

LONGEST_FIT = 8.0  # CPU seconds: slower settings of ALT-OPT are not chosen, for hundreds of runs follow


@dataclass(frozen=True)
class Effort:
    """The extent of a search.

    Parameters
    ----------
    n_trials, n_splits : int
        Trials, and tuning splits of each.
    n_finalists, n_final_splits : int
        Trials that are fitted on more splits, and those splits, the first ones included.
    seconds : float
        No trial starts after this time.
    longest_fit : float
        Settings under which a fit takes more seconds are not chosen.
    """

    n_trials: int = 24
    n_splits: int = 2
    n_finalists: int = 3
    n_final_splits: int = 4
    seconds: float = 1e9
    longest_fit: float = 1e9


def usual_effort(method: Method, cell: Cell) -> Effort:
    """More splits and more finalists where splits differ much: with few labels or few validation nodes.

    Peers are tuned twice for a data set, at 20 labels of each class and at 30 % of all nodes, and their fits take
    many times as long.
    """
    if method.tuned_by != "cell":
        return Effort()
    if cell.rate in ("5", "10") or cell.dataset in CO_OCCURRENCE:
        return Effort(n_splits=4, n_finalists=8, n_final_splits=18, longest_fit=LONGEST_FIT)
    return Effort(longest_fit=LONGEST_FIT)


def tune(
    method: Method,
    cell: Cell,
    context: DatasetContext,
    records: Records,
    effort: Effort,
    log: Callable[[str], None] = lambda line: None,
) -> Record:
    """Choose a cell's settings; trials on record count, and what is chosen goes into the method's file."""
    name, inductive = tuned.name_in_file(method, cell), cell.rate == INDUCTIVE
    space = method.space(inductive=inductive)
    trials = Trials(method, cell, name, context, records)
    study = new_study(effort.n_splits)
    for scores in trials.by_settings.values():
        study.add_trial(past_trial(study, space, scores, effort))
    for settings in [
        *method.initial_settings(),
        *(projected_on(scored, space) for scored in tuned.chosen_elsewhere(method, name)),
    ]:
        if trials.canonical(settings) not in trials.by_settings:
            study.enqueue_trial(settings, skip_if_exists=True)
    began = time.perf_counter()
    while trials.n_within(space) < min(effort.n_trials, n_points(space)):
        if time.perf_counter() - began > effort.seconds and len(trials.by_settings) >= 4:
            break
        if not one_trial(study, space, trials, effort, log):
            break
    best = trials.ranking(effort.n_splits, effort.longest_fit)[: effort.n_finalists]
    for settings in best:
        for split in tuning_splits(cell)[: effort.n_final_splits]:
            if time.perf_counter() - began < effort.seconds:
                trials.score(settings, split)
    n_most = max(len(trials.by_settings[trials.canonical(s)].scores) for s in best)
    winner = trials.ranking(n_most, effort.longest_fit)[0]
    scored = trials.by_settings[trials.canonical(winner)]
    entry = {
        "settings": {key: value for key, value in winner.items() if key not in trials.fixed},
        "validation_accuracy": round(mean(scored.scores.values()), 6),
        "rate": cell.rate,
        "splits": sorted(scored.scores),
        "trials": len(trials.by_settings),
    }
    tuned.write(method.name, name, entry)
    percent = 100 * mean(scored.scores.values())
    log(f"{method.name} on {name}: {percent:.2f} % of validation labels with {winner}")
    return entry


@dataclass
class Scores:
    settings: Settings
    scores: dict[int, float]  # validation accuracy by tuning split
    seconds: float = 0.0  # of the quickest fit: others may have had to share the machine


class Trials:
    """What has been tried in a cell, by settings."""

    def __init__(
        self, method: Method, cell: Cell, name: str, context: DatasetContext, records: Records
    ) -> None:
        self.method, self.cell, self.name, self.context, self.records = method, cell, name, context, records
        self.fixed = method.fixed_on(cell.dataset)
        self.by_settings: dict[str, Scores] = {}
        for line in records.lines:
            alike = line.get("by_class_size", False) == cell.stratified_validation
            if (line["method"], line["name"]) == (method.name, name) and alike:
                self._keep(line["settings"], line["split_seed"], line["validation_accuracy"], line["seconds"])

    def canonical(self, settings: Settings) -> str:
        return repr(sorted(self.used(settings).items()))

    def used(self, settings: Settings) -> Settings:
        """With what the data set fixes, without what then has no effect."""
        return self.method.drop_unused(settings | self.fixed)

    def n_within(self, space: dict[str, tuple[Any, ...]]) -> int:
        """How many chose all that the space has by now; others, from when it was smaller, only guide the search."""
        tried = (entry.settings for entry in self.by_settings.values())
        return sum(
            set(self.method.drop_unused(projected_on(settings, space))) <= set(settings) for settings in tried
        )

    def _keep(self, settings: Settings, split: int, score: float, seconds: float) -> None:
        settings = self.used(settings)
        entry = self.by_settings.setdefault(self.canonical(settings), Scores(settings, {}, seconds))
        entry.scores[split] = score
        entry.seconds = min(entry.seconds, seconds)

    def score(self, settings: Settings, seed: int) -> float:
        """Validation accuracy on a tuning split; fitted if it is not on record."""
        settings = self.used(settings)
        known = self.by_settings.get(self.canonical(settings))
        if known is not None and seed in known.scores:
            return known.scores[seed]
        data = self.context.dataset
        split = split_of(data, self.cell.rate, seed)
        fit = self.method.fit_inductively if self.cell.rate == INDUCTIVE else self.method.fit
        began = time.process_time()
        try:
            fitted = fit(self.context, split, settings, seed)
            judge = by_class_size if self.cell.stratified_validation else accuracy
            validation_accuracy = round(judge(fitted.labels, np.asarray(data.y), split.validation), 6)
        except (ArithmeticError, RuntimeError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            validation_accuracy = 0.0
        seconds = time.process_time() - began
        line = {
            "method": self.method.name,
            "name": self.name,
            "dataset": self.cell.dataset,
            "rate": self.cell.rate,
            "split_seed": seed,
            "settings": settings,
            "validation_accuracy": validation_accuracy,
            "seconds": round(seconds, 3),
        } | ({"by_class_size": True} if self.cell.stratified_validation else {})
        self.records.add(line | {"made": made_on()["made"]})
        self._keep(settings, seed, validation_accuracy, seconds)
        return validation_accuracy

    def ranking(self, n_splits: int, longest_fit: float) -> list[Settings]:
        """Best first, by the mean over splits, of those fitted on at least so many splits and quickly enough."""
        tried = list(self.by_settings.values())
        quick = [entry for entry in tried if entry.seconds <= longest_fit] or tried
        most = max(len(entry.scores) for entry in quick)
        fair = [entry for entry in quick if len(entry.scores) >= min(n_splits, most)]
        return [entry.settings for entry in sorted(fair, key=lambda entry: -mean(entry.scores.values()))]


def by_class_size(labels: Array, y: Array, nodes: Array) -> float:
    """The share of all nodes that are labelled rightly, from `nodes` drawn by class: classes count by their size."""
    classes, codes = np.unique(y[nodes], return_inverse=True)
    predicted = np.searchsorted(classes, labels)
    weights = class_weights(
        codes, priors_from_confusion(codes, predicted[nodes], np.bincount(predicted, minlength=len(classes)))
    )
    return float(np.mean(weights * (labels[nodes] == y[nodes])))


def new_study(n_splits: int) -> Any:
    try:
        import optuna
    except ImportError as cause:
        raise InputError(
            "Tuning needs optuna, which is not installed. It comes with altopt-lab: pip install -e lab."
        ) from cause
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=0, n_startup_trials=8, multivariate=False)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=n_splits // 3)
    return optuna.create_study(direction="maximize", sampler=sampler, pruner=pruner)


def past_trial(study: Any, space: dict[str, tuple[Any, ...]], entry: Scores, effort: Effort) -> Any:
    """A trial on record as optuna knows it."""
    import optuna

    full = projected_on(entry.settings, space)
    means = {step: mean(list(entry.scores.values())[: step + 1]) for step in range(len(entry.scores))}
    finished = len(entry.scores) >= effort.n_splits
    state = optuna.trial.TrialState.COMPLETE if finished else optuna.trial.TrialState.PRUNED
    return optuna.trial.create_trial(
        params=full,
        distributions={key: categories(choices) for key, choices in space.items()},
        value=mean(entry.scores.values()),
        intermediate_values=means,
        state=state,
    )


def categories(choices: tuple[Any, ...]) -> Any:
    import optuna

    return optuna.distributions.CategoricalDistribution(choices)


def one_trial(
    study: Any, space: dict[str, tuple[Any, ...]], trials: Trials, effort: Effort, log: Callable[[str], None]
) -> bool:
    """Ask for settings not yet tried, fit split after split, stop when behind; False when nothing new comes up."""
    import optuna

    for _ in range(20):  # settings that differ only in what has no meaning are the same
        trial = study.ask({key: categories(choices) for key, choices in space.items()})
        if trials.canonical(trial.params) not in trials.by_settings:
            break
        study.tell(trial, mean(trials.by_settings[trials.canonical(trial.params)].scores.values()))
    else:
        return False
    scores = []
    for step, split in enumerate(tuning_splits(trials.cell)[: effort.n_splits]):
        scores.append(trials.score(trial.params, split))
        trial.report(mean(scores), step)
        slow = trials.by_settings[trials.canonical(trial.params)].seconds > effort.longest_fit
        if trial.should_prune() or slow:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            break
    else:
        study.tell(trial, mean(scores))
    number = trials.n_within(space)
    words = f"{trials.method.name} on {trials.name}, trial {number} of {effort.n_trials}"
    log(f"{words}: {100 * mean(scores):.2f} %")
    return True


def n_points(space: dict[str, tuple[Any, ...]]) -> int:
    return int(np.prod([len(choices) for choices in space.values()], dtype=object)) if space else 1
