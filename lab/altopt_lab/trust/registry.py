"""All parts, in the order in which they are tried."""

from altopt_lab.trust import (
    disks,
    features,
    fits,
    graphs,
    kills,
    labels,
    memory,
    mutated,
    settings,
    shared,
    writers,
)
from altopt_lab.trust.part import Part

WAYS_IN = (graphs, features, labels, settings, fits)
ACCIDENTS = (kills, writers, shared, mutated, disks, memory)

PARTS: dict[str, Part] = {
    part.name: part
    for part in (*(room.PART for room in WAYS_IN), *(part for room in ACCIDENTS for part in room.PARTS))
}
