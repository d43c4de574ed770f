"""A small stored model to label, with ids and classes that try to be markup."""

import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from altopt import AltOpt, Graph
from altopt.datasets import communities
from altopt.datasets.splits import hide, per_class

EXPLORE = """import sys; from altopt.cli.main import main; from altopt.cli.explore import session
session.IDLE = {idle}; sys.argv[0] = 'altopt'; main()"""
EVIL_ID, EVIL_CLASS = "<img src=x onerror=alert(1)>", "</script><b>east</b>"
NAMES = np.array(["north", "south", EVIL_CLASS], dtype=object)


def stored_model(folder: Path, shift: int = 0, first_class: str = "north") -> Path:
    """The folder of a model of 240 nodes and three classes, as altopt fit lays it out, some labels wrong.

    With `shift` the same ids stand so many places further on; `first_class` is another name for north.
    """
    data = communities(240, 3, mean_degree=6.0, n_features=12, signal=0.5, seed=3)
    codes = data.y.copy()
    labelled = per_class(data.y, 8, 0, 0, seed=0).train
    wrong = np.flatnonzero(labelled)[:3] if labelled.dtype == bool else labelled[:3]
    codes[wrong] = (codes[wrong] + 1) % 3
    ids = [EVIL_ID, *(f"n{k}" for k in range(1, 240))]
    ids = ids[-shift:] + ids[:-shift] if shift else ids
    names = np.array([first_class, *NAMES[1:]], dtype=object)
    graph = Graph(data.graph, nodes=ids)
    model = AltOpt(random_state=0).fit(data.X, hide(names[codes], labelled), graph=graph)
    model.save(folder / "model")
    return folder / "model"


@contextmanager
def served(folder, idle=20.0):
    """The address of altopt explore on this model; it is ended as Ctrl-C ends it."""
    call = [sys.executable, "-c", EXPLORE.format(idle=idle), "explore", str(folder), "--no-browser"]
    server = subprocess.Popen(call, stdout=subprocess.PIPE, text=True)
    try:
        yield server.stdout.readline().strip()
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        server.stdout.close()
