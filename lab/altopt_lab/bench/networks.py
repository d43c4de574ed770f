"""PyTorch Geometric's networks, each as a function that trains one epoch."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal

from altopt_lab.bench.graphs import SEED, Case
from altopt_lab.bench.propagate import edge_index, torch_csr

Form = Literal["CSR", "edge_index"]
DROPOUT = 0.5


def graph_form(case: Case, form: Form) -> tuple[Any, Any]:
    """The normalised graph as the layers take it."""
    return (torch_csr(case), None) if form == "CSR" else edge_index(case)


def appnp(case: Case, form: Form, n_steps: int = 10) -> Callable[[], object]:
    """APPNP: an MLP whose output is propagated, gradients through all steps."""
    import torch
    from torch_geometric.nn import APPNP

    A, weights = graph_form(case, form)
    torch.manual_seed(SEED)
    mlp = perceptron(case)
    propagation = APPNP(K=n_steps, alpha=0.1, normalize=False)
    X = torch.from_numpy(case.dense_X())
    return epoch(case, mlp.parameters(), lambda: propagation(mlp(X), A, weights))


def gcn(case: Case, form: Form) -> Callable[[], object]:
    """GCN, its layers as wide as the encoder's."""
    import torch
    from torch.nn.functional import dropout, relu
    from torch_geometric.nn import GCNConv

    A, weights = graph_form(case, form)
    torch.manual_seed(SEED)
    widths = (case.size.n_features, *case.size.gnn_hidden, case.size.n_classes)
    layers = torch.nn.ModuleList(GCNConv(a, b, normalize=False) for a, b in pairwise(widths))
    X = torch.from_numpy(case.dense_X())

    def forward() -> Any:
        H: Any = X
        for layer in layers[:-1]:
            H = dropout(relu(layer(H, A, weights)), DROPOUT, training=True)
        return layers[-1](H, A, weights)

    return epoch(case, layers.parameters(), forward)


def sgc(case: Case, n_steps: int = 2) -> Callable[[], object]:
    """SGC: features propagated once, before the first epoch; then a linear map."""
    import torch

    A, _ = graph_form(case, "CSR")
    X = torch.from_numpy(case.dense_X())
    for _ in range(n_steps):
        X = A @ X
    torch.manual_seed(SEED)
    linear = torch.nn.Linear(case.size.n_features, case.size.n_classes)
    return epoch(case, linear.parameters(), lambda: linear(X))


def mlp(case: Case, n_hops: int = 0) -> Callable[[], object]:
    """The encoder by itself, on the labelled rows; they may have been propagated before, and then this is SGC's way."""
    import torch

    X = torch.from_numpy(case.dense_X())
    for _ in range(n_hops):
        X = torch_csr(case) @ X
    torch.manual_seed(SEED)
    network, rows = perceptron(case), X[case.train]
    return epoch(case, network.parameters(), lambda: network(rows), all_rows=False)


def sign(case: Case, n_hops: int = 3) -> Callable[[], object]:
    """SIGN: features of several hops worked out once, a linear map for each, then the rest of the encoder."""
    import torch

    A, _ = graph_form(case, "CSR")
    X, hops = torch.from_numpy(case.dense_X()), []
    for _ in range(n_hops + 1):
        hops.append(X[case.train])
        X = A @ X
    torch.manual_seed(SEED)
    width, *others = (*case.size.gnn_hidden, case.size.n_classes)
    first = torch.nn.ModuleList(torch.nn.Linear(case.size.n_features, width) for _ in hops)
    widths = pairwise((width * len(hops), *others))
    rest = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in widths)

    def forward() -> Any:
        H: Any = torch.cat([layer(hop) for layer, hop in zip(first, hops)], dim=1)
        for layer in rest:
            H = layer(torch.nn.functional.dropout(torch.relu(H), DROPOUT))
        return H

    return epoch(case, [*first.parameters(), *rest.parameters()], forward, all_rows=False)


def perceptron(case: Case) -> Any:
    from torch import nn

    layers: list[Any] = []
    width = case.size.n_features
    for size in case.size.gnn_hidden:
        layers += [nn.Linear(width, size), nn.ReLU(), nn.Dropout(DROPOUT)]
        width = size
    return nn.Sequential(*layers, nn.Linear(width, case.size.n_classes))


def epoch(
    case: Case, parameters: Any, forward: Callable[[], Any], all_rows: bool = True
) -> Callable[[], object]:
    """Forward over all nodes, or the labelled ones alone, cross-entropy on the labelled ones, backward, Adam."""
    import torch
    from torch.nn.functional import cross_entropy

    optimizer = torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)
    nodes, wanted = torch.from_numpy(case.train), torch.from_numpy(case.y[case.train])

    def train() -> None:
        optimizer.zero_grad()
        logits = forward()
        cross_entropy(logits[nodes] if all_rows else logits, wanted).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return train


def messages_gb(case: Case, width: int) -> float:
    """One number for each entry of the matrix and column: what the edge_index form writes down."""
    return case.nnz * width * 4 / 1e9


def activations_gb(case: Case, n_blocks: float) -> float:
    """What training holds: a hidden layer's numbers a few times over."""
    return case.size.n_nodes * sum(case.size.gnn_hidden) * 4 * n_blocks / 1e9
