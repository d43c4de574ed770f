"""--class-prior: class shares on the command line."""

import numpy as np
import pytest

from altopt import InputError
from altopt.cli.commands.fit import read_shares

TEXT, NUMBERS = np.array(["a", "b"], dtype=object), np.array([0, 1, -1])


def test_shares_are_read_in_the_type_of_the_labels():
    assert read_shares("a=0.9, b=0.1", TEXT) == {"a": 0.9, "b": 0.1}
    assert read_shares("0=0.25,1=0.75", NUMBERS) == {0: 0.25, 1: 0.75}
    assert read_shares("x=y=1,b=2", TEXT) == {"x=y": 1.0, "b": 2.0}
    assert read_shares("labels", TEXT) == "labels"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a", "no number"),
        ("a=much,b=0.1", "no number"),
        ("a=0.1,a=0.2", "names a class twice"),
    ],
)
def test_what_is_no_list_of_shares_is_refused(text, told):
    with pytest.raises(InputError, match=told):
        read_shares(text, TEXT)


def test_text_for_numbers_is_refused():
    with pytest.raises(InputError, match="whole numbers"):
        read_shares("a=1", NUMBERS)
