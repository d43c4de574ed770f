"""The paper's claims of time and memory, both against a library's layers and with one operator for all."""

from collections.abc import Callable, Iterable, Iterator

from altopt_lab.equal.in_turns import ENCODER, PREDICTION, SELECTION, UPDATE, InTurns, trainings
from altopt_lab.experiments.protocols import CITATION, Cell
from altopt_lab.experiments.study_claims import tuned_form
from altopt_lab.experiments.tables.costs import (
    BEST_CELLS,
    FULL_NAME,
    SIZES,
    STEPS,
    best_epochs,
    cost_rows,
)
from altopt_lab.experiments.tables.paper_table import RecordIndex
from altopt_lab.experiments.timed import ALT_OPT, EpochTime, LayerMemory
from altopt_lab.verdict import Verdict, judged

HALF, LEVEL = (0.4, 0.6), (0.8, 1.25)  # of a peer's time: about half of it, about as much
PYG, SAME = "APPNP, PyTorch Geometric's layer", "APPNP"


def whole_training(index: RecordIndex) -> Verdict:
    """Full takes about half of APPNP's time and less than GCN's, five updates about what SGC takes: both ways."""
    evidence, wrong = [], 0
    for size, (_, epochs) in SIZES.items():
        seconds = {name: time for name, _, time in cost_rows(index, size) if time is not None}
        together = index.get(InTurns(size).key)
        if together is not None and "times" in together:
            seconds = trainings(together, epochs)
        if {FULL_NAME, "APPNP", "GCN", "SGC", "ALT-OPT-5"} <= seconds.keys():
            of_appnp, of_gcn = (seconds[FULL_NAME] / seconds[peer] for peer in ("APPNP", "GCN"))
            of_sgc = seconds["ALT-OPT-5"] / seconds["SGC"]
            occasion = "" if together else " (two occasions)"
            evidence.append(
                f"{size} size{occasion}: Full {of_appnp:.2f} of APPNP, {of_gcn:.2f} of GCN; five updates "
                f"{of_sgc:.2f} of SGC"
            )
            good = within(of_appnp, HALF) and of_gcn < 1 and within(of_sgc, LEVEL)
            wrong += not good
    claim = (
        f"ALT-OPT-Full trains in about half of APPNP's time ({said(HALF)}), less than GCN's; ALT-OPT-5 in about "
        f"SGC's ({said(LEVEL)})"
    )
    return judged(claim, "; ".join(evidence), len(evidence), len(SIZES), not wrong, what="sizes")


def within(ratio: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= ratio <= ends[1]


def said(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g} to {ends[1]:g} of it"


def memories_by_steps(index: RecordIndex) -> Iterator[Verdict]:
    for method in (ALT_OPT, SAME):
        yield memory_by_steps(index, method)


def memory_by_steps(index: RecordIndex, method: str) -> Verdict:
    """ALT-OPT's is to stay, APPNP's to grow."""
    grows, evidence, wrong = method != ALT_OPT, [], 0
    for size in SIZES:
        lines = [index.get(LayerMemory(method, size, K).key) for K in (STEPS[0], STEPS[-1])]
        peaks = [line["peak_gb"] for line in lines if line is not None and "peak_gb" in line]
        if len(peaks) == 2:
            evidence.append(
                f"{size} size: {peaks[0]:.2f} GB at K={STEPS[0]}, {peaks[1]:.2f} at K={STEPS[-1]}"
            )
            wrong += (peaks[1] > 1.05 * peaks[0]) != grows
    why = "; a step is linear, so that its gradient needs nothing kept; torch keeps nothing"
    told = "; ".join(evidence) + (why if grows and evidence else "")
    claim = f"{method}'s memory {'grows' if grows else 'does not grow'} with the propagation steps"
    return judged(claim, told, len(evidence), len(SIZES), not wrong, what="sizes")


def epochs_against_appnp(index: RecordIndex) -> Iterator[Verdict]:
    yield faster_an_epoch(index, PYG, "PyTorch Geometric's APPNP")
    yield faster_an_epoch(index, SAME, "APPNP with the same operator")


def faster_an_epoch(index: RecordIndex, peer: str, words: str) -> Verdict:
    """ALT-OPT-Full, the slowest form, on the paper's plain inputs and on reduced ones."""
    evidence, slower = [], 0
    for name in CITATION:
        cell = Cell(name, "20")
        lines = [
            index.get(EpochTime(method, cell).key)
            for method in ("ALT-OPT-Full on plain inputs", "ALT-OPT-Full on reduced inputs", peer)
        ]
        times = [line["milliseconds"] for line in lines if line is not None]
        if len(times) == 3:
            plain, reduced, theirs = times
            evidence.append(f"{name} {plain:.1f} (reduced inputs {reduced:.1f}) against {theirs:.1f} CPU ms")
            slower += plain >= theirs
    together = index.get(InTurns("arxiv").key)
    who = "APPNP" if peer == PYG else "APPNP, our operator"
    if together is not None and {ENCODER, who} <= together.get("times", {}).keys():
        cpu = {name: found["cpu"] for name, found in together["times"].items()}
        ours = sum(cpu[part] for part in (ENCODER, UPDATE, SELECTION, PREDICTION))
        evidence.append(f"arxiv size {ours:.2f} against {cpu[who]:.2f} CPU s")
        slower += ours >= cpu[who]
    claim = f"An epoch of ALT-OPT-Full on plain inputs is faster than one of {words}"
    return judged(claim, "; ".join(evidence), len(evidence), len(CITATION) + 1, not slower, what="graphs")


def faster_to_the_best(index: RecordIndex) -> Verdict:
    evidence, slower = [], 0
    for cell in BEST_CELLS:
        best = best_epochs(index, cell)
        if len(best) == 2:
            ours, peer = best[FULL_NAME], best["APPNP"]
            evidence.append(
                f"{cell}: epoch {ours[0]:.0f} and {ours[1]:.2f} s against {peer[0]:.0f} and {peer[1]:.2f} s"
            )
            slower += not (ours[0] < peer[0] and ours[1] < peer[1])
    told = [*evidence, "the warm-up's time is left out", tuned_form(BEST_CELLS[:-1])] if evidence else []
    claim = "ALT-OPT-Full is at its best epoch sooner than APPNP, by epochs and by time (Cora and ogbn-arxiv)"
    return judged(claim, "; ".join(told), len(evidence), len(BEST_CELLS), not slower)


COST: tuple[Callable[[RecordIndex], Verdict | Iterable[Verdict]], ...] = (
    whole_training,
    memories_by_steps,
    epochs_against_appnp,
    faster_to_the_best,
)
