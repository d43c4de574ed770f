"""The colours of all pictures: eight that people with any kind of colour vision tell apart, and grey for the rest."""

from collections.abc import Sequence

# Okabe and Ito's set, in an order that begins with the pairs furthest apart; yellow, which paper swallows, comes last
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f6bb8", "#bfae14")
GREY = "#8a8f98"
GIVEN, PREDICTED = COLOURS[1], COLOURS[0]


def class_colours(sizes: Sequence[float]) -> list[str]:
    """A colour for each class: the largest eight have one of their own, in the order of the classes.

    >>> class_colours([5, 9])
    ['#0072b2', '#e69f00']
    >>> class_colours([1, *range(10, 18)])[0] == GREY
    True
    """
    largest = sorted(range(len(sizes)), key=lambda k: (-sizes[k], k))[: len(COLOURS)]
    chosen = dict(zip(sorted(largest), COLOURS))
    return [chosen.get(k, GREY) for k in range(len(sizes))]
