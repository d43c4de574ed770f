"""The one error a user causes and can mend."""


class InputError(ValueError):
    """The input or the call is wrong; the message says which part, what was expected and the way out."""
