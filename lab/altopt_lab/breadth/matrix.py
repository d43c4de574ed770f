"""The matrix: every data set, kind of draw and rate with the methods that suit it, and `altopt reproduce breadth`."""

from dataclasses import dataclass, replace
from pathlib import Path

from altopt.datasets import Dataset, available
from altopt.errors import InputError
from altopt_lab.breadth.data import GIVEN, HALVES, LOGNORMAL, NAMES, TABLES, find_data, raw_name, read
from altopt_lab.breadth.draws import BY_CLASS, FEW, RANDOM, Draw, read_draw
from altopt_lab.breadth.draws import GIVEN as GIVEN_SPLITS
from altopt_lab.breadth.draws import HALVES as RANDOM_HALVES
from altopt_lab.breadth.page import summary
from altopt_lab.breadth.peers import PEERS
from altopt_lab.breadth.run import METHODS, OURS, BreadthRun
from altopt_lab.experiments.context import DatasetContexts
from altopt_lab.experiments.runner import ProgressCallback, standing, work_through
from altopt_lab.experiments.work import Contexts
from altopt_lab.records import Records

N_SPLITS, N_SLOW = 10, 3
NETWORKS = {peer.name for peer in PEERS if peer.is_network}
LARGE = ("CS", "Physics")  # slow peers take minutes on them: one split


def draws_of(name: str, data: Dataset) -> list[Draw]:
    """The draws that a data set is tried under."""
    base = LOGNORMAL.get(name, name)
    if base in TABLES:
        return list(FEW)
    if name in LOGNORMAL:
        wanted: tuple[Draw, ...] = (RANDOM[1], BY_CLASS[1])
    else:
        own = (GIVEN_SPLITS,) if base in GIVEN else (RANDOM_HALVES,) if base in HALVES else ()
        wanted = (*own, *RANDOM, *BY_CLASS)
    return [draw for draw in wanted if draw.fits(data)]


def methods_of(data: Dataset) -> dict[str, int]:
    """The methods that suit a data set, and how many splits each is run on."""
    slow = 1 if data.name in LARGE else N_SLOW
    peers = [peer for peer in PEERS if peer.suits(data.graph)]
    n_features = data.X.shape[1]
    return {OURS: N_SPLITS} | {peer.name: slow if peer.is_slow(n_features) else N_SPLITS for peer in peers}


@dataclass(frozen=True)
class Part:
    """The part of the matrix that is wanted; None: all of it.

    Parameters
    ----------
    names : tuple of str
        Data sets.
    draw : Draw or None
    method : str or None
        "peers" are all but AltOpt().
    n_splits : int or None
    """

    names: tuple[str, ...] = NAMES
    draw: Draw | None = None
    method: str | None = None
    n_splits: int | None = None

    def wants(self, draw: Draw, method: str) -> bool:
        who = (None, method) if method == OURS else (None, method, "peers")
        return self.draw in (None, draw) and self.method in who


def request(dataset: str | None, rate: str | None, method: str | None, n_splits: int | None) -> Part:
    """The part that is asked for on the command line."""
    known = {each.lower(): each for each in (*METHODS, "peers")}
    if method is not None and method.lower() not in known:
        raise InputError(f"--method {method!r} is not known. There are {', '.join(known.values())}.")
    names = NAMES if dataset is None else (find_data(dataset),)
    draw = None if rate is None else read_draw(rate)
    return Part(names, draw, method and known[method.lower()], n_splits)


def plan(contexts: Contexts, part: Part) -> list[BreadthRun]:
    """All runs in order: every cell's first split before any second one, networks after all others."""
    runs = []
    for name in part.names:
        data = contexts(name).dataset
        for draw in draws_of(name, data):
            for method, usual in methods_of(data).items():
                if part.wants(draw, method):
                    n_splits = min(usual, part.n_splits or usual)
                    runs += [BreadthRun(method, name, draw, number) for number in range(n_splits)]
    return sorted(runs, key=lambda run: (run.method in NETWORKS, run.number))


def results(
    part: Part, out: Path, folder: Path | None, budget: float, retry: bool, on_progress: ProgressCallback
) -> str:
    """Make the runs that are not on record; what wins where as text, and what is left."""
    on_disk = available(folder)
    lacking = [name for name in part.names if not on_disk.get(raw_name(name) or "", True)]
    contexts = DatasetContexts(folder, read)
    names = tuple(name for name in part.names if name not in lacking)
    wanted = plan(contexts, replace(part, names=names))
    if not wanted:
        raise InputError("Nothing of the matrix is asked for. Leave --dataset, --rate or --method out.")
    with Records(out) as records:
        recorded = list(work_through(wanted, records, contexts, budget, retry, on_progress))
    return "\n".join([summary(recorded), standing(recorded, len(wanted), out, lacking)])
