"""Nodes by what is known of them: found by id, filtered by class and doubt, and described for the page."""

from bisect import bisect_right
from typing import Any

import numpy as np

from altopt.cli.explore.session import Session
from altopt.fitted.picture import name_of
from altopt.graph.validation import UNKNOWN

MAX_HITS = 50


class Index:
    """Ids as one text, so that a part of any of them is found at once; case does not matter.

    Examples
    --------
    >>> Index(["Ann", "Joanna", "Bob"]).find("an")
    [0, 1]
    >>> Index(["12", "2", "25"]).find("2")
    [1, 2, 0]
    """

    def __init__(self, ids: Any) -> None:
        names = [" ".join(str(name).lower().split("\n")) for name in ids]
        self.text = "\n" + "\n".join(names) + "\n"
        self.starts = [0, *np.cumsum([len(name) + 1 for name in names]).tolist()]

    def find(self, wanted: str, most: int = MAX_HITS) -> list[int]:
        """Positions of ids that are this text, then begin with it, then hold it."""
        wanted = wanted.strip().lower()
        if not wanted or "\n" in wanted:
            return []
        found: dict[int, None] = {}
        for pattern in (f"\n{wanted}\n", f"\n{wanted}", wanted):
            at = self.text.find(pattern)
            while at >= 0 and len(found) < most:
                inside = at + 1 if pattern[0] == "\n" else at
                found.setdefault(bisect_right(self.starts, inside - 1) - 1)
                at = self.text.find(pattern, at + 1)
        return list(found)


def record(session: Session, at: int) -> dict[str, Any]:
    """A node in a list: its id, label and doubt."""
    given = int(session.fitted.codes[at]) != UNKNOWN
    return {
        "at": at,
        "id": name_of(session.name(at)),
        "label": int(session.fitted.labels[at]),
        "given": given,
        "doubt": 0.0 if given else round(1.0 - float(session.top[at]), 4),
    }


def listed(
    session: Session,
    label: int | None,
    given: bool | None,
    suspicious: bool,
    doubt_from: float,
    doubt_to: float,
    sure_first: bool,
    first: int,
    most: int,
) -> tuple[int, list[int]]:
    """How many nodes pass the filters, and those of one page: by doubt, most doubtful first."""
    fitted = session.fitted
    known = fitted.codes != UNKNOWN
    doubt = np.where(known, 0.0, 1.0 - session.top)
    mask = (doubt >= doubt_from - 1e-9) & (doubt <= doubt_to + 1e-9)
    if label is not None:
        mask &= fitted.labels == label
    if given is not None:
        mask &= known == given
    if suspicious:
        among = np.zeros(len(mask), dtype=bool)
        among[[at for at, _, _ in session.suspicious()]] = True
        mask &= among
    places = np.flatnonzero(mask)
    values = doubt[places] if sure_first else -doubt[places]
    last = first + most
    if len(places) > last:
        nearest = np.argpartition(values, last)[:last]
        nearest.sort()
        chosen = nearest[np.argsort(values[nearest], kind="stable")][first:last]
    else:
        chosen = np.argsort(values, kind="stable")[first:last]
    return len(places), [int(at) for at in places[chosen]]
