"""Candidates that read several kinds of edges apart, beside the usual one, which reads their weighted sum.

Edges of a kind that ties opposites have no weight in the sum, along which F is smoothed; what an encoder reads along
them may tell all the same.
"""

from dataclasses import replace

from altopt.selection.candidates import Candidate


def with_kinds_apart(usual: Candidate, others: list[Candidate], kinds: tuple[str, ...]) -> list[Candidate]:
    """The usual candidate with kinds apart, and the others, with kinds apart too where they read edges."""
    if len(kinds) < 2:
        return others
    candidates = [apart(candidate, kinds) for candidate in (usual, *others)]
    return [candidate for candidate in candidates if candidate is not usual]


def apart(candidate: Candidate, kinds: tuple[str, ...]) -> Candidate:
    """The candidate with its encoder's inputs made along each kind by itself."""
    inputs = candidate.inputs.apart(kinds)
    if inputs == candidate.inputs:
        return candidate
    return replace(candidate, name=f"{candidate.name}, kinds apart", inputs=inputs)
