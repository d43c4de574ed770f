"""A model.json that names functions in the place of parts: loading it must run none of them."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from altopt import AltOpt
from altopt.errors import InputError
from altopt_lab.trust.doors import Problem, copied, edit_model, read_model
from altopt_lab.trust.known.case import FINE, Case, fault
from altopt_lab.trust.part import Outcome

Route = tuple[Any, ...]


def commands(mark: Path) -> dict[str, Any]:
    """JSON that would touch `mark` if a loader called what it names."""
    touch = f"touch {mark}"
    return {
        "a benchmark's child": part("altopt.bench.child:run", task="system", tasks="os", command=touch),
        "the lab's worker": part("altopt_lab.bench.worker:run", task="system", tasks="os", command=touch),
        "an import": part("altopt.store:import_module", name="evil_module"),
        "an import elsewhere": part("altopt.datasets.download:import_module", name="evil_module"),
        "an extra": part("altopt.errors:require_extra", module="evil_module", extra="x", wanted="x"),
        "the command line": part("altopt.cli:run", arguments=["demo", "--out", str(mark)]),
        "the command line now": part("altopt.cli.main:run", arguments=["demo", "--out", str(mark)]),
        "a shell": part("os:system", command=touch),
        "a process": part("subprocess:Popen", args=["touch", str(mark)]),
        "a bare name": part("system", command=touch),
        "an attribute": part("altopt.io.folder:os.system", command=touch),
        "code": part("builtins:exec", source=f"open({str(mark)!r}, 'w')"),
        "a class": {"class": "altopt.bench.child:run"},
    }


def part(path: str, /, **fields: Any) -> dict[str, Any]:
    return {"part": path, "fields": fields}


def routes(head: dict[str, Any]) -> Iterator[Route]:
    """Every place in the head at which a value stands."""
    stack: list[tuple[Route, Any]] = [((), head)]
    while stack:
        route, value = stack.pop()
        children = (
            value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        )
        for key, child in children:
            yield (*route, key)
            stack.append(((*route, key), child))


def put(head: Any, route: Route, value: Any) -> None:
    for key in route[:-1]:
        head = head[key]
    head[route[-1]] = value


def setting(head: dict[str, Any], name: str) -> Route:
    return next(
        route for route in routes(head) if route[-1] == name and route[0] in ("settings", "parameters")
    )


def ran(folder: Path, source: Path, route: Route, name: str) -> str:
    """What happened when a model with the command at `route` was loaded; empty where nothing ran."""
    mark = folder / "mark"
    (folder / "evil_module.py").write_text(f"open({str(mark)!r}, 'w').close()")
    sys.path.insert(0, str(folder))  # as it is for python started in that folder
    command = commands(mark)[name]
    target = copied(source, folder / "attacked")
    edit_model(target, lambda head, _: put(head, route, command))
    try:
        AltOpt.load(target)
        answer = "loaded"
    except InputError:
        answer = ""
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("evil_module", None)
    if mark.exists():
        return f"{name} ran, at {'.'.join(map(str, route))}"
    return "" if answer in ("", "loaded") else f"{name} at {'.'.join(map(str, route))}: {answer}"


def every_command(folder: Path) -> Outcome:
    """Each command as the setting `inputs`."""
    Problem().fit().save(folder / "model")
    route = setting(read_model(folder / "model")[0], "inputs")
    return first(folder, [(route, name) for name in commands(folder)])


def every_place(folder: Path, name: str) -> Outcome:
    """One command at every place of the head."""
    Problem(60).fit().save(folder / "model")
    places = [route for route in routes(read_model(folder / "model")[0]) if route[0] not in SEALS]
    return first(folder, [(route, name) for route in places[:: max(1, len(places) // 60)]])


SEALS = ("format", "kind", "version", "sha256", "checksum", "arrays")


def inside_a_part(folder: Path) -> Outcome:
    """Commands as a field of a part that is altopt's own, and as the classes and ids."""
    from altopt.encoders import LinearEncoder

    Problem().fit(encoder=LinearEncoder()).save(folder / "model")
    head = read_model(folder / "model")[0]
    places = [route for route in routes(head) if "fields" in route and route[-2] == "fields"]
    return first(
        folder,
        [(route, name) for route in places[:4] for name in ("an import", "a benchmark's child", "a shell")],
    )


def first(folder: Path, attempts: list[tuple[Route, str]]) -> Outcome:
    for k, (route, name) in enumerate(attempts):
        place = folder / f"attempt{k}"
        place.mkdir()
        if said := ran(place, folder / "model", route, name):
            return fault(said)
    return FINE


CASES = [
    Case("every command as a setting", every_command),
    Case("an import at every place of model.json", partial(every_place, name="an import"), original=False),
    Case(
        "the child of a benchmark at every place",
        partial(every_place, name="a benchmark's child"),
        original=False,
        in_test=False,
    ),
    Case("inside a part of altopt's own", inside_a_part, original=False),
]
