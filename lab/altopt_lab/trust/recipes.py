"""Recipes for cases: strategies that put one or two odd things among ordinary ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Case = dict[str, Any]


def recipe(
    plain: Mapping[str, Sequence[Any]], odd: Mapping[str, Sequence[Any]], most_odd: int = 2
) -> SearchStrategy[Case]:
    """One value of each key, of at most `most_odd` keys an odd one; and a seed for the numbers.

    Parameters
    ----------
    plain, odd : mapping of key to values
        Ordinary values of every key, and odd ones of some.
    most_odd : int
        The most keys that get an odd value.
    """
    ordinary = {key: st.sampled_from(list(values)) for key, values in plain.items()}
    strange = {key: st.sampled_from(list(values)) for key, values in odd.items()}
    chosen = st.lists(st.sampled_from(sorted(odd)), max_size=most_odd, unique=True)
    seeds = st.integers(0, 2**32 - 1)

    @st.composite
    def case(draw: Any) -> Case:
        odd_ones = draw(chosen)
        values = {key: draw(strange[key] if key in odd_ones else ordinary[key]) for key in ordinary}
        return values | {"seed": draw(seeds)}

    return case()


def random(case: Case) -> np.random.Generator:
    """The chance of a case."""
    return np.random.default_rng(case["seed"])
