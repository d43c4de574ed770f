"""A model of files as an object with AltOpt's methods: every answer reads the rows it needs, and never all of F."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array, certainty
from altopt.defaults import DEFAULTS
from altopt.errors import InputError
from altopt.fitted import explain as in_memory
from altopt.fitted import push, request, suggest
from altopt.fitted.explanation import Explanation, Parts
from altopt.fitted.lock import ModelLock
from altopt.fitted.model import node_kinds
from altopt.fitted.request import Change
from altopt.graph.validation import UNKNOWN
from altopt.inputs.reduced import PreparedReduced
from altopt.io.folder import folder_lock
from altopt.scale.graph_folder import GraphFolder
from altopt.scale.local_push import LocalSystem
from altopt.scale.model import ModelOfFiles
from altopt.scale.wanted import unlabelled_sample
from altopt.selection.leave_one_out import OUT_OF_DATE, LeaveOneOut

TOO_LARGE = (
    "{name} of all nodes is not held in memory by a model of files. Read the rows you need with rows(nodes), or the "
    "predictions that the fit wrote."
)
WHOLE = (
    "label_distributions_",
    "transduction_",
    "confidence_",
    "encoder_output_",
    "embedding_",
    "reached_",
    "Y_",
)


class StoredModel:
    """What AltOpt.load gives for a model that was fitted with memory=.

    Parameters
    ----------
    files : ModelOfFiles
    """

    def __init__(self, files: ModelOfFiles) -> None:
        self.files, self.lock = files, ModelLock()

    @classmethod
    def load(cls, folder: Path) -> "StoredModel":
        return cls(ModelOfFiles.open(folder))

    def __getattr__(self, name: str) -> Any:
        if name in WHOLE:
            raise AttributeError(TOO_LARGE.format(name=name))
        if name == "leave_one_out_":  # as in memory: it is not there where there is nothing to say
            raise AttributeError(f"leave_one_out_ {self.held_out}")
        raise AttributeError(f"a model of files has no attribute {name!r}.")

    def __repr__(self) -> str:
        n_edges, n_classes = self.graph.csr.n_entries // 2, len(self.classes)
        return f"StoredModel({self.n_nodes:,} nodes, {n_edges:,} edges, {n_classes:,} classes, in {self.files.folder})"

    # what the fit left

    @property
    def graph(self) -> GraphFolder:
        return self.files.graph

    @property
    def n_nodes(self) -> int:
        return self.files.n_nodes

    @property
    def classes(self) -> Array:
        return self.files.classes

    classes_ = classes

    @property
    def scores_(self) -> Any:
        """F, read by rows: scores_[nodes]."""
        return self.files.F

    @property
    def held_out(self) -> LeaveOneOut | str:
        """The held-out results, or a sentence that says why there are none."""
        return OUT_OF_DATE if self.files.changes.any else self.files.leave_one_out

    @property
    def leave_one_out_(self) -> LeaveOneOut:
        if isinstance(self.held_out, str):
            raise AttributeError(f"leave_one_out_ {self.held_out}")
        return self.held_out

    @property
    def choice_(self) -> dict[str, Any]:
        return self.files.choice

    @property
    def trace_(self) -> list[dict[str, Any]]:
        return self.files.trace

    @property
    def outcome_(self) -> str:
        return self.files.outcome

    @property
    def column_names(self) -> list[str]:
        return list(self.graph.feature_names)

    @cached_property
    def inputs(self) -> PreparedReduced:
        """What the encoder reads, of any rows; nothing is read before it is asked for."""
        return PreparedReduced(self.files.Z, self.files.projection, self.files.scaling)  # type: ignore[arg-type]

    @property
    def system(self) -> LocalSystem:
        """H, with the labels as they are now."""
        return LocalSystem(self.graph.csr, self.files.weights, self.files.labels)

    def kinds(self, nodes: Array) -> Array:
        """NodeKind of nodes."""
        indptr = self.graph.csr.indptr
        isolated = np.asarray(indptr[nodes + 1] == indptr[nodes])
        reached = ~np.isin(nodes, self.files.unreached)
        return node_kinds(self.system.codes(nodes) != UNKNOWN, isolated, reached)

    def at(self, nodes: Array) -> "Rows":
        """Class, whether it was given, and probabilities of nodes by position."""
        P = self.files.readout.soften(self.files.F.gather(nodes), self.kinds(nodes))
        given = self.system.codes(nodes)
        return Rows(np.where(given == UNKNOWN, P.argmax(axis=1), given), given != UNKNOWN, P)

    def rows(self, nodes: Any) -> "Rows":
        """The same of nodes by their ids."""
        return self.at(self.graph.positions(list(nodes)))

    # questions

    def explain(self, node: Any, *, tolerance: float | None = None) -> Explanation:
        """The ledger of a node's prediction, as AltOpt.explain."""
        return self.explain_many([node], tolerance=tolerance)[0]

    def explain_many(self, nodes: Any, *, tolerance: float | None = None) -> list[Explanation]:
        request.check_tolerance(tolerance)
        small = self.n_nodes <= in_memory.LARGE_GRAPH
        usual = in_memory.TOLERANCE if small else in_memory.TOLERANCE_ON_LARGE_GRAPHS
        return [self._explain(int(i), tolerance or usual) for i in self.graph.positions(list(nodes))]

    def _explain(self, i: int, tolerance: float) -> Explanation:
        system, weights = self.system, self.files.weights
        pushed = system.push(np.array([i]), np.ones((1, 1)), tolerance)
        moved = np.flatnonzero(pushed.moves[:, 0])
        nodes, p = pushed.nodes[moved], pushed.moves[moved, 0]
        parts = Parts(
            nodes=nodes,
            weights=p,
            features=weights.feature * self.files.encoder_output(nodes).astype(np.float64),
            codes=system.codes(nodes),
            label_weight=weights.label,
            start=None,
            beyond=pushed.residual[:, 0] @ self.files.F.gather(pushed.nodes).astype(np.float64),
            error=float(np.linalg.norm(pushed.residual)) / weights.feature,
            n_reached=len(pushed.nodes),
        )
        names = dict(zip(nodes.tolist(), self.graph.ids_at(nodes).tolist()))

        def name(node: int) -> Any:
            return names[node] if node in names else self.graph.ids_at(np.array([node])).tolist()[0]

        def shares(node: int) -> tuple[Array, Array]:
            columns, entries = system.normalized(node)
            return columns, entries / system.diagonal(columns)

        found = self.at(np.array([i]))
        model = SimpleNamespace(
            lock=self.lock,
            inputs=self.inputs,
            candidate=SimpleNamespace(feature_weight=weights.feature),
            encoder=self.files.learner,
            seed=self.files.seed,
            labels={i: found.codes[0]},
            scores={i: self.files.F.gather(np.array([i]))[0]},
            classes=self.classes,
            kind_log=lambda: None,
        )
        own = 1.0 / float(system.diagonal(np.array([i]))[0])
        return in_memory.explanation(model, i, name, parts, shares, own, self.column_names)  # type: ignore[arg-type]

    def suggest(self, n: int = 10, *, among: Any = None) -> list[tuple[Any, float]]:
        """Which unlabelled nodes are worth labelling next, as AltOpt.suggest."""
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"n must be a whole number from 1 on, but is {n!r}.")
        known = self.files.labels.nodes
        seed = self.files.seed + len(known)
        if among is None:
            candidates = self._sample(max(DEFAULTS.suggest_candidates, 2 * n), seed)
        else:
            places = np.unique(self.graph.positions(list(among)))
            rng = np.random.default_rng(seed)
            candidates = suggest.sample(
                places[~np.isin(places, known)], max(DEFAULTS.suggest_candidates, 2 * n), rng
            )
        if not len(candidates):
            raise InputError(
                "there is no unlabelled node to suggest. Name unlabelled nodes in among=, or leave it out."
            )
        witnesses = self._sample(DEFAULTS.suggest_witnesses, seed + 1)
        model: Any = SimpleNamespace(
            inputs=self.inputs,
            readout=self.files.readout,
            scores=self.files.F,
            kinds=self.kinds,
            labelled=np.ones(len(known)),
            classes=self.classes,
        )
        directions = suggest.directions(model, witnesses)
        covered = suggest.coverage(model, directions, known)
        similarity = np.maximum(directions @ suggest.directions(model, candidates).T, 0.0)
        n_unlabelled = self.n_nodes - len(known) - len(self.files.unreached)
        doubt = suggest.doubts(model, witnesses) * max(n_unlabelled / max(len(witnesses), 1), 0.0)
        picked = suggest.greedy(
            similarity, covered, doubt, self._uptake(candidates), self._between(candidates), n
        )
        names = self.graph.ids_at(candidates[[q for q, _ in picked]]).tolist()
        return [(name, gain) for name, (_, gain) in zip(names, picked)]

    def _sample(self, size: int, seed: int) -> Array:
        """Unlabelled nodes of which something is known; of others where there are none."""
        found = unlabelled_sample(self.n_nodes, self.files.labels.nodes, size, seed)
        reached = found[~np.isin(found, self.files.unreached)]
        return reached if len(reached) else found

    def _uptake(self, candidates: Array) -> Array:
        """The share of a new label that F takes up at each of them."""
        system, label = self.system, self.files.label_weight
        own = np.empty(len(candidates))
        for k, q in enumerate(candidates.tolist()):
            pushed = system.push(np.array([q]), np.ones((1, 1)), DEFAULTS.exact_rtol)
            own[k] = pushed.moves[np.searchsorted(pushed.nodes, q), 0]
        return label * own / (1.0 + label * own)

    def _between(self, candidates: Array) -> Any:
        """Edges among them."""
        counts, columns, weights = self.system.rows(candidates)
        at = np.minimum(np.searchsorted(candidates, columns), len(candidates) - 1)
        inside = candidates[at] == columns
        rows = np.repeat(np.arange(len(candidates)), counts)[inside]
        return sp.csr_array((weights[inside], (rows, at[inside])), shape=(len(candidates),) * 2)

    def suspicious_labels(self, all: bool = False) -> list[tuple[Any, Any, Any, float]]:
        """Labels that all other evidence outvotes, as AltOpt.suspicious_labels."""
        if isinstance(self.held_out, str):
            raise InputError(f"suspicious_labels {self.held_out}")
        return self.held_out.suspicious(outvoted=not all)

    # changes

    def update(
        self, labels: Any = None, edges: Any = None, nodes: Any = None, features: Any = None, **options: Any
    ) -> Change:
        """New labels taken in without a refit and stored at once; a label of -1 or None withdraws one."""
        with self.lock, folder_lock(self.files.folder):
            self._read_again()
            return self._take_in(labels, (edges, nodes, features), options, store=True)

    def what_if(
        self, labels: Any = None, edges: Any = None, nodes: Any = None, features: Any = None, **options: Any
    ) -> Change:
        """What an update would do; nothing is stored."""
        return self._take_in(labels, (edges, nodes, features), options, store=False)

    def _read_again(self) -> None:
        """What other processes stored since counts too; a model that was fitted anew is another one."""
        now = ModelOfFiles.open(self.files.folder)
        if now.data != self.files.data:
            raise InputError(f"{self.files.folder} was fitted anew since it was loaded. Load it again.")
        self.files = now

    def _take_in(self, labels: Any, others: tuple[Any, ...], options: dict[str, Any], store: bool) -> Change:
        if any(given is not None for given in others) or options.get("refresh"):
            raise InputError(
                "a model of files takes new labels alone: its edges lie on disk in one order. Fit again with the new "
                "edges or nodes; predict answers for new nodes as it is."
            )
        tolerance = options.get("tolerance")
        request.check_tolerance(tolerance)
        asked = self._read_labels(labels)
        usual = push.TOLERANCE if self.n_nodes <= push.LARGE_GRAPH else push.TOLERANCE_ON_LARGE_GRAPHS
        before = self.system
        asked = {node: code for node, code in asked.items() if before.codes(np.array([node]))[0] != code}
        places = np.array(sorted(asked), np.int64)
        if not len(places):
            return Change([], 0, 0, 0.0, 0.0, store, [], self.classes[:0], np.zeros((0, len(self.classes))))
        changes = self.files.changes
        labels_now = changes.and_then(changes.nodes, changes.rows, asked).labels_now(self.files.given_labels)
        system = LocalSystem(before.csr, before.weights, labels_now)
        pushed = system.push(
            places, self._pull(places, before.codes(places), system.codes(places)), tolerance or usual
        )
        nodes = pushed.nodes[np.any(pushed.moves != 0, axis=1) | np.isin(pushed.nodes, places)]
        F = self.files.F.gather(nodes) + pushed.moves[np.searchsorted(pushed.nodes, nodes)]
        change = self._compare(nodes, F, system, pushed, store)
        if store:
            changes = changes.and_then(nodes, F, asked)
            changes.write(self.files.place)
            self.files = ModelOfFiles.open(self.files.folder)
        return change

    def _read_labels(self, labels: Any) -> dict[int, int]:
        """Class numbers by position."""
        if labels is None:
            raise InputError("nothing to update: give labels.")
        pairs = request.label_pairs(labels)
        places = dict(
            zip((node for node, _ in pairs), self.graph.positions([node for node, _ in pairs]).tolist())
        )
        return request.read_labels(self.classes, pairs, lambda node, where: places[node])

    def _pull(self, places: Array, before: Array, now: Array) -> Array:
        """lambda2 (Y - M F) of these nodes, now minus before."""
        F = self.files.F.gather(places).astype(np.float64)
        pull = ((before != UNKNOWN).astype(float) - (now != UNKNOWN))[:, None] * F
        for codes, sign in ((now, 1.0), (before, -1.0)):
            known = np.flatnonzero(codes != UNKNOWN)
            pull[known, codes[known]] += sign
        return np.asarray(self.files.label_weight * pull)

    def _compare(self, nodes: Array, F: Array, system: LocalSystem, pushed: Any, store: bool) -> Change:
        """The labels of some nodes before and after."""
        given = system.codes(nodes)
        P = self.files.readout.soften(F, self.kinds(nodes))
        now, before = np.where(given == UNKNOWN, P.argmax(axis=1), given), self.at(nodes).codes
        names, classes = self.graph.ids_at(nodes).tolist(), self.classes
        moved = [
            (names[k], classes[before[k]], classes[now[k]]) for k in np.flatnonzero(before != now).tolist()
        ]
        left = np.linalg.norm(pushed.residual, axis=1) / np.sqrt(system.degrees(pushed.nodes))
        size = float(left.max(initial=0.0))
        bound = size / self.files.feature_weight
        return Change(moved, len(nodes), len(pushed.nodes), size, bound, store, names, classes[now], F)

    # nodes that were not there

    def predict_proba(self, X: Any = None, edges: Any = None, ids: Any = None) -> Array:
        """Probabilities of known nodes, named by `ids`; or of new nodes with features X and edges, known ones held."""
        if X is None:
            if ids is None:
                raise InputError("predict needs X of new nodes, or ids= of known ones.")
            return self.rows(ids).probabilities
        from altopt.scale.newcomers import probabilities

        return probabilities(self, X, edges, ids)

    def predict(self, X: Any = None, edges: Any = None, ids: Any = None) -> Array:
        """Labels, likewise; a known node keeps its given one."""
        if X is None and ids is not None:
            return np.asarray(self.classes[self.rows(ids).codes])
        return np.asarray(self.classes[self.predict_proba(X, edges, ids).argmax(axis=1)])


@dataclass(frozen=True)
class Rows:
    """Of some nodes: class numbers, whether they were given, and probabilities."""

    codes: Array
    given: Array
    probabilities: Array

    @property
    def confidence(self) -> Array:
        return certainty(self.probabilities)
