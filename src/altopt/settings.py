"""Checks of single settings of a part: a whole number, a number in a range, one of a few words."""

from numbers import Integral, Real
from typing import Any

from altopt.errors import InputError

MAX_NUMBER = 1e150


def check_count(part: Any, name: str, least: int = 1, *, optional: bool = False) -> None:
    """That part.name is a whole number from `least` on, or None where that is allowed."""
    require_count(part, name, getattr(part, name), least, optional=optional)


def check_counts(part: Any, name: str, least: int = 1) -> None:
    """That part.name is a sequence of whole numbers from `least` on."""
    values = getattr(part, name)
    if not isinstance(values, tuple | list):
        raise InputError(
            f"{type(part).__name__}: {name} must be a tuple of whole numbers, but is {values!r}."
        )
    for value in values:
        require_count(part, f"each of {name}", value, least)


def require_count(part: Any, name: str, value: Any, least: int, *, optional: bool = False) -> None:
    if value is None and optional:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        none = " or None" if optional else ""
        raise InputError(
            f"{type(part).__name__}: {name} must be a whole number from {least} on{none}, but is {value!r}."
        )


def check_number(
    part: Any,
    name: str,
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    optional: bool = False,
) -> None:
    """That part.name is a finite number in the range; or None where that is allowed."""
    value: Any = getattr(part, name)
    if value is None and optional:
        return
    bounds = [(above, "above"), (least, "at least"), (below, "below")]
    holds = (
        is_number(value)
        and (above is None or value > above)
        and (least is None or value >= least)
        and (below is None or value < below)
    )
    if not holds:
        words = " and ".join(f"{word} {bound:g}" for bound, word in bounds if bound is not None)
        none = " or None" if optional else ""
        raise InputError(
            f"{type(part).__name__}: {name} must be a number{' ' * bool(words)}{words}{none}, but is {value!r}."
        )


def is_number(value: Any) -> bool:
    """Whether it is a finite number, and so small that its square is one."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return abs(float(value)) <= MAX_NUMBER
    except OverflowError:  # an integer past float's range
        return False


def check_choice(part: Any, name: str, choices: tuple[Any, ...]) -> None:
    """That part.name is one of the choices."""
    value = getattr(part, name)
    if not any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        *first, last = map(repr, choices)
        raise InputError(
            f"{type(part).__name__}: {name} must be {', '.join(first)} or {last}, but is {value!r}."
        )
