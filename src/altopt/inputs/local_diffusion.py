"""Diffusion of a few nodes, new ones or ones whose edges changed, with all other nodes held fixed."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from altopt.arrays import Array
from altopt.inputs.inputs import ChangedNodes, NewNodes, without_entries


def settle_isolated(isolated: Array, Z: Array, restart: float) -> Array:
    """A node without neighbours keeps its own features: undo the `restart` that diffusion scales them by."""
    if 0.0 < restart < 1.0 and isolated.any():
        Z[isolated] /= restart
    return Z


def diffused_from(known: Any, own: Any, new: NewNodes) -> Any:
    """Z of new nodes: their own coordinates, diffused with the known nodes' Z held fixed."""
    if new.restart == 1.0:
        return own
    own = np.asarray(own.toarray() if sp.issparse(own) else own, dtype=np.float32)
    n = known.shape[0]
    ties = new.ties.astype(np.float32)
    own_share, taken = np.float32(new.restart), np.float32(1 - new.restart)
    from_known = taken * product(ties[:, :n], known) + own_share * own
    among_new = ties[:, n:]
    Z = own
    for _ in range(new.n_steps):
        Z = from_known + taken * np.asarray(among_new @ Z)
    return settle_isolated(new.isolated, Z, new.restart)


def diffused_again(Z: Any, changed: ChangedNodes) -> Any:
    """Z of changed nodes diffused over the edges as they are now, all other nodes' Z held fixed.

    A node's own features are what makes its Z the fixed point of Z = (1 - restart) A_tilde Z + restart own before
    the change; a node without neighbours has Z = own.
    """
    before, restart = Z[changed.nodes], changed.restart
    if restart == 1.0:
        return before
    now = before.astype(np.float64)
    alone = without_entries(changed.ties_before)
    own = (now - (1 - restart) * product(changed.ties_before, Z)) / np.where(alone, 1.0, restart)[:, None]
    inside = changed.ties[:, changed.nodes]
    fixed = (1 - restart) * (product(changed.ties, Z) - np.asarray(inside @ now)) + restart * own
    for _ in range(changed.n_steps):
        now = fixed + (1 - restart) * np.asarray(inside @ now)
    return settle_isolated(without_entries(changed.ties), now, restart).astype(Z.dtype)


def product(rows: Any, Z: Array) -> Array:
    """A few sparse rows times Z, of which only the rows that count are read."""
    columns, place = np.unique(rows.indices, return_inverse=True)
    narrow = sp.csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], len(columns)))
    return np.asarray(narrow @ Z[columns].astype(rows.dtype))
