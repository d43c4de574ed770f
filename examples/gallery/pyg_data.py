"""A PyTorch Geometric Data: its x, its edges, and the labels that train_mask shows."""

import torch
from torch_geometric.data import Data

from altopt import AltOpt
from altopt.datasets import communities


def made_up_data() -> Data:
    """Stands for a data set of yours, such as Planetoid's Cora."""
    graph = communities(n_nodes=800, n_classes=4, seed=0)
    edges = graph.graph.adjacency.tocoo()
    y = torch.as_tensor(graph.y)
    train = torch.zeros(len(y), dtype=torch.bool)
    for k in range(4):
        train[torch.nonzero(y == k)[:5, 0]] = True
    x = torch.as_tensor(graph.X)
    return Data(
        x=x, y=y, edge_index=torch.as_tensor([edges.row.tolist(), edges.col.tolist()]), train_mask=train
    )


def main() -> None:
    data = made_up_data()
    model = AltOpt(random_state=0).fit(data)  # labels outside train_mask are never looked at
    test = torch.where(data.train_mask, -1, data.y)  # -1: not to be counted
    print(f"{model.score(data.x, test):.0%} are right")
    print(model.leave_one_out_.in_words())


if __name__ == "__main__":
    main()
