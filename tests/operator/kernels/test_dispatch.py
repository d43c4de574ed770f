"""One dispatch: nothing outside operator/kernels knows of the compiled module, and every switch is obeyed."""

import ast
from pathlib import Path

import numpy as np
import pytest

import altopt
from altopt.operator.kernels import dispatch

SOURCE = Path(altopt.__file__).parent


def names_in(path):
    """Attributes, and names imported, of a Python file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.ImportFrom) and (node.module or "").endswith("kernels.dispatch"):
            yield from (alias.name for alias in node.names)


def test_only_the_kernels_know_of_the_compiled_module():
    kernels = SOURCE / "operator" / "kernels"
    outside = [path for path in SOURCE.rglob("*.py") if kernels not in path.parents]
    assert len(outside) > 50
    offenders = {
        str(path.relative_to(SOURCE))
        for path in outside
        if {"COMPILED", "native", "_native"} & set(names_in(path))
    }
    assert not offenders


@pytest.mark.parametrize("switch", ["scipy", "torch"])
def test_a_switch_takes_the_compiled_kernels_out_of_use(switch, monkeypatch):
    monkeypatch.setenv("ALTOPT_KERNELS", switch)
    assert not dispatch.native_available()
    assert dispatch.description() == f"native kernels switched off by ALTOPT_KERNELS={switch}"


def test_the_description_names_what_was_built(monkeypatch):
    monkeypatch.delenv("ALTOPT_KERNELS", raising=False)
    monkeypatch.setattr(dispatch, "COMPILED", None)
    assert dispatch.description() == "no native kernels were built; scipy serves"
    dispatch.release_free_memory(2**40)  # nothing to do, and no error


def test_a_folder_without_a_compiled_module_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ALTOPT_NATIVE", str(tmp_path))
    with pytest.raises(ValueError, match="there is no _native module in it. Unset it."):
        dispatch.find_native()


def test_dropout_has_a_twin_with_the_same_bits(monkeypatch):
    from altopt.operator.kernels.mask import apply_dropout, dropout_gradient

    x = np.random.default_rng(0).normal(size=5000).astype(np.float32)
    results = []
    for switch in ("native", "scipy"):
        monkeypatch.setenv("ALTOPT_KERNELS", switch)
        out, into = np.empty_like(x), np.empty_like(x)
        apply_dropout(x, out, 0.3, 5, 2, relu=True)
        dropout_gradient(out, x, into, 0.3)
        results.append((out, into))
    np.testing.assert_array_equal(results[0], results[1])
