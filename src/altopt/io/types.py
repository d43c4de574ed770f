"""Whether a value read from a file is what the field of a part is declared to hold."""

import types
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np

from altopt.errors import InputError


@cache
def hints_of(part: type) -> dict[str, Any]:
    """The declared types of a part's fields; none where they name what only a type checker imports."""
    try:
        return get_type_hints(part, include_extras=False)
    except NameError:
        return {}


def check_fields(part: type, values: dict[str, Any], name: str) -> None:
    """Every value has the declared type of its field, and no field is unknown."""
    known = (
        {entry.name for entry in fields(part) if entry.init}
        if hasattr(part, "__dataclass_fields__")
        else None
    )
    hints = hints_of(part)
    for key, value in values.items():
        if known is not None and key not in known:
            raise InputError(f"The stored {name} has a field {key!r}, which {part.__name__} does not have.")
        if key in hints and not fits(value, hints[key]):
            raise InputError(
                f"The stored {name}.{key} is {short(value)}, which {part.__name__} does not accept."
            )


def short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; a list serves as a tuple and a whole number as a float.

    >>> fits(1, float), fits(True, int), fits((1, 2), tuple[int, ...]), fits(None, str | None), fits("a", Literal["b"])
    (True, False, True, True, False)
    """
    if hint is Any:
        return True
    origin, inside = get_origin(hint), get_args(hint)
    if hint is None or hint is types.NoneType:
        return value is None
    if origin is Annotated:
        return fits(value, inside[0])
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in inside)
    if origin is Literal:
        return any(value == one and type(value) is type(one) for one in inside)
    if hint in (int, float, bool, str):
        wanted = (int, float) if hint is float else hint
        return isinstance(value, wanted) and (hint is bool or not isinstance(value, bool))
    if origin in (list, tuple):
        several = inside if origin is tuple and inside[-1:] != (...,) else None
        if not isinstance(value, list | tuple) or (several is not None and len(several) != len(value)):
            return False
        return all(fits(one, several[k] if several else inside[0]) for k, one in enumerate(value))
    if origin is dict:
        return isinstance(value, dict) and all(
            fits(key, inside[0]) and fits(one, inside[1]) for key, one in value.items()
        )
    if origin is np.ndarray:
        return isinstance(value, np.ndarray)
    plain = isinstance(hint, type) and origin is None and not is_typeddict(hint)
    if not plain or getattr(hint, "_is_protocol", False):
        return True  # a protocol or a callable: the part itself looks at it
    return isinstance(value, hint)
