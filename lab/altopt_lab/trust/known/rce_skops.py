"""A stored scikit-learn encoder that holds functions, as skops bytes or as JSON: loading the model must run none."""

import io
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from altopt import AltOpt
from altopt.arrays import Array
from altopt.errors import InputError
from altopt_lab.trust.doors import Arrays, Head, Problem, copied, edit_model, read_model
from altopt_lab.trust.known.case import FINE, Case, fault
from altopt_lab.trust.part import Outcome

PRELOAD = ("skops.io", "sklearn.ensemble")  # slow imports, done before the processes part
Node = dict[str, Any]
Poison = Callable[[Node, str], None]  # changes the schema, so that it would run the code


def node(loader: str, module: str, name: str, content: Any, **more: Any) -> Node:
    return {"__class__": name, "__module__": module, "__loader__": loader, "content": content} | more


def plain(value: Any) -> Node:
    return node("JsonNode", "builtins", type(value).__name__, json.dumps(value), is_json=True)


def several(kind: str, items: list[Node]) -> Node:
    return node("ListNode" if kind == "list" else "TupleNode", "builtins", kind, items)


def mapping(content: dict[str, Node] | None = None) -> Node:
    names = [type_named("builtins", "str") for _ in content or {}]
    return node("DictNode", "builtins", "dict", content or {}, key_types=several("list", names))


def type_named(module: str, name: str) -> Node:
    return node("TypeNode", module, name, {"__class__": name, "__module__": module})


def function(module: str, name: str) -> Node:
    return node("FunctionNode", module, name, {"module_path": module, "function": name})


def partial_of(called: Node, arguments: list[Node], module: str = "sklearn.harmless") -> Node:
    content = {
        "func": called,
        "args": several("tuple", arguments),
        "kwds": mapping(),
        "namespace": plain(None),
    }
    return node("PartialNode", module, "partial", content)


def set_attribute(schema: Node, name: str, value: Node) -> None:
    """Give the estimator an attribute of its own, which hides the method of that name."""
    held = schema["content"]
    held["content"][name] = value
    held["key_types"]["content"].append(type_named("builtins", "str"))


def runs(code: str, module: str = "sklearn.harmless") -> Node:
    return partial_of(function("numpy.testing._private.utils", "runstring"), [plain(code), mapping()], module)


def hidden_method(schema: Node, code: str, name: str, module: str = "sklearn.harmless") -> None:
    set_attribute(schema, name, runs(code, module))


def through_eval(schema: Node, code: str) -> None:
    called = partial_of(function("builtins", "eval"), [plain(code)], "numpy.harmless")
    set_attribute(schema, "__sklearn_clone__", called)


def through_a_method(schema: Node, code: str) -> None:
    held = node("MethodNode", "sklearn.harmless", "method", {"func": "__call__", "obj": runs(code)})
    set_attribute(schema, "__sklearn_clone__", held)


def as_parameter(schema: Node, code: str) -> None:
    """In the place of a parameter that is called while fitting or predicting."""
    for name in ("criterion", "random_state", "class_weight"):
        if name in schema["content"]["content"]:
            schema["content"]["content"][name] = runs(code)


def other_class(schema: Node, code: str) -> None:
    """An object of another class of a trusted package, with attributes of the file's choice."""
    schema |= {"__module__": "sklearn.preprocessing", "__class__": "FunctionTransformer"}
    set_attribute(schema, "func", runs(code))
    set_attribute(schema, "__sklearn_clone__", runs(code))


def poisoned(held: bytes, poison: Poison, code: str) -> Array:
    archive = zipfile.ZipFile(io.BytesIO(held))
    schema = json.loads(archive.read("schema.json"))
    poison(schema, code)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, json.dumps(schema) if name == "schema.json" else archive.read(name))
    return np.frombuffer(out.getvalue(), np.uint8)


def is_archive(array: Array) -> bool:
    return array.dtype == np.uint8 and array.ndim == 1 and array[:2].tobytes() == b"PK"


def holds(folder: Path, estimator: Callable[[], Any], poison: Poison, planted: bool = False) -> Outcome:
    problem, mark = Problem(), folder / "mark"
    code = f"open({str(mark)!r}, 'w').close()"
    encoder = estimator()
    problem.fit(encoder=None if planted else encoder).save(folder / "model")

    def change(head: Head, arrays: Arrays) -> None:
        for name in [name for name, array in arrays.items() if is_archive(array)]:
            arrays[name] = poisoned(arrays[name].tobytes(), poison, code)
        if planted:
            try:
                import skops.io
            except ImportError:  # no tree needs it any more: the name alone must be refused
                arrays["planted"] = np.frombuffer(b"PK\x03\x04", dtype=np.uint8)
            else:
                fitted = encoder.fit(problem.X, problem.truth)
                arrays["planted"] = poisoned(skops.io.dumps(fitted), poison, code)
            key = "parameters" if "parameters" in head else "settings"
            head[key]["encoder"] = {"skops": "planted"}

    edit_model(folder / "model", change)
    return used(folder / "model", problem, mark)


def used(stored: Path, problem: Problem, mark: Path) -> Outcome:
    """Load and use a model that should do no more than refuse."""
    said = ""
    try:
        model = AltOpt.load(stored)
        model.predict_proba(problem.X[:3])
        model.update(labels={100: 1})
    except InputError as error:
        said = str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return fault("code ran" if mark.exists() else said)
    return fault("code ran") if mark.exists() else Outcome("refused" if said else FINE.kind, said)


def called(code: str) -> list[Node]:
    """Nodes that would be a function, if the JSON of an encoder could name one."""
    name, arguments = "numpy.testing._private.utils.runstring", {"list": [code, {"dict": []}]}
    return [
        {"class": "functools.partial", "state": {"func": {"type": name}, "args": arguments}},
        {"class": "partial", "state": {"func": name, "args": arguments}},
        {"type": name},
        {"type": "eval"},
        {"loss": name, "n_classes": 3},
        {"scalar": "load", "value": code},
        {"dtype": name},
        {"class": "FunctionTransformer", "state": {"func": {"type": name}}},
    ]


def in_json(folder: Path, estimator: Callable[[], Any], name: str | None) -> Outcome:
    """Each of these nodes as an attribute of the encoder, or in its place, wherever one is stored as JSON."""
    problem, mark = Problem(60), folder / "mark"
    problem.fit(encoder=estimator()).save(folder / "model")
    if not any(is_json(array) for array in read_model(folder / "model")[1].values()):
        return Outcome("fine", "no encoder is stored as JSON here")
    outcome = FINE
    for k, node_ in enumerate(called(f"open({str(mark)!r}, 'w').close()")):
        stored = copied(folder / "model", folder / f"attacked{k}")

        def change(head: Head, arrays: Arrays, node_: Node = node_) -> None:
            for key in [key for key, array in arrays.items() if is_json(array)]:
                held = json.loads(arrays[key].tobytes())
                if name is None:
                    held["estimator"] = node_
                else:
                    held["estimator"]["state"][name] = node_
                arrays[key] = np.frombuffer(json.dumps(held).encode(), np.uint8)

        edit_model(stored, change)
        outcome = used(stored, problem, mark)
        if outcome.kind != "refused":
            return fault(f"{json.dumps(node_)[:80]}: {outcome.detail or 'accepted'}")
    return outcome


def wild_tree(folder: Path) -> Outcome:
    """Children of a tree's nodes that lie outside of it: refused, never a signal."""
    problem = Problem(60)
    problem.fit(encoder=tree()).save(folder / "model")
    if not any(is_json(array) for array in read_model(folder / "model")[1].values()):
        return Outcome("fine", "no encoder is stored as JSON here")
    for k, value in enumerate((5_000_000, -7, 0)):
        stored = copied(folder / "model", folder / f"attacked{k}")

        def change(head: Head, arrays: Arrays, value: int = value) -> None:
            held = json.loads(arrays["encoder.model.json"].tobytes())
            key = "encoder.model." + held["estimator"]["state"]["tree_"]["tree"]["nodes"]
            data = bytearray(arrays[key].tobytes())
            data[:8] = value.to_bytes(8, "little", signed=True)  # the left child of the root
            arrays[key] = np.frombuffer(bytes(data), np.uint8)

        edit_model(stored, change)
        outcome = used(stored, problem, folder / "mark")
        if outcome.kind != "refused":
            return fault(f"a child {value}: {outcome.detail or 'accepted'}")
    return Outcome("refused")


def is_json(array: Array) -> bool:
    return array.dtype == np.uint8 and array.ndim == 1 and b'"estimator"' in array.tobytes()


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3, random_state=0)


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=3, random_state=0)


def logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def clone_of(module: str) -> Poison:
    return partial(hidden_method, name="__sklearn_clone__", module=module)


def case(
    name: str, estimator: Callable[[], Any], poison: Poison, planted: bool = False, original: bool = False
) -> Case:
    shown = partial(holds, estimator=estimator, poison=poison, planted=planted)
    return Case(name, shown, original, 60, in_test=original or planted)


CASES = [
    case("clone of a tree", tree, clone_of("sklearn.harmless"), original=True),
    case("clone of a forest, the partial named numpy", forest, clone_of("numpy.harmless")),
    case("clone of a logistic regression", logistic, clone_of("sklearn.harmless")),
    case("predict_proba of a forest", forest, partial(hidden_method, name="predict_proba")),
    case("get_params of a tree", tree, partial(hidden_method, name="get_params")),
    case("eval in a partial", tree, through_eval),
    case("a bound method", tree, through_a_method),
    case("a parameter", tree, as_parameter),
    case("another class of scikit-learn", tree, other_class),
    case("planted in a model that had none", tree, clone_of("sklearn.harmless"), planted=True),
    Case(
        "functions in the JSON of a tree",
        partial(in_json, estimator=tree, name="__sklearn_clone__"),
        False,
        60,
    ),
    Case(
        "functions as a method of a forest",
        partial(in_json, estimator=forest, name="predict_proba"),
        False,
        60,
    ),
    Case("functions as a parameter", partial(in_json, estimator=tree, name="criterion"), False, 60),
    Case("functions in an encoder's place", partial(in_json, estimator=logistic, name=None), False, 60),
    Case("children of a tree that lie outside", wild_tree, False, 60),
]
