"""All parts, in the order in which they are tried."""

from altopt_lab.trust import graphs
from altopt_lab.trust.part import Part

PARTS: dict[str, Part] = {part.name: part for part in (graphs.PART,)}
