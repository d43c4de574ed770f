"""Candidates that read several kinds of edges apart, beside those that read their weighted sum.

Edges of a kind that ties opposites have no weight in the sum, along which F is smoothed; what an encoder reads along
them may tell all the same.
"""

from dataclasses import replace

from altopt.selection.candidates import Candidate

SMOOTHED = "usual, kinds apart"


def with_kinds_apart(usual: Candidate, others: list[Candidate], kinds: tuple[str, ...]) -> list[Candidate]:
    """The candidates, those that cost little once more with kinds apart; trees read kinds apart anyway."""
    if len(kinds) < 2:
        return others
    candidates = [replace(usual, name=SMOOTHED, inputs=usual.inputs.apart(kinds))]
    for candidate in others:
        inputs = candidate.inputs.apart(kinds)
        if candidate.dear:
            candidates.append(replace(candidate, inputs=inputs))
            continue
        candidates.append(candidate)
        if candidate.inputs.reads_labels and inputs != candidate.inputs:
            candidates.append(replace(candidate, name=f"{candidate.name}, kinds apart", inputs=inputs))
    return candidates
