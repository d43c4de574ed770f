"""All parts, in the order in which they are tried."""

from altopt_lab.trust import (
    commands,
    disks,
    features,
    files,
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

WAYS_IN = (graphs, features, labels, settings, files, fits, commands)
ACCIDENTS = (kills, writers, shared, mutated, disks, memory)

PARTS: dict[str, Part] = {
    part.name: part
    for part in (*(room.PART for room in WAYS_IN), *(part for room in ACCIDENTS for part in room.PARTS))
}
