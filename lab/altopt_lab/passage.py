"""What a fit passes through: the functions that run, and what of their modules and classes they read."""

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import altopt
import altopt_lab
from altopt_lab.sources import tree_of

PACKAGES = {module.__name__: Path(str(module.__file__)).parent for module in (altopt, altopt_lab)}
Passage = dict[str, list[str]]  # qualified names of functions, by module


@dataclass
class Source:
    """What a module defines.

    Attributes
    ----------
    functions : dict
        By qualified name; those inside of other functions are parts of them.
    bindings : dict
        Statements outside of functions, by each name that they bind; of a class its head.
    fields : dict
        By class, its other statements with the name that each binds, or None.
    imports : dict
        By name, (module, name in it); no name where it is that module itself.
    """

    functions: dict[str, ast.AST] = field(default_factory=dict)
    bindings: dict[str, list[ast.AST]] = field(default_factory=dict)
    fields: dict[str, list[tuple[str | None, ast.AST]]] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)


def passage_of(run: Callable[[], Any]) -> Passage:
    """The functions of both packages that are called meanwhile, in any thread."""
    called: set[tuple[str, str]] = set()

    def note(frame: Any, event: str, arg: Any) -> None:
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
        threading.setprofile(before)
    passed: Passage = {}
    for file, name in called:
        module, outermost = module_in(Path(file)), name.partition(".<locals>")[0]
        if module is not None and outermost in source(module).functions:
            passed.setdefault(module, []).append(outermost)
    return union(passed)


def union(*passages: Passage) -> Passage:
    """What is in any of them, in order."""
    modules = sorted({module for passage in passages for module in passage})
    return {module: sorted({name for one in passages for name in one.get(module, ())}) for module in modules}


def standing(passage: Passage) -> Passage:
    """Without functions that are gone."""
    there = {
        module: [name for name in names if place_of(module) and name in source(module).functions]
        for module, names in passage.items()
    }
    return {module: names for module, names in there.items() if names}


def meaning_of(passage: Passage) -> str:
    """The source of a passage: its functions, and the statements that bind what they read."""
    there = standing(passage)
    wanted = {(module, name.partition(".")[0]) for module, names in there.items() for name in names}
    nodes = {(module, source(module).functions[name]) for module, names in there.items() for name in names}
    n_before = -1
    while len(nodes) + len(wanted) > n_before:
        n_before = len(nodes) + len(wanted)
        wanted |= {(module, name) for module, node in nodes for name in names_in(node)}
        attributes = {name for _, node in nodes for name in attributes_in(node)}
        wanted |= {found for module, name in wanted for found in imported(module, name, attributes)}
        nodes |= {(module, node) for module, name in wanted for node in bound(module, name, attributes)}
    return "\n".join(sorted({f"{module}: {ast.dump(node)}" for module, node in nodes}))


def imported(module: str, name: str, attributes: set[str]) -> Iterator[tuple[str, str]]:
    """Where a name of a module comes from: of a module that is imported, all that is read of anything."""
    other, original = source(module).imports.get(name, (None, None))
    if other is not None:
        yield from ((other, one) for one in ([original] if original else sorted(attributes)))


def bound(module: str, name: str, attributes: set[str]) -> Iterator[ast.AST]:
    """The statements behind a name; of a class its head and the fields that are read."""
    yield from source(module).bindings.get(name, ())
    yield from (node for one, node in source(module).fields.get(name, ()) if one is None or one in attributes)


@cache
def names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


@cache
def attributes_in(node: ast.AST) -> set[str]:
    """Names that may be read of an object: attributes, keywords, and texts, for getattr."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            found.add(part.attr)
        elif isinstance(part, ast.keyword) and part.arg:
            found.add(part.arg)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.add(part.value)
    return found


def module_in(path: Path) -> str | None:
    """The module of a file of the packages."""
    for package, folder in PACKAGES.items():
        if path.is_relative_to(folder):
            parts = path.relative_to(folder).with_suffix("").parts
            return ".".join((package, *parts)).removesuffix(".__init__")
    return None


def place_of(module: str) -> Path | None:
    """The file of a module of the packages."""
    package, *rest = module.split(".")
    if package not in PACKAGES:
        return None
    path = PACKAGES[package].joinpath(*rest)
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


@cache
def source(module: str) -> Source:
    path, found = place_of(module), Source()
    if path is None:
        return found
    tree = tree_of(path)
    for node in ast.walk(tree):
        strip_types(node)
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                target = (whole, None) if place_of(whole) else (node.module, one.name)
                found.imports[one.asname or one.name] = target
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef):
            found.functions[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            read_class(statement, found)
        elif not isinstance(statement, ast.Import | ast.ImportFrom):
            for name in names_stored(statement):
                found.bindings.setdefault(name, []).append(statement)
    return found


def read_class(node: ast.ClassDef, found: Source) -> None:
    body, node.body = node.body, []
    found.bindings[node.name] = [node]
    for statement in body:
        if isinstance(statement, ast.FunctionDef):
            found.functions[f"{node.name}.{statement.name}"] = statement
        elif not isinstance(statement, ast.Pass):
            names: set[str | None] = {*names_stored(statement)} or {None}
            found.fields.setdefault(node.name, []).extend((name, statement) for name in names)


def names_stored(node: ast.AST) -> set[str]:
    stored = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {part.id for part in stored if isinstance(part.ctx, ast.Store)}


def strip_types(node: ast.AST) -> None:
    """Without annotations, which change nothing of what a function does."""
    if isinstance(node, ast.FunctionDef):
        node.returns = None
    elif isinstance(node, ast.arg):
        node.annotation = None
    elif isinstance(node, ast.AnnAssign):
        node.annotation = ast.Constant(None)
