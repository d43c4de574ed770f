"""The one error a user causes and can mend."""

from importlib import import_module
from typing import Any


class InputError(ValueError):
    """The input or the call is wrong; the message says which part, what was expected and the way out."""


def require_extra(module: str, extra: str, what: str) -> Any:
    """The optional module, imported; if it is not installed, an InputError that names the extra to install.

    >>> require_extra("no_such_module", "torch", "MLPEncoder")
    Traceback (most recent call last):
    altopt.errors.InputError: MLPEncoder needs no_such_module, which is not installed. \
Install it with: pip install "altopt[torch]"
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise InputError(
            f'{what} needs {package}, which is not installed. Install it with: pip install "altopt[{extra}]"'
        ) from None
