"""Errors that the user causes and can mend, and the import of optional packages."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

MAX_MESSAGE = 1000  # characters: a longer message repeats a value that nobody will read


class InputError(ValueError):
    """The input or the call is wrong.

    The message names the argument, file, row or column, says what was expected and what came instead, and gives the
    way out. The command line prints it as one line and exits with code 2. A subclass of `ValueError`.

    Examples
    --------
    >>> import altopt
    >>> altopt.Graph([("ann", "bob")]).position("cem")
    Traceback (most recent call last):
    altopt.errors.InputError: node 'cem' is not in the graph. Give the id of one of its 2 nodes.
    """

    def __init__(self, message: object = "") -> None:
        text = str(message)
        half = MAX_MESSAGE // 2
        super().__init__(text if len(text) <= MAX_MESSAGE else f"{text[:half]} ... {text[-half:]}")


class DiskError(InputError):
    """A file or folder cannot be written: the disk is full, read-only, gone or not yours.

    What stood there before is whole, and nothing half written is left.
    """


class InputTypeError(InputError, TypeError):
    """An InputError about the type of a value, a `TypeError` too."""


class MissingExtra(InputError):
    """An optional package is needed and not installed; the message names the extra of altopt that brings it."""


def require_extra(module: str, extra: str, purpose: str) -> Any:
    """Import an optional module.

    Parameters
    ----------
    module : str
        The module to import, such as "torch".
    extra : str
        The extra of altopt that installs it, such as "torch".
    purpose : str
        What needs it, as the beginning of a sentence: "MLPEncoder", "Reading Cora".

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtra
        If the import fails.

    Examples
    --------
    >>> require_extra("json", "torch", "MLPEncoder").dumps(1)
    '1'
    >>> require_extra("absent", "torch", "This")
    Traceback (most recent call last):
    altopt.errors.MissingExtra: This needs absent, which is not installed. Install it with: pip install 'altopt[torch]'
    """
    try:
        return import_module(module)
    except ImportError as cause:
        package = module.partition(".")[0]
        state = "is not installed" if find_spec(package) is None else f"cannot be imported ({cause})"
        raise MissingExtra(
            f"{purpose} needs {package}, which {state}. Install it with: pip install 'altopt[{extra}]'"
        ) from cause
