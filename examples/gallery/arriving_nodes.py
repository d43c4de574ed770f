"""Nodes that arrive every hour: predicted at once, taken in as a batch, and refitted once a day."""

import numpy as np
import pandas as pd

from altopt import AltOpt
from altopt.datasets import communities


def main() -> None:
    data = communities(500, 4, mean_degree=5, signal=0.3, seed=2)
    names = np.array([f"user-{k}" for k in range(len(data.y))], dtype=object)
    first, later = np.arange(400), np.array_split(np.arange(400, 500), 4)  # a day before, then four hours
    ties = data.graph.adjacency.tocoo()
    edges = pd.DataFrame({"source": names[ties.row], "target": names[ties.col]})
    hour_of = dict(zip(names, np.concatenate([np.zeros(400), *(np.full(25, h + 1) for h in range(4))])))
    when = np.maximum(edges["source"].map(hour_of), edges["target"].map(hour_of))
    features = pd.DataFrame(data.X, index=names)

    labels = {names[k]: int(data.y[k]) for k in first[::8]}
    model = AltOpt(random_state=0).fit(features.iloc[first], labels, graph=edges[when == 0])

    right = 0
    for hour, rows in enumerate(later, start=1):
        new, new_edges = features.iloc[rows], edges[when == hour]
        guesses = model.predict(new, edges=new_edges)  # nothing is stored
        right += int(np.sum(guesses == data.y[rows]))
        # one call for the whole hour: labels, nodes and edges of a batch cost little more than one of them
        asked = {names[rows[0]]: int(data.y[rows[0]])}
        change = model.update(nodes=new.index, features=new, edges=new_edges, labels=asked)
        print(
            f"hour {hour}: {len(rows)} nodes, {len(new_edges) // 2} edges, {change.n_changed} rows of F changed"
        )
    print(f"of 100 labels of arriving nodes {right}% are right")

    model.fit(features, {**labels, **{names[rows[0]]: int(data.y[rows[0]]) for rows in later}}, graph=edges)
    print(f"refitted on {model.graph_.n_nodes} nodes: {model.leave_one_out_}")


if __name__ == "__main__":
    main()
