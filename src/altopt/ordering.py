"""An order of the nodes in which neighbours lie close together, so that caches hold them."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from altopt.arrays import Array


def community_order(adjacency: Any) -> Array:
    return np.asarray(reverse_cuthill_mckee(sp.csr_matrix(adjacency), symmetric_mode=True))
