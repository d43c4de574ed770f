"""How good a fit on files is, from its own labels: folds, leave-one-out, and how F is to be read."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from safetensors.numpy import load_file

from altopt.arrays import Array, one_hot
from altopt.scale import evaluation_jobs  # noqa: F401  (fills the table of jobs)
from altopt.scale.fit import Fitting, Rounds
from altopt.scale.job import Job
from altopt.scale.jobs import degrees_of
from altopt.scale.plan import columns
from altopt.scale.solve import rough_steps
from altopt.scale.wanted import places
from altopt.selection.calibration import NodeKind
from altopt.selection.draw import ClassPrior
from altopt.selection.held_out import HeldOut, Verdict, judge
from altopt.selection.leave_one_out import (
    LeaveOneOut,
    concluded,
    empty_leave_one_out,
    exact_sample,
    without_own_label,
)
from altopt.training.samples import shuffled


class FoldScores(NamedTuple):
    """F from all labels, with P that never saw those of a fold: of the fold's nodes, and of the unlabelled sample."""

    own: Array
    rest: Array


@dataclass
class Evaluation:
    """Held-out labels of a fit: as in memory on large graphs, two folds and no rounds.

    Parameters
    ----------
    fitting : Fitting
    class_prior : ClassPrior
    """

    fitting: Fitting
    class_prior: ClassPrior

    @cached_property
    def evaluated(self) -> Array:
        """Which labels can be held out: those of classes with two or more."""
        codes = self.fitting.graph.labels
        return np.bincount(codes)[codes] > 1

    @cached_property
    def fold(self) -> Array:
        """The fold of each label."""
        return self._of_labels["fold"]

    @cached_property
    def _of_labels(self) -> dict[str, Array]:
        return load_file(self.fitting.runner.store.path(self.fitting.folds))

    @cached_property
    def rest(self) -> Array:
        """The sample of unlabelled nodes, the same for every fold."""
        return self._samples["sample"]

    @property
    def rest_by_key(self) -> Array:
        """Places in `rest`, shuffled from the order of the nodes' keys."""
        return shuffled(places(self.rest, self._samples["by_key"]), self.fitting.recipe.schedule.seed)

    @cached_property
    def _samples(self) -> dict[str, Array]:
        return self.fitting.arrays(self.asked(int(self.fold[self.evaluated][0])), "nodes")

    @property
    def key(self) -> Array:
        """A number for each evaluated label that follows from what its node is like."""
        return np.asarray(self._of_labels["key"][self.evaluated])

    def asked(self, k: int) -> Job:
        """The nodes that the fit without a fold is asked for."""
        fitting = self.fitting
        limit, seed = fitting.recipe.defaults.confidence_sample, fitting.recipe.schedule.seed
        settings = fitting.of_inputs | {"limit": limit, "seed": seed, "fold": k}
        inputs = (fitting.labels, fitting.order, fitting.folds)
        return fitting.run(Job("choose nodes", settings, inputs, ("nodes",)))[0]

    def fold_scores(self, k: int) -> FoldScores:
        fitting, asked = self.fitting, self.asked(k)
        n_steps = rough_steps(fitting.recipe.weights)
        encoder = fitting.warm_up(k)
        made = fitting.panel_jobs(
            "solve panel", encoder, ("rows",), asked.file("nodes"), start="encoder", n_steps=n_steps
        )
        fitting.run(*made)
        F = np.concatenate([fitting.arrays(job, "rows")["rows"] for job in made], axis=1)
        nodes = fitting.arrays(asked, "nodes")["nodes"]
        own = fitting.graph.labelled[(self.fold == k) & self.evaluated]
        return FoldScores(F[places(nodes, own)], F[places(nodes, self.rest)])

    @cached_property
    def by_fold(self) -> list[FoldScores]:
        return [self.fold_scores(k) for k in np.unique(self.fold[self.evaluated]).tolist()]

    @cached_property
    def exact(self) -> Array:
        """Which of the evaluated labels are taken out exactly."""
        recipe = self.fitting.recipe
        return exact_sample(self.key, self.fitting.graph.n_nodes, recipe.schedule.seed, recipe.defaults)

    def inverse_diagonal(self) -> Array:
        """g_ii of the evaluated nodes: by short walks, and where that is not certain enough solved for."""
        fitting, weights = self.fitting, self.fitting.recipe.weights
        settings = {"weights": [weights.feature, weights.label]}
        inputs = (fitting.edges, fitting.labels)
        [walks] = fitting.run(Job("short walks", settings, inputs, ("returning",)))
        returning = fitting.arrays(walks, "returning")["returning"][self.evaluated]
        unlabelled, labelled = np.asarray(weights.bounds.step_scale)
        rho = 1.0 / unlabelled
        g = (1.0 + returning) / labelled
        uncertain = np.flatnonzero(
            self.exact & (returning * rho / (1.0 - rho) > fitting.recipe.defaults.exact_rtol)
        )
        nodes = fitting.graph.labelled[self.evaluated][uncertain]
        bounds = columns(len(nodes), fitting.plan.width) if len(nodes) else []
        panels = [
            Job(
                "unit panel",
                settings | {"storage": fitting.plan.storage, "nodes": nodes[first:last].tolist()},
                inputs,
                ("g",),
            )
            for first, last in bounds
        ]
        fitting.run(*panels)
        for (first, last), panel in zip(bounds, panels):
            g[uncertain[first:last]] = fitting.arrays(panel, "g")["g"]
        return np.asarray(g)

    def unreached(self) -> Array:
        """Nodes without features that no labelled node is connected to."""
        fitting = self.fitting
        inputs = (fitting.edges, fitting.labels, fitting.columns.file("featureless"))
        [found] = fitting.run(Job("find unreached", {}, inputs, ("unreached",)))
        return fitting.arrays(found, "unreached")["nodes"]

    def prepare(self) -> None:
        """What needs no final F: in memory it comes before the rounds."""
        if self.evaluated.any():
            self.by_fold  # noqa: B018
            self.inverse_diagonal()

    def conclude(self, rounds: Rounds, unreached: Array) -> tuple[LeaveOneOut, Verdict | None]:
        """Accuracy, margins, and how F is read."""
        graph, recipe, mask = self.fitting.graph, self.fitting.recipe, self.evaluated
        classes, nodes, codes = np.array(graph.classes), graph.labelled[mask], graph.labels[mask]
        if not len(nodes):
            return empty_leave_one_out(np.arange(0), classes), None
        whole = np.empty((len(nodes), len(classes)), self.by_fold[0].own.dtype)
        numbers, fold = np.unique(self.fold[mask], return_inverse=True)
        for k in range(len(numbers)):
            whole[fold == k] = self.by_fold[k].own
        Y = one_hot(codes, len(classes), whole.dtype)
        scores = without_own_label(whole, Y, self.inverse_diagonal(), recipe.weights.label)
        kinds = np.where(degrees_of(graph.csr, self.rest) == 0, NodeKind.ISOLATED, NodeKind.TIED)
        kinds[np.isin(self.rest, unreached)] = NodeKind.UNREACHED
        exact, rest = self.exact, self.rest_by_key
        labels = np.flatnonzero(exact)
        order = np.argsort(self.key[labels], kind="stable")
        labels = labels[order]
        verdict = judge(
            HeldOut(
                codes=codes[labels],
                fold=fold[labels],
                scores=scores[labels],
                counts=np.bincount(graph.labels, minlength=len(classes)),
                n_rest=graph.n_nodes - graph.n_labelled,
                rest=self.fitting.sheet(rounds.F).gather(self.rest).astype(whole.dtype)[rest],
                rest_by_folds=[scores.rest[rest] for scores in self.by_fold],
                rest_kinds=kinds.astype(np.int8)[rest],
                isolated=(degrees_of(graph.csr, nodes[exact]) == 0)[order],
                rate_of_features=None,
                class_prior=self.class_prior,
                classes=classes,
                seed=recipe.schedule.seed,
                defaults=recipe.defaults,
            )
        ).rearranged(np.argsort(order))
        return concluded(verdict, scores, exact, self.ids_of(nodes), codes, classes), verdict

    def ids_of(self, nodes: Array) -> Array:
        """The ids of some rising nodes."""
        graph = self.fitting.graph
        if graph.id_kind == "positions":
            return nodes
        step, found = 1 << 17, []
        for first in range(0, graph.n_nodes, step):
            begin, end = np.searchsorted(nodes, (first, first + step))
            if end > begin:
                ids = graph.ids(first, min(first + step, graph.n_nodes))
                found.append(ids[nodes[begin:end] - first])
        return np.concatenate(found)
