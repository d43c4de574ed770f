"""A refit while answers go on: a copy of the model is trained with all labels, then takes its place."""

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from altopt.errors import InputError

if TYPE_CHECKING:
    from altopt.cli.explore.session import Session

MANY = 20  # answers that are taken in before the model is in use: fewer keep nobody waiting


class Refit:
    """One refit of a session's model.

    Parameters
    ----------
    session : Session

    Attributes
    ----------
    running : bool
    said : str
        What it is doing; what came of it.
    """

    def __init__(self, session: "Session") -> None:
        self.session, self.began = session, time.monotonic()
        self.running, self.n_labels = True, int(session.fitted.labelled.sum())
        self.step = "preparing"

    @property
    def said(self) -> str:
        if not self.running:
            return self.step
        seconds = time.monotonic() - self.began
        return f"Refitting with {self.n_labels:,} labels, {seconds:.0f} s: {self.step}."

    def in_background(self) -> None:
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        """Train, and swap the model in; whatever goes wrong, the session goes on with the model that it has."""
        try:
            with Steps(self):
                self.step = self.train()
        except InputError as error:
            self.step = f"The refit failed: {error}"
        except Exception as error:
            logging.getLogger("altopt").exception("refit")
            self.step = f"The refit failed ({type(error).__name__}); the model is as it was."
        finally:
            self.running = False

    def train(self) -> str:
        session = self.session
        with session.lock:
            last, version, model = session.journal.last(), session.version, session.shared()
        model.refit(on_round=self.on_round)
        self.step = "taking in what was answered meanwhile"
        since = last
        while rows := session.answers_since(since, at_least=MANY):
            model.update(labels=session.as_labels(rows))
            since = rows[-1].number
        top = session.prepared(model)
        with session.lock:
            before, expected = session.fitted.labels.copy(), session.expected()
            if not session.take_over(model, top, last, since, version):
                return "The model's folder was changed by another process meanwhile: the refit was given up."
            n = int(np.sum(before != session.fitted.labels))
            return (
                f"Refitted with {self.n_labels:,} labels: {n:,} {'node' if n == 1 else 'nodes'} changed label; "
                f"expected accuracy {expected:.1%} before, {session.expected():.1%} now."
            )

    def on_round(self, done: int, planned: int, record: Any) -> None:
        self.step = f"round {done} of {planned}"


class Steps(logging.Handler):
    """The steps that the logger names while this thread refits."""

    def __init__(self, refit: Refit) -> None:
        super().__init__(logging.INFO)
        self.refit, self.thread = refit, threading.get_ident()
        self.logger = logging.getLogger("altopt")

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self.thread and hasattr(record, "seconds"):
            self.refit.step = f"holding labels out ({record.getMessage()})"

    def __enter__(self) -> "Steps":
        self.level = self.logger.level
        self.logger.setLevel(min(self.level or logging.INFO, logging.INFO))
        self.logger.addHandler(self)
        return self

    def __exit__(self, *error: object) -> None:
        self.logger.removeHandler(self)
        self.logger.setLevel(self.level)
