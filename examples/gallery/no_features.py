"""No features: who is tied to whom says it all. Labels are given by node id."""

import pandas as pd

from altopt import AltOpt
from altopt.datasets import communities


def main() -> None:
    data = communities(n_nodes=800, n_classes=4, seed=0)
    edges = data.graph.adjacency.tocoo()
    ties = pd.DataFrame({"source": [f"n{i}" for i in edges.row], "target": [f"n{j}" for j in edges.col]})
    truth = pd.Series(data.y, index=[f"n{k}" for k in range(800)])
    known = truth.groupby(truth).head(8)  # a short Series, by id; a dict does as well

    model = AltOpt(random_state=0).fit(None, known, graph=ties)
    print(f"{model.score(None, truth[model.graph_.ids]):.0%} are right")

    new = pd.DataFrame({"source": ["new", "new"], "target": known.index[known == 2][:2]})
    print(model.predict(None, new, ids=["new"]))  # a node that comes later, by its edges


if __name__ == "__main__":
    main()
