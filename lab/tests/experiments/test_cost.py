from altopt_lab.experiments.cost import figures


def test_figures_of_turns():
    told = figures([[1.0, 2.0], [2.0, 2.0], [4.0, 2.0]])
    assert told["turns"] == 3
    assert (told["before"], told["now"], told["ratio"], told["fastest"]) == (2.0, 2.0, 1.0, 2.0)
