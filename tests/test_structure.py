"""The shape of the source: who imports whom, how long files are, and that private things stay private."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"altopt": ROOT / "src" / "altopt", "altopt_lab": ROOT / "lab" / "altopt_lab"}
MAX_LINES = 400


@cache
def modules():
    """Name of a module -> (path, syntax tree), of both packages."""
    trees = {}
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = [package, *path.relative_to(folder).with_suffix("").parts]
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            trees[name] = path, ast.parse(path.read_text(), path.name)
    return trees


def statements(tree, lazy, typing):
    """Every node of the tree; bodies of functions and what stands under `if TYPE_CHECKING` only on request."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not lazy:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing:
            continue
        yield node
        yield from statements(node, lazy, typing)


def imports_of(name, tree, lazy, typing):
    """The modules of altopt and altopt_lab that this one imports."""
    known = modules()
    is_package = known[name][0].name == "__init__.py"
    for node in statements(tree, lazy, typing):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                above = name.split(".")[: len(name.split(".")) - node.level + is_package]
                origin = ".".join([*above, *origin.split(".")]).strip(".")
            names = [f"{origin}.{alias.name}" for alias in node.names]
            names = [full if full in known else origin for full in names]
        else:
            continue
        yield from (each for each in names if each in known and each != name)


def cycle_in(graph):
    """A cycle as a list of modules, or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return None
        path.append(name)
        for other in sorted(graph[name]):
            if (cycle := visit(other)) is not None:
                return cycle
        done.add(path.pop())
        return None

    for name in sorted(graph):
        if (cycle := visit(name)) is not None:
            return cycle
    return None


# settings load their torch half where a fit begins, and the half is written for these settings
HALVES = {
    ("altopt.encoders.attention", "altopt.encoders.torch.attention"),
    ("altopt.encoders.mlp", "altopt.encoders.torch.mlp"),
    ("altopt.encoders.network", "altopt.encoders.torch.network"),
}


@pytest.mark.parametrize("lazy", [False, True], ids=["when loaded", "with imports inside functions"])
def test_no_module_imports_itself_through_others(lazy):
    edges = {name: set(imports_of(name, tree, lazy, typing=False)) for name, (_, tree) in modules().items()}
    cycle = cycle_in(
        {name: {other for other in edges[name] if (name, other) not in HALVES} for name in edges}
    )
    assert cycle is None, " -> ".join(cycle)


def test_a_cycle_is_found():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c", "a"]


ROOMS = """
    arrays errors threads settings defaults drawing graph table operator views solvers inputs encoders training
    selection fitted io datasets checks scale estimator tuning cli
"""
# what stores models stands after them; checkpoints, folders and arrays on disk are used by earlier rooms
EARLY = {f"altopt.io.{name}" for name in ("array_io", "checkpoint", "files", "fingerprint", "folder")}


def test_rooms_import_from_those_before_them():
    order = ROOMS.split()
    for name, (_, tree) in modules().items():
        package, *inside = name.split(".")
        if package == "altopt" and inside:
            for other in set(imports_of(name, tree, lazy=True, typing=False)) - EARLY - {"altopt"}:
                there = other.split(".")[1]
                assert order.index(there) <= order.index(inside[0]), f"{name} imports {other}"


def test_altopt_does_not_import_its_lab():
    for path in PACKAGES["altopt"].rglob("*.py"):
        imported = [
            name
            for node in ast.walk(ast.parse(path.read_text()))
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        ]
        assert not [name for name in imported if name.split(".")[0] == "altopt_lab"], path


@pytest.mark.parametrize("package", PACKAGES)
def test_no_file_is_too_long(package):
    files = [path for kind in ("*.py", "*.cpp", "*.hpp") for path in PACKAGES[package].rglob(kind)]
    long = {path.name: n for path in files if (n := len(path.read_text().splitlines())) > MAX_LINES}
    assert not long


OF_NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}  # public in spite of their names


def is_private(name):
    dunder = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not dunder and name not in OF_NAMED_TUPLES


def own_private_names(tree):
    """Private names that this file defines: on any class, module or instance of its own."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return {name for name in names if is_private(name)}


def private_uses(tree):
    """Private members of another module that this file reaches for."""
    own = own_private_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            yield from (
                f"line {node.lineno}: from {node.module} import {alias.name}"
                for alias in node.names
                if is_private(alias.name)
            )
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            of_itself = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if not of_itself and node.attr not in own:
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_private_members_stay_in_their_module():
    uses = [
        f"{path.relative_to(ROOT)}, {use}" for path, tree in modules().values() for use in private_uses(tree)
    ]
    assert not uses, "\n".join(uses)


MODEL_NAMES = re.compile(r"^(model|fitted|fitted_model)$")


def untyped_models(tree):
    """Functions that take a fitted model as Any or object, or without a type."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
                kind = "" if argument.annotation is None else ast.unparse(argument.annotation)
                if MODEL_NAMES.match(argument.arg) and kind in ("", "Any", "object", "typing.Any"):
                    yield f"line {node.lineno}: {node.name}({argument.arg}: {kind})"


def test_a_fitted_model_has_a_type():
    untyped = [
        f"{path.relative_to(ROOT)}, {use}"
        for path, tree in modules().values()
        for use in untyped_models(tree)
    ]
    assert not untyped, "\n".join(untyped)


def test_every_module_opens_with_a_sentence_of_its_own():
    """At least four words, about this file alone, on the first line; no two files say the same."""
    openings = {}
    for name, (path, tree) in modules().items():
        doc = ast.get_docstring(tree)
        assert doc, f"{path.relative_to(ROOT)} has no docstring"
        opening = doc.split("\n\n")[0].replace("\n", " ")
        assert re.search(r"[.:]( |$)", opening), f"{path.relative_to(ROOT)}: {opening}"
        assert len(opening.split()) >= 3, f"{path.relative_to(ROOT)}: {opening}"
        other = openings.setdefault(opening, name)
        assert other == name, f"{name} and {other} open with the same sentence: {opening}"
