"""Sparse matrices whose indices or pointers point outside, as scipy stores and loads them: refused, never a signal."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt import AltOpt, Graph
from altopt_lab.trust.children import forked
from altopt_lab.trust.doors import Problem, attempt, command_line, write_csv
from altopt_lab.trust.known.case import Case, fault
from altopt_lab.trust.part import Outcome

N = 40
Break = Callable[[Any], None]


def matrix() -> sp.csr_array:
    rng = np.random.default_rng(0)
    indices = rng.integers(0, N, 2 * N).astype(np.int32)
    return sp.csr_array((np.ones(2 * N), indices, np.arange(0, 2 * N + 1, 2).astype(np.int32)), shape=(N, N))


def index(A: Any, value: int) -> None:
    A.indices[3] = value


def falling(A: Any) -> None:
    A.indptr[5], A.indptr[6] = A.indptr[6], A.indptr[5] - 2


def past_the_end(A: Any) -> None:
    A.indptr[-1] = 10_000_000


def negative_pointer(A: Any) -> None:
    A.indptr[3] = -5_000_000


def short_data(A: Any) -> None:
    A.data = A.data[:-30]


BREAKS: dict[str, Break] = {
    "an index of 5,000,000": partial(index, value=5_000_000),
    "an index of -7": partial(index, value=-7),
    "an index one too large": partial(index, value=N),
    "a pointer that falls": falling,
    "a pointer past the end": past_the_end,
    "a negative pointer": negative_pointer,
    "too few values": short_data,
}


def store(path: Path, A: Any, form: str) -> Path:
    """As scipy's save_npz writes it, without scipy's own checks."""
    held = {
        "format": np.array(form.encode()),
        "shape": np.array(A.shape),
        "data": A.data,
        "_is_array": np.array(True),
    }
    np.savez(path, **held, indices=A.indices, indptr=A.indptr)
    return path


def by_command(folder: Path, break_it: Break, place: str, form: str = "csr") -> Outcome:
    problem = Problem(N, 2, 4)
    tables = problem.tables(folder / "data", n_new=0)
    A = matrix()
    break_it(A)
    path = store(folder / "bad.npz", A, form)
    files = {"features": tables["features"], "edges": tables["edges"]} | {place: path}
    named = [part for key, file in files.items() for part in (f"--{key}", file)]
    end = forked(
        lambda: command_line(["fit", *named, "--labels", tables["labels"], "--out", folder / "o", "--quiet"]),
        30,
    )
    return judged(end.value, end.whole, end.fault() or end.output.strip()[-200:])


def judged(code: Any, whole: bool, said: str) -> Outcome:
    if not whole:
        return fault(said)
    return Outcome("refused", said) if code == 2 else fault(f"accepted, exit {code} {said}")


def in_python(folder: Path, break_it: Break, use: Callable[[Problem, Any], Any]) -> Outcome:
    A = matrix()
    break_it(A)
    problem = Problem(N, 2, 4)

    def job() -> int:
        return 2 if attempt(lambda: use(problem, A))[0] == "refused" else 0

    end = forked(job, 30)
    return judged(end.value, end.whole, end.fault())


def as_graph(problem: Problem, A: Any) -> None:
    AltOpt(random_state=0, cross_fit=False).fit(problem.X, problem.y, graph=Graph(A))


def as_features(problem: Problem, A: Any) -> None:
    AltOpt(random_state=0, cross_fit=False).fit(A, problem.y, graph=problem.graph)


def as_new_features(problem: Problem, A: Any) -> None:
    model = AltOpt(random_state=0, cross_fit=False).fit(
        sp.csr_array(matrix()), problem.y, graph=problem.graph
    )
    model.predict_proba(A)


def to_predict(folder: Path, break_it: Break) -> Outcome:
    """A broken matrix of new nodes for a stored model."""
    problem, A = Problem(N, 2, 4), matrix()
    tables = problem.tables(folder / "data", n_new=0)
    good = store(folder / "good.npz", A, "csr")
    break_it(A)
    bad = store(folder / "bad.npz", A, "csr")
    labels = write_csv(
        folder / "l.csv", ["node", "label"], [[str(i), f"c{k}"] for i, k in enumerate(problem.y) if k >= 0]
    )

    def job() -> int:
        call = [
            "fit",
            "--features",
            good,
            "--edges",
            tables["edges"],
            "--labels",
            labels,
            "--out",
            folder / "o",
        ]
        assert command_line([*call, "--quiet"]) == 0
        return command_line(["predict", folder / "o", "--features", bad, "--out", folder / "p.csv"])

    end = forked(job, 30)
    return judged(end.value, end.whole, end.fault() or end.output.strip()[-200:])


def every(folder: Path, use: Callable[[Path, Break], Outcome]) -> Outcome:
    """Each kind of break, one after the other; the first fault, if any."""
    outcome = Outcome("refused")
    for k, (name, break_it) in enumerate(BREAKS.items()):
        place = folder / str(k)
        place.mkdir()
        outcome = use(place, break_it)
        if outcome.kind == "fault":
            return fault(f"{name}: {outcome.detail}")
    return outcome


def one(name: str, place: str) -> Case:
    return Case(f"{place} with {name}", partial(by_command, break_it=BREAKS[name], place=place))


def all_of(name: str, use: Any, in_test: bool = True) -> Case:
    return Case(name, partial(every, use=use), False, 120, in_test)


ORIGINALS = ("an index of 5,000,000", "an index of -7")
CASES = [
    *(one(name, place) for name in ORIGINALS for place in ("edges", "features")),
    all_of("edges, broken in seven ways", partial(by_command, place="edges")),
    all_of("features as csc, broken in seven ways", partial(by_command, place="features", form="csc"), False),
    all_of("a Graph of a matrix, in Python", partial(in_python, use=as_graph)),
    all_of("X in Python", partial(in_python, use=as_features)),
    all_of("X of new nodes, in Python", partial(in_python, use=as_new_features)),
    all_of("features of new nodes, by predict", to_predict, False),
]
