"""How a check complains: one sentence that names the part and the law it breaks."""

from typing import Any

from altopt.errors import InputError


def require(holds: Any, part: object, complaint: str) -> None:
    """Raise InputError("<class of the part>: <complaint>.") where a law does not hold."""
    if not holds:
        kind = part if isinstance(part, type) else type(part)
        raise InputError(f"{kind.__name__}: {complaint}.")
