"""Methods by name: case and spaces do not matter, and a wrong name gets a list that can be read."""

import pytest

from altopt import InputError
from altopt_lab.experiments.methods import METHODS, find_method


def test_a_method_is_found_in_any_case():
    assert find_method("appnp").name == "APPNP"
    assert find_method("altopt( )").name == "AltOpt()"


def test_a_wrong_name_gets_the_nearest_and_a_list_with_semicolons():
    with pytest.raises(
        InputError, match=r"No method is called 'altopt'\. Did you mean 'ALT-OPT'\? There are: "
    ) as error:
        find_method("altopt")
    listed = str(error.value).partition("There are: ")[2].rstrip(".").split("; ")
    assert listed == [name for name in METHODS if not name.startswith(("always", "AltOpt("))]
    assert "APPNP" in listed
