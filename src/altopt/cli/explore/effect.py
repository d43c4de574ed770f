"""What an answer in a labelling session did to the labels of other nodes."""

from typing import NamedTuple


class Move(NamedTuple):
    """A node whose label changed."""

    at: int
    id: str
    before: int
    now: int


class Effect(NamedTuple):
    """What an answer did."""

    number: int
    at: int
    moved: list[Move]
    n_moved: int
    n_changed: int
