"""Trying an action and naming its outcome: fine, refused in one sentence, or a fault."""

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from sklearn.exceptions import NotFittedError

from altopt.errors import InputError
from altopt_lab.trust.part import FINE, Outcome

LONGEST_SENTENCE = 1500


class BrokenPromise(AssertionError):
    """An answer came, but not the one that was promised."""


def promise(kept: object, what: str) -> None:
    """Note a broken promise as a fault."""
    if not kept:
        raise BrokenPromise(what)


def judged(action: Callable[[], object], refusals: tuple[type[Exception], ...] = ()) -> Outcome:
    """What comes of an action.

    Parameters
    ----------
    action : callable
        Raises BrokenPromise where an answer is not as promised.
    refusals : tuple of exception classes
        Refusals besides InputError and scikit-learn's NotFittedError.

    Examples
    --------
    >>> judged(lambda: 1 / 0).detail.split(" at ")[0]
    'ZeroDivisionError'
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", RuntimeWarning)
        try:
            action()
        except (InputError, NotFittedError, *refusals) as error:
            return refused(str(error))
        except BrokenPromise as broken:
            return Outcome("fault", str(broken))
        except (Exception, SystemExit) as error:
            return Outcome("fault", described(error))
    numeric = [warning for warning in caught if issubclass(warning.category, RuntimeWarning)]
    if numeric:
        where = "/".join(Path(numeric[0].filename).parts[-2:])
        return Outcome("fault", f"RuntimeWarning at {where}:{numeric[0].lineno}: {numeric[0].message}")
    return FINE


def refused(message: str) -> Outcome:
    """A refusal, or a fault if the message is not a sentence that a user can read."""
    wrong = complaint(message)
    return Outcome("refused", message) if wrong is None else Outcome("fault", f"{wrong}: {message[:300]!r}")


def complaint(message: str) -> str | None:
    """What is wrong with an error's message."""
    if len(message.split()) < 3:
        return "the message of a refusal says nothing"
    if "Traceback (most recent call last)" in message:
        return "the message of a refusal holds a traceback"
    if len(message) > LONGEST_SENTENCE:
        return f"the message of a refusal has {len(message):,} characters"
    return None


def described(error: BaseException) -> str:
    """An exception in one line: class, the innermost line of altopt, message."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if "altopt" in Path(frame.filename).parts] or frames
    at = ""
    if inside:
        at = f" at {'/'.join(Path(inside[-1].filename).parts[-2:])}:{inside[-1].lineno}"
    return f"{type(error).__name__}{at}: {' '.join(str(error).split())[:300]}"
