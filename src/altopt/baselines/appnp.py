"""APPNP (Klicpera et al., 2019) with PyTorch Geometric's propagation, trained end to end."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.door import UNKNOWN, read_X, read_y
from altopt.errors import InputError
from altopt.graph import Graph
from altopt.inputs import unit_sum
from altopt.threads import threads_for


class APPNP:
    """A two-layer MLP whose output is propagated K steps in every epoch, gradients through all of them.

    The last epoch is kept; with `validation=(nodes, labels)` the epoch that does best on them.
    """

    def __init__(
        self,
        *,
        hidden: int = 64,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        n_steps: int = 10,
        restart: float = 0.1,
        n_epochs: int = 200,
        scale_rows: bool = True,
        random_state: int = 0,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.n_steps = n_steps
        self.restart = restart
        self.n_epochs = n_epochs
        self.scale_rows = scale_rows
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        graph: Any,
        validation: tuple[Any, Any] | None = None,
        *,
        until: Callable[[Array], bool] | None = None,
    ) -> Self:
        """`until` is shown every epoch's labels and ends the training by saying True."""
        import torch
        from torch.nn import Linear
        from torch.nn.functional import cross_entropy, dropout, relu

        try:
            from torch_geometric.nn import APPNP as Propagation
        except ImportError as missing:
            raise InputError(
                "APPNP needs PyTorch Geometric. Install it with: pip install 'altopt[graphs]'."
            ) from missing
        X, _ = read_X(X)
        self.classes_, codes = read_y(y, X.shape[0])
        A = Graph(graph).rows_for(X.shape[0]).adjacency.tocoo()
        edge_index = torch.from_numpy(np.stack(A.coords).astype(np.int64))
        edge_weight = torch.from_numpy(A.data.astype(np.float32))
        labelled = torch.from_numpy(np.flatnonzero(codes != UNKNOWN))
        target = torch.from_numpy(codes)[labelled]
        rows = sp.coo_array(unit_sum(X) if self.scale_rows else X).astype(np.float32)
        places = torch.from_numpy(np.stack(rows.coords).astype(np.int64))
        values = torch.from_numpy(rows.data)

        with torch.random.fork_rng(devices=[]), threads_for(X.shape[0] * self.hidden, with_torch=True):
            torch.manual_seed(self.random_state)
            first, second = Linear(X.shape[1], self.hidden), Linear(self.hidden, len(self.classes_))
            propagation = Propagation(K=self.n_steps, alpha=self.restart, cached=True)
            parameters = [*first.parameters(), *second.parameters()]
            optimizer = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=self.weight_decay)

            def forward(training: bool) -> Any:
                # dropout of the non-zero inputs is dropout of all inputs: zeros stay zero
                kept = dropout(values, self.dropout, training)
                inputs = torch.sparse_coo_tensor(
                    places, kept, rows.shape, is_coalesced=True, check_invariants=False
                )
                hidden = relu(torch.sparse.mm(inputs, first.weight.T) + first.bias)
                return propagation(second(dropout(hidden, self.dropout, training)), edge_index, edge_weight)

            def labels() -> Array:
                with torch.no_grad():
                    return np.asarray(self.classes_[forward(training=False).argmax(1).numpy()])

            best = -1.0
            for _ in range(self.n_epochs):
                optimizer.zero_grad()
                cross_entropy(forward(training=True)[labelled], target).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                if validation is not None:
                    found = labels()
                    accuracy = float(np.mean(found[validation[0]] == np.asarray(validation[1])))
                    if accuracy > best:
                        best, self.transduction_ = accuracy, found
                if until is not None and until(labels()):
                    break
            if validation is None:
                self.transduction_ = labels()
        return self
