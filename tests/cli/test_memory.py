"""The memory a fit is said to need: what it grows with, and that a real fit stays near it."""

import subprocess
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

from altopt import AltOpt
from altopt.cli.memory import expected_memory
from altopt.datasets import communities
from altopt.encoders import Encoder, LinearEncoder, MLPEncoder
from altopt.inputs import HopInputs, ReducedInputs

X = np.zeros((1000, 50), dtype=np.float32)


def test_the_peak_is_what_stays_and_the_largest_phase():
    memory = expected_memory(X, 5000, 7, AltOpt())
    stays = memory.libraries + memory.features + memory.graph
    assert memory.peak >= stays + memory.inputs + max(memory.diffusing, memory.rounds)
    assert memory.features == X.nbytes
    assert f"{memory.peak / 1e9:.2f} GB" in memory.lines()[-1]


@pytest.mark.parametrize("setting", ["n_rounds", "n_diffusion", "n_epochs"])
def test_it_does_not_depend_on_how_long_a_fit_runs(setting):
    short, long = (expected_memory(X, 5000, 7, AltOpt(**{setting: k})) for k in (1, 100))
    assert short == long


def test_it_knows_what_costs_more():
    plain = expected_memory(X, 5000, 7, AltOpt())
    reduced = expected_memory(X, 5000, 7, AltOpt(inputs=ReducedInputs()))
    assert expected_memory(X, 5000, 7, AltOpt(), weighted=True).graph > plain.graph
    assert expected_memory(X, 5000, 7, AltOpt(encoder=MLPEncoder())).libraries > plain.libraries
    assert (
        expected_memory(X, 5000, 7, AltOpt(inputs=ReducedInputs(storage="float16"))).inputs < reduced.inputs
    )
    hops = expected_memory(X, 5000, 7, AltOpt(inputs=HopInputs()))
    assert 2.9 * reduced.inputs < hops.inputs < 3 * reduced.inputs  # three hops, one projection
    assert plain.inputs == pytest.approx(hops.inputs + reduced.inputs)
    assert reduced.peak < hops.peak < plain.peak
    wide = sp.csr_array((1000, 5000), dtype=np.float32)
    assert expected_memory(wide, 5000, 7, AltOpt()).diffusing > plain.diffusing


FIT = """
import numpy as np, resource
from altopt import AltOpt
from altopt.datasets.communities import communities
from altopt.cli.memory import expected_memory
data = communities(120_000, 20, mean_degree=16, n_features=64, seed=0)
y = np.where(np.arange(120_000) % 10 == 0, data.y, -1)
model = AltOpt(random_state=0).fit(data.X, y, graph=data.graph)
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) * 1024
print(expected_memory(data.X, data.graph.n_edges, 20, AltOpt()).peak / peak)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from Linux's /proc")
def test_a_real_fit_stays_near_it():
    ran = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert 0.75 < float(ran.stdout) < 1.3


class Watched(Encoder):
    """A linear encoder whose learner looks, when trained again, whether what it said is still held."""

    def __init__(self):
        self.held = []

    def begin(self, n_inputs, n_classes, seed):
        inside, said = LinearEncoder().begin(n_inputs, n_classes, seed), []
        train, predict = inside.train, inside.predict

        def watched_train(*given):
            self.held.extend(ref() is not None for ref in said[-1:])
            return train(*given)

        def watched_predict(X):
            P = predict(X)
            said.append(weakref.ref(P))
            return P

        inside.train, inside.predict = watched_train, watched_predict
        return inside


def test_what_the_encoder_said_is_let_go_before_it_learns_again():
    data, encoder = communities(n_nodes=300, n_classes=3, seed=0), Watched()
    known = np.where(np.arange(300) % 10 == 0, data.y, -1)
    AltOpt(encoder=encoder, n_rounds=3, cross_fit=False).fit(data.X, known, graph=data.graph)
    assert encoder.held
    assert not any(encoder.held)
