"""A labelling session: one model in memory, changed by answers that several people give, and stored as they come."""

import copy
import json
import logging
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array, row_blocks
from altopt.cli import outputs
from altopt.cli.console import show
from altopt.cli.explore.effect import Effect, Move
from altopt.cli.explore.journal import Answer, Journal, key
from altopt.cli.explore.refit import Refit
from altopt.errors import InputError
from altopt.fitted.explanation import plain
from altopt.graph.validation import UNKNOWN

N_SUGGESTED, REFRESH_AFTER = 24, 6  # nodes in the queue, and answers after which it is made anew
PAUSE = 0.7  # seconds without an answer after which it is
IDLE, AT_MOST = 20.0, 300.0  # without an answer, or since the first one, after which the folder is updated
MAX_MOVED = 500  # nodes whose change of label is listed
GIVEN_UP = (
    "Another process changed the model's folder: the refit made here was given up, all labels are kept. Refit again to "
    "teach the encoder."
)


class Session:
    """A stored model, its journal, and what follows from both.

    Every method may be called from any thread. An answer is in the journal before the model changes; the folder is
    updated in the background, under its lock, and once more by `close`.

    Parameters
    ----------
    folder : Path
        A model that `save` wrote.
    in_background : bool
        Update the folder while the session goes on; False: by `close` alone.
    """

    def __init__(self, folder: Path, in_background: bool = True) -> None:
        self.folder, self.lock = folder, threading.RLock()
        self.journal = Journal(folder)
        self.queue: list[tuple[int, float]] = []
        self.since_queue = 0
        self.pending: list[int] = []  # answers that the folder has not
        self.first_pending = self.last_answer = 0.0
        self.failed = -IDLE  # when the folder could not be written
        self.refused: list[str] = []
        self.refitting: Refit | None = None
        self.refit_pending = 0  # the number of a refit that the folder has not
        self.notices: list[str] = []  # what went wrong behind the page, in sentences
        self.done = threading.Event()
        self.version = 0  # of the model in use: another one after each refit
        self.numbering = 0  # of positions and class numbers: another one where a loaded model has others
        self.classes: list[Any] = []
        self.ids: Array = np.array([])
        self.load()
        self.worker = threading.Thread(target=self.work, daemon=True) if in_background else None
        if self.worker is not None:
            self.worker.start()

    # the model

    def load(self) -> None:
        """The model as its folder has it, and the answers that it has not."""
        model = AltOpt.load(self.folder)
        classes = [plain(name) for name in model.fitted_.classes.tolist()]
        if classes != self.classes or not np.array_equal(self.ids, model.fitted_.graph.ids):
            self.numbering += 1
        self.classes, self.queue, self.since_queue = classes, [], 0
        self.codes_of = {key(name): code for code, name in enumerate(self.classes)} | {"null": UNKNOWN}
        up_to_date = not isinstance(model.fitted_.leave_one_out, str)
        self.taught = self.journal.last_stored() if up_to_date else self.journal.last_refit()
        self.refit_pending = 0
        self.use(model, self.prepared(model))
        self.journal.begin(int(self.fitted.labelled.sum()), self.expected())
        rows = self.journal.answers(only_pending=True)
        self.refused = self.take_in(rows)
        self.pending = [row.number for row in rows if row.node not in self.refused]
        if self.pending:
            self.first_pending = self.last_answer = time.monotonic()

    def use(self, model: AltOpt, top: Array) -> None:
        """Answer from this model from now on."""
        self.model, self.fitted, self.top = model, model.fitted_, top
        self.version += 1
        self.ids = self.fitted.graph.ids
        held_out = self.fitted.leave_one_out
        if not isinstance(held_out, str):
            self.journal.keep_suspicious(
                [(key(n), key(given), key(to), float(m)) for n, given, to, m in held_out.suspicious()]
            )

    def take_in(self, rows: list[Answer]) -> list[str]:
        """Answers that the model in use has not; returns the nodes of those that it cannot take."""
        places = {row.node: self.find(row.node) for row in rows}
        labels = {
            at: self.codes_of[row.label]
            for row in rows
            if (at := places[row.node]) is not None and row.label in self.codes_of
        }
        if labels:
            self.update(labels)
        return sorted({node for node, at in places.items() if at not in labels})

    def prepared(self, model: AltOpt) -> Array:
        """The probability of each node's most probable class; what the first answer would wait for is made too."""
        fitted = model.fitted_
        unlabelled = np.flatnonzero(fitted.codes == UNKNOWN)
        if len(unlabelled):
            node = fitted.graph.ids.item(int(unlabelled[0]))
            model.what_if(labels={node: fitted.classes[0]})
        top = np.empty(fitted.n_nodes, dtype=np.float32)
        for rows in row_blocks(fitted.n_nodes):
            nodes = np.arange(fitted.n_nodes)[rows]
            top[rows] = fitted.readout.soften(fitted.scores[rows], fitted.kinds(nodes)).max(axis=1)
        return top

    def expected(self) -> float:
        """The accuracy to be expected on unlabelled nodes: the mean of their calibrated probabilities."""
        unlabelled = self.fitted.codes == UNKNOWN
        n = int(unlabelled.sum())
        return float(self.top @ unlabelled) / n if n else 1.0

    def update(self, labels: dict[int, int]) -> Any:
        """Set given labels, by position and class number; what is derived from F follows."""
        names = {
            self.name(at): None if code == UNKNOWN else self.classes[code] for at, code in labels.items()
        }
        change = self.model.update(labels=names)
        places = np.array([self.fitted.position(node) for node in change.nodes], dtype=np.int64)
        if len(places):
            self.top[places] = self.fitted.readout.soften(change.scores, self.fitted.kinds(places)).max(
                axis=1
            )
        return change

    def name(self, at: int) -> Any:
        return self.ids.item(at)

    def check(self, at: int) -> int:
        """A position that exists, or an InputError."""
        if not 0 <= at < self.fitted.n_nodes:
            raise InputError(f"node {at} does not exist: there are {self.fitted.n_nodes:,} nodes.")
        return at

    # answers

    def label(self, at: int, code: int, who: str = "") -> Effect:
        """Give a node a label, another one, or (UNKNOWN) none."""
        with self.lock:
            self.check(at)
            if not UNKNOWN <= code < len(self.classes):
                raise InputError(f"class {code} does not exist: there are {len(self.classes)} classes.")
            return self.answer(at, code, who)

    def undo(self, who: str = "") -> Effect:
        """Take back this person's last answer, unless someone else has answered the node since."""
        with self.lock:
            last = self.journal.last_of(who)
            if last is None:
                raise InputError("there is no answer of yours to undo.")
            at = self.find(last.node)
            if at is None or last.before not in self.codes_of:
                raise InputError("the model no longer has the node or the class of your last answer.")
            if key(self.given(at)) != last.label:
                raise InputError(
                    f"node {self.name(at)} was answered again since, so that nothing was undone."
                )
            return self.answer(at, self.codes_of[last.before], who, undoes=last.number)

    def answer(self, at: int, code: int, who: str, undoes: int | None = None) -> Effect:
        label = None if code == UNKNOWN else self.classes[code]
        number = self.journal.add(key(plain(self.name(at))), key(label), key(self.given(at)), who, undoes)
        try:
            change = self.update({at: code})
        except BaseException:
            self.journal.forget(number)
            raise
        self.journal.took_effect(number, int(self.fitted.labelled.sum()), self.expected())
        now = time.monotonic()
        self.first_pending, self.last_answer = self.first_pending or now, now
        self.pending.append(number)
        self.since_queue += 1
        codes = {name: k for k, name in enumerate(self.classes)}
        moved = [
            Move(self.fitted.position(node), str(node), codes[plain(was)], codes[plain(is_)])
            for node, was, is_ in change.moved[:MAX_MOVED]
        ]
        return Effect(number, at, moved, len(change.moved), change.n_changed)

    def given(self, at: int) -> Any:
        """The given label of a node, or None."""
        code = int(self.fitted.codes[at])
        return None if code == UNKNOWN else self.classes[code]

    def find(self, node: str) -> int | None:
        """The position of an id that stands in the journal; None where the model has it no more."""
        try:
            return self.fitted.position(json.loads(node))
        except InputError:
            names = enumerate(self.ids.tolist())
            return next((at for at, name in names if key(plain(name)) == node), None)

    # the refit

    def refit(self) -> Refit:
        """Let the encoder learn from all labels, while answers go on; one at a time."""
        with self.lock:
            if self.refitting is None or not self.refitting.running:
                self.refitting = Refit(self)
                if self.worker is not None:
                    self.refitting.in_background()
            refitting = self.refitting
        if self.worker is None:
            refitting.run()
        return refitting

    def take_over(self, model: AltOpt, top: Array, taught: int, last: int, version: int) -> bool:
        """Use a refitted version of the model: it learnt from answers up to `taught`, and has those up to `last`."""
        with self.lock:
            if self.done.is_set() or version != self.version:
                return False
            self.use(model, top)
            self.take_in(self.journal.answers(after=last))
            self.taught = taught
            self.refit_pending = self.journal.add_refit(
                taught, int(self.fitted.labelled.sum()), self.expected()
            )
            self.since_queue = REFRESH_AFTER
            self.last_answer = time.monotonic()
            return True

    def answers_since(self, number: int, at_least: int) -> list[Answer]:
        """Answers after one of them, where there are as many."""
        with self.lock:
            rows = self.journal.answers(after=number)
            return rows if len(rows) >= at_least else []

    def as_labels(self, rows: list[Answer]) -> dict[Any, Any]:
        """The label of each node after these answers, None for none."""
        with self.lock:
            places = {row.node: self.find(row.node) for row in rows}
            return {
                self.name(at): None if row.label == "null" else self.classes[self.codes_of[row.label]]
                for row in rows
                if (at := places[row.node]) is not None and row.label in self.codes_of
            }

    def n_untaught(self) -> int:
        """Labels given since the encoder was trained last."""
        return self.journal.count_since(self.taught)

    # what to look at

    def suggestions(self, skipped: int = 0) -> list[tuple[int, float]]:
        """Nodes worth labelling, more than were skipped, and what each would correct."""
        found = self.unanswered()
        if len(found) > skipped and (self.worker is not None or self.since_queue < REFRESH_AFTER):
            return found
        self.refill(skipped)
        return self.unanswered()

    def unanswered(self) -> list[tuple[int, float]]:
        with self.lock:
            return [(at, gain) for at, gain in self.queue if self.fitted.codes[at] == UNKNOWN]

    def refill(self, skipped: int = 0) -> None:
        """Make the queue anew, from the model as it is; answers go on meanwhile."""
        with self.lock:
            model, numbering, self.since_queue = self.shared(), self.numbering, 0
        fitted = model.fitted_
        found = [] if bool(fitted.labelled.all()) else model.suggest(N_SUGGESTED + skipped)
        queue = [(fitted.position(node), gain) for node, gain in found]
        with self.lock:
            if numbering == self.numbering:
                self.queue = queue

    def suspicious(self, confirmed: bool = False) -> list[tuple[int, int, float]]:
        """Labels of the fit that look wrong and are not mended: position, class instead, margin.

        Those that nobody confirmed, or those that someone did.
        """
        with self.lock:
            right = self.journal.confirmed()
            found = []
            for node, given, instead, margin in self.journal.suspicious():
                if ((node, given) in right) != confirmed or instead not in self.codes_of:
                    continue
                at = self.find(node)
                if at is not None and key(self.given(at)) == given:
                    found.append((at, self.codes_of[instead], margin))
            return found

    def confirm(self, at: int, who: str = "", right: bool = True) -> None:
        """A suspicious label is right, and not asked about again; or, after all, it is."""
        with self.lock:
            node = key(plain(self.name(self.check(at))))
            self.journal.confirm(node, key(self.given(at)), who, right)

    # the folder

    def work(self) -> None:
        """When answers stop coming: make the queue anew, and update the folder; that also when they come for long."""
        while not self.done.wait(0.25):
            now = time.monotonic()
            try:  # answers are in the journal, whatever goes wrong here; the next turn tries again
                if self.since_queue >= REFRESH_AFTER and now - self.last_answer > PAUSE:
                    self.refill()
                idle = self.pending and (now - self.last_answer > IDLE or now - self.first_pending > AT_MOST)
                if idle or (self.refit_pending and now - self.failed > IDLE):
                    self.store()
            except InputError as error:
                self.notice(str(error))
            except Exception as error:
                logging.getLogger("altopt").exception("labelling session")
                self.notice(
                    f"Something went wrong in the background ({type(error).__name__}: {error!s:.200})."
                )

    def notice(self, sentence: str) -> None:
        """Tell the terminal and the page; what was told last is not told again."""
        with self.lock:
            if self.notices[-1:] != [sentence]:
                self.notices.append(sentence)
                show(sentence, err=True)

    def store(self) -> list[str]:
        """Bring the answers into the model's folder, and let others come meanwhile; returns what to tell."""
        if not self.pending and not self.refit_pending:
            return []
        numbers, refit = list[int](), 0
        try:
            with outputs.held(self.folder):
                numbers, refit, model = self.as_it_is()
                try:
                    told = outputs.store(model, self.folder)
                except InputError as error:
                    if "changed by another process" not in str(error):
                        raise
                    with self.lock:
                        given_up = refit or self.refit_pending
                        self.load()
                        if given_up:
                            self.notice(GIVEN_UP)
                    numbers, refit, model = self.as_it_is()
                    told = outputs.store(model, self.folder)
        except BaseException:
            with self.lock:
                self.pending = sorted({*numbers, *self.pending})
                self.refit_pending = self.refit_pending or refit
                self.first_pending = self.last_answer = self.failed = time.monotonic()
            raise
        with self.lock:
            self.journal.mark_stored(numbers, refit)
        return told

    def as_it_is(self) -> tuple[list[int], int, AltOpt]:
        """The answers that the folder has not, the refit that it lacks, and a model that no further answer changes.

        Answers change per-node arrays alone, and of one that is handed out here other threads change a copy.
        """
        with self.lock:
            numbers, self.pending, self.first_pending = self.pending, [], 0.0
            refit, self.refit_pending = self.refit_pending, 0
            return numbers, refit, self.shared()

    def shared(self) -> AltOpt:
        """The model as it is now, for the thread that asks; answers of other threads do not change it."""
        with self.lock:
            model = copy.copy(self.model)
            model._fitted = self.fitted.shared()
            return model

    def close(self) -> list[str]:
        """Bring what is left into the folder, and let the journal go."""
        self.done.set()
        if self.worker is not None:
            self.worker.join()
        told = self.store()
        self.journal.close()
        return told
