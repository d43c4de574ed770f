"""The laws of encoder inputs: they pass what is right, and name what is wrong. tests/laws.py has the right ones."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import scipy.sparse as sp

from altopt.checks import check_inputs
from altopt.errors import InputError
from altopt.inputs import HopInputs, InputMemory, Inputs, Prepared

INNER = HopInputs(hops=(0, 1), n_components=8)


@dataclass(frozen=True)
class Sound(Inputs):
    """Right; each of those below breaks one promise."""

    def prepare(self, source):
        return Wrapped(INNER.prepare(source), self)

    def restore(self, state):
        return Wrapped(INNER.restore(state), self)

    def memory(self, shape):
        return INNER.memory(shape)

    def rows(self, inner, Z):
        return inner.rows(Z)

    def extend(self, inner, new):
        return inner.extend(new)

    def renewed(self, inner, changed):
        return inner.renewed(changed)

    def with_rows(self, inner, Z, at):
        return inner.with_rows(Z, at)

    def state(self, inner):
        return inner.state()


class Wrapped(Prepared):
    """Hops whose methods go by the inputs they belong to."""

    def __init__(self, inner, inputs):
        self.inner, self.inputs, self.Z = inner, inputs, inner.Z

    def rows(self, Z):
        return self.inputs.rows(self.inner, Z)

    def extend(self, new):
        return self.inputs.extend(self.inner, new)

    def renewed(self, changed):
        return self.inputs.renewed(self.inner, changed)

    def with_rows(self, Z, at=None):
        return Wrapped(self.inputs.with_rows(self.inner, Z, at), self.inputs)

    def state(self):
        return self.inputs.state(self.inner)

    @property
    def nbytes(self):
        return self.inner.nbytes


def test_right_inputs_pass():
    check_inputs(Sound())


class Fixed(Prepared):
    """The smallest Prepared: no node can be added, no edge followed."""

    def __init__(self, Z):
        self.Z = Z

    def rows(self, Z):
        return Z

    def extend(self, new):
        return np.asarray(new.X.toarray(), dtype=np.float32)

    def state(self):
        return {"Z": self.Z}


class Smallest(Sound):
    keeps_missing = True

    def prepare(self, source):
        X = source.X.toarray() if sp.issparse(source.X) else source.X
        return Fixed(X.astype(np.float32))

    def restore(self, state):
        return Fixed(state["Z"])

    def memory(self, shape):
        return InputMemory(shape.block(shape.n_features))


def test_inputs_without_the_optional_methods_pass():
    check_inputs(Smallest())


class HandsOnMissing(Smallest):
    keeps_missing = False


class Unhashable(Sound):
    __hash__ = None


class Double(Sound):
    def rows(self, inner, Z):
        return inner.rows(Z).astype(np.float64)


class SaysLess(Sound):
    def memory(self, shape):
        return InputMemory(shape.block(1))


class Infinite(Sound):
    def rows(self, inner, Z):
        return inner.rows(Z) / np.float32(0.0)


class CountsNodes(Sound):
    def prepare(self, source):
        prepared = super().prepare(source)
        prepared.inner.Z[:] *= np.linspace(0, 1, len(prepared.Z), dtype=np.float32)[:, None]
        return prepared


class ScalesByTheBatch(Sound):
    def rows(self, inner, Z):
        rows = inner.rows(Z)
        return rows / np.abs(rows).max()


@dataclass(frozen=True)
class Unseeded(Sound):
    calls: list = field(default_factory=list, compare=False)

    def prepare(self, source):
        self.calls.append(1)
        prepared = super().prepare(source)
        prepared.inner.Z[:] *= np.float32(len(self.calls))
        return prepared


class WritesToX(Sound):
    def prepare(self, source):
        source.X.data[0] += 1
        return super().prepare(source)


class NewNodesAreZero(Sound):
    def extend(self, inner, new):
        return np.zeros_like(inner.extend(new))


class Forgetful(Sound):
    def restore(self, state):
        return Wrapped(INNER.restore(state | {"Z": 2 * state["Z"]}), self)


class StoresLists(Sound):
    def state(self, inner):
        return {"Z": inner.Z.tolist()}


class RenewsToZero(Sound):
    def renewed(self, inner, changed):
        return np.zeros_like(inner.renewed(changed))


class AppendsZeros(Sound):
    def with_rows(self, inner, Z, at):
        return inner.with_rows(np.zeros_like(Z) if at is None else Z, at)


class ReplacesNothing(Sound):
    def with_rows(self, inner, Z, at):
        return inner.with_rows(Z, at) if at is None else replace(inner)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Unhashable, "must be hashable"),
        (Double, "rows are float64, not float32"),
        (SaysLess, "memory states 240 bytes kept"),
        (Infinite, "rows are not finite"),
        (CountsNodes, "renumbering the nodes changes the products of rows"),
        (ScalesByTheBatch, "the rows of some nodes are not the rows of all nodes, sliced"),
        (Unseeded, "the same seed gives other rows"),
        (WritesToX, "prepare writes to X"),
        (NewNodesAreZero, "a new node that copies a known one has another row"),
        (Forgetful, "restored inputs have other rows"),
        (StoresLists, "state is not a dictionary of named numpy arrays"),
        (RenewsToZero, "renewing nodes whose edges did not change"),
        (AppendsZeros, "with_rows does not append the rows it is given"),
        (ReplacesNothing, "does not replace the rows `at`"),
        (HandsOnMissing, "NaN in X reaches the rows"),
    ],
)
def test_a_broken_law_is_named(kind, complaint):
    with np.errstate(divide="ignore", invalid="ignore"), pytest.raises(InputError, match=complaint):
        check_inputs(kind())


def test_what_is_no_inputs_is_named():
    with pytest.raises(InputError, match="object: it is not a subclass of altopt.inputs.Inputs"):
        check_inputs(object())
