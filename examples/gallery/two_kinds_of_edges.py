"""Two kinds of edges: who follows whom, and who shares a device. Which kind tells more is found from the labels."""

import numpy as np
import pandas as pd

from altopt import AltOpt


def drawn_edges(group: np.ndarray, n_edges: int, within: float, rng: np.random.Generator) -> pd.DataFrame:
    """Edges of which a share stays within the group, named by ids."""
    source, target = rng.integers(0, len(group), (2, n_edges))
    stays = rng.random(n_edges) < within
    target[stays] = [rng.choice(np.flatnonzero(group == group[k])) for k in source[stays]]
    ids = np.array([f"user{k:03d}" for k in range(len(group))])
    return pd.DataFrame({"source": ids[source], "target": ids[target]})


def main() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 600)
    users = [f"user{k:03d}" for k in range(600)]
    X = pd.DataFrame(0.5 * np.eye(3)[group] + rng.normal(0, 0.8, (600, 3)), index=users)
    labels = {users[k]: f"group {group[k]}" for k in rng.choice(600, 60, replace=False)}
    kinds = {
        "follows": drawn_edges(group, 2000, 0.7, rng),
        "same device": drawn_edges(group, 700, 0.9, rng),
        "saw the same ad": drawn_edges(group, 2000, 0.0, rng),  # says nothing
    }

    model = AltOpt(random_state=0).fit(X, labels, graph=kinds)
    truth = np.array([f"group {k}" for k in group])
    print(f"{np.mean(model.transduction_ == truth):.0%} are right")
    for kind, weight in model.edge_weights_.items():
        worth = model.graph_help_.per_kind[kind]
        print(f"{kind}: weight {weight:.2f}, adds {worth.gain:+.0%} to what the others tell")
    print(model.explain("user007").path_in_words())  # names the kind of each edge
    model.update(edges={"same device": [("user007", "user008")]})


if __name__ == "__main__":
    main()
