"""The journal of a labelling session: every answer is in an SQLite file beside the model before anyone is told so."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from altopt.errors import DiskError, InputError

NAME = "labels.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    node TEXT NOT NULL,          -- ids and labels as JSON; a label of null: none
    label TEXT NOT NULL,
    before TEXT NOT NULL,
    who TEXT NOT NULL,
    at REAL NOT NULL,            -- seconds since 1970
    undoes INTEGER,              -- the answer that this one takes back
    undone INTEGER NOT NULL DEFAULT 0,
    stored INTEGER NOT NULL DEFAULT 0,   -- whether the model's folder has it
    n_labels INTEGER,            -- after it
    expected REAL                -- accuracy, after it
);
CREATE TABLE IF NOT EXISTS confirmations (
    node TEXT NOT NULL, given TEXT NOT NULL, who TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (node, given)
);
CREATE TABLE IF NOT EXISTS suspicious (
    place INTEGER PRIMARY KEY, node TEXT NOT NULL, given TEXT NOT NULL, suggested TEXT NOT NULL, margin REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS refits (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    after INTEGER NOT NULL,      -- the last answer that it learnt from
    at REAL NOT NULL,
    stored INTEGER NOT NULL DEFAULT 0,
    n_labels INTEGER,
    expected REAL
);
CREATE TABLE IF NOT EXISTS start (only INTEGER PRIMARY KEY CHECK (only = 0), n_labels INTEGER, expected REAL);
"""


class Answer(NamedTuple):
    """A row of the journal."""

    number: int
    node: str
    label: str
    before: str
    who: str
    undoes: int | None


class Journal:
    """Answers on disk, in WAL mode: a kill at any instant loses none that was told.

    Parameters
    ----------
    folder : Path
        The model's folder; the file stands beside it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = beside(folder)
        try:
            self.base = sqlite3.connect(
                self.path, timeout=30.0, check_same_thread=False, isolation_level=None
            )
            self.base.execute("PRAGMA journal_mode=WAL")
            self.base.execute("PRAGMA synchronous=FULL")
            self.base.executescript(SCHEMA)
        except sqlite3.DatabaseError as cause:
            raise DiskError(
                f"{self.path} cannot be used as the journal of labels: {cause}. Move it away if it is not altopt's, or "
                "make its folder writable."
            ) from cause

    def add(self, node: str, label: str, before: str, who: str, undoes: int | None = None) -> int:
        """Write an answer; it is on the disk when this returns."""
        with self.base:
            self.base.execute("BEGIN IMMEDIATE")
            row = (node, label, before, who, time.time(), undoes)
            made = self.base.execute(
                "INSERT INTO answers (node, label, before, who, at, undoes) VALUES (?, ?, ?, ?, ?, ?)", row
            )
            if undoes is not None:
                self.base.execute("UPDATE answers SET undone = 1 WHERE number = ?", (undoes,))
        return int(made.lastrowid or 0)

    def took_effect(self, number: int, n_labels: int, expected: float) -> None:
        """Note what the model says after an answer, for the curve."""
        with self.base:
            self.base.execute(
                "UPDATE answers SET n_labels = ?, expected = ? WHERE number = ?", (n_labels, expected, number)
            )

    def forget(self, number: int) -> None:
        """Remove an answer that the model refused."""
        with self.base:
            self.base.execute("DELETE FROM answers WHERE number = ?", (number,))

    def last_of(self, who: str) -> Answer | None:
        """The last answer of this person that can be undone."""
        found = self.base.execute(
            "SELECT number, node, label, before, who, undoes FROM answers "
            "WHERE who = ? AND undone = 0 AND undoes IS NULL ORDER BY number DESC LIMIT 1",
            (who,),
        ).fetchone()
        return None if found is None else Answer(*found)

    def answers(self, after: int = 0, only_pending: bool = False) -> list[Answer]:
        """Answers in their order."""
        where = "number > ? AND stored = 0" if only_pending else "number > ?"
        found = self.base.execute(
            f"SELECT number, node, label, before, who, undoes FROM answers WHERE {where} ORDER BY number",
            (after,),
        )
        return [Answer(*row) for row in found]

    def latest(self, after: int, most: int) -> list[Answer]:
        """The last answers after one of them, in their order."""
        found = self.base.execute(
            "SELECT number, node, label, before, who, undoes FROM answers WHERE number > ? "
            "ORDER BY number DESC LIMIT ?",
            (after, most),
        )
        return [Answer(*row) for row in found][::-1]

    def mark_stored(self, numbers: Iterable[int], refit: int) -> None:
        """Note that the folder has these answers, and this refit; 0: none."""
        with self.base:
            self.base.execute("BEGIN IMMEDIATE")
            self.base.executemany("UPDATE answers SET stored = 1 WHERE number = ?", [(n,) for n in numbers])
            self.base.execute("UPDATE refits SET stored = 1 WHERE number = ?", (refit,))

    def give_again(self, keep: Callable[[str], bool]) -> int:
        """Answers that hold and that a new fit has not learnt from wait for the folder again; returns how many do.

        `keep` tells of which nodes. Answers are written once more: the new ones come after all that the fit knew.
        """
        rows = self.base.execute(
            "SELECT node, label, before, who, stored FROM answers "
            "WHERE number IN (SELECT MAX(number) FROM answers GROUP BY node) ORDER BY number"
        ).fetchall()
        lost = [row for row in rows if row[1] != "null" and keep(row[0])]
        for node, label, _, who, stored in lost:
            if stored:
                self.add(node, label, "null", who)
        return len(lost)

    def last(self) -> int:
        """The number of the last answer; 0 where there is none."""
        return self.number_of("SELECT MAX(number) FROM answers")

    def last_stored(self) -> int:
        return self.number_of("SELECT MAX(number) FROM answers WHERE stored = 1")

    def last_refit(self) -> int:
        """The last answer that a stored refit learnt from."""
        return self.number_of("SELECT MAX(after) FROM refits WHERE stored = 1")

    def count_since(self, number: int) -> int:
        """Nodes answered after an answer, but for answers that were undone."""
        return self.number_of(
            "SELECT COUNT(DISTINCT node) FROM answers WHERE undone = 0 AND undoes IS NULL AND number > ?",
            number,
        )

    def number_of(self, question: str, *values: int) -> int:
        return int(self.base.execute(question, values).fetchone()[0] or 0)

    def add_refit(self, after: int, n_labels: int, expected: float) -> int:
        """Note a refit, for the curve; returns its number."""
        with self.base:
            row = (after, time.time(), n_labels, expected)
            made = self.base.execute(
                "INSERT INTO refits (after, at, n_labels, expected) VALUES (?, ?, ?, ?)", row
            )
        return int(made.lastrowid or 0)

    def begin(self, n_labels: int, expected: float) -> None:
        """Note where the curve starts, once."""
        with self.base:
            self.base.execute("INSERT OR IGNORE INTO start VALUES (0, ?, ?)", (n_labels, expected))

    def curve(self, most: int = 500) -> list[tuple[int, float]]:
        """Labels given and the accuracy expected with them: where it started, then after answers and refits."""
        start = self.base.execute("SELECT n_labels, expected FROM start").fetchall()
        rows = self.base.execute(
            "SELECT n_labels, expected, at FROM answers WHERE expected IS NOT NULL ORDER BY number DESC LIMIT ?",
            (most,),
        ).fetchall()
        rows += self.base.execute(
            "SELECT n_labels, expected, at FROM refits ORDER BY number DESC LIMIT ?", (most,)
        ).fetchall()
        rows = [(n, e) for n, e, _ in sorted(rows, key=lambda row: row[2])]
        return [(int(n), float(e)) for n, e in start + rows[-most:]]

    def confirm(self, node: str, given: str, who: str, right: bool = True) -> None:
        """A suspicious label is right; or, after all, that is open again."""
        with self.base:
            self.base.execute("DELETE FROM confirmations WHERE node = ? AND given = ?", (node, given))
            if right:
                row = (node, given, who, time.time())
                self.base.execute("INSERT INTO confirmations VALUES (?, ?, ?, ?)", row)

    def confirmed(self) -> set[tuple[str, str]]:
        """Nodes with the labels that were confirmed: another label of the node is not."""
        return set(self.base.execute("SELECT node, given FROM confirmations").fetchall())

    def keep_suspicious(self, rows: list[tuple[str, str, str, float]]) -> None:
        """Keep the list that the fit gave: the model has none after its first update."""
        with self.base:
            self.base.execute("BEGIN IMMEDIATE")
            self.base.execute("DELETE FROM suspicious")
            numbered = [(place, *row) for place, row in enumerate(rows)]
            self.base.executemany("INSERT INTO suspicious VALUES (?, ?, ?, ?, ?)", numbered)

    def suspicious(self) -> list[tuple[str, str, str, float]]:
        found = self.base.execute("SELECT node, given, suggested, margin FROM suspicious ORDER BY place")
        return list(found.fetchall())

    def close(self) -> None:
        with suppress(sqlite3.Error), closing(self.base):
            self.base.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def beside(folder: Path) -> Path:
    """The journal's file: beside the folder named model that altopt fit wrote, else named after the model's own."""
    folder = folder.resolve()
    return folder.parent / (NAME if folder.name == "model" else f"{folder.name}-{NAME}")


def key(value: Any) -> str:
    """An id or a label as JSON text.

    >>> key("a"), key(3), key(None)
    ('"a"', '3', 'null')
    """
    try:
        return json.dumps(value, default=str)
    except (TypeError, ValueError) as cause:
        raise InputError(f"{value!r:.80} cannot be kept in the journal of labels.") from cause
