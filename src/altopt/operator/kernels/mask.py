"""Dropout masks applied to flat float32 arrays: the compiled pass, or its numpy twin with the same bits."""

from altopt.arrays import Array
from altopt.operator.kernels import reference
from altopt.operator.kernels.dispatch import native
from altopt.threads import kernel_threads


def apply_dropout(x: Array, out: Array, rate: float, seed: int, counter: int, relu: bool) -> None:
    """out <- x mask / (1 - rate), of max(x, 0) with `relu`; mask number `counter` of the seed. `out` may be x."""
    compiled = native()
    if compiled is None:
        out[...] = reference.dropout(x, rate, seed, counter, relu)
    else:
        compiled.dropout(x, out, rate, seed, counter, relu, kernel_threads())


def dropout_gradient(out: Array, gradient: Array, into: Array, rate: float) -> None:
    """into <- the gradient before ReLU and dropout, from their output and the gradient after them."""
    compiled = native()
    if compiled is None:
        into[...] = reference.dropout_backward(out, gradient, rate)
    else:
        compiled.dropout_backward(out, gradient, into, rate, kernel_threads())
