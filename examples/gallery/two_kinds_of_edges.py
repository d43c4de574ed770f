"""Two kinds of edges, of which one says nothing: their weights come from held-out labels."""

import numpy as np

from altopt import AltOpt
from altopt.datasets import communities


def main() -> None:
    data = communities(400, 4, seed=4)
    noise = np.random.default_rng(0).integers(400, size=(2, 1600))
    y = np.where(np.arange(400) % 8 == 0, data.y, -1)
    model = AltOpt(random_state=0).fit(data.X, y, graph={"cites": data.graph, "same day": noise})
    print({kind: round(weight, 2) for kind, weight in model.edge_weights_.items()})
    print(f"{100 * np.mean((model.transduction_ == data.y)[y == -1]):.0f}% are right")


if __name__ == "__main__":
    main()
