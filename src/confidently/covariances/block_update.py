"""What the recursion over a block leaves to products of matrices, for one covariance."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Product = tuple[Any, Any, Any]  # left, right and where their product goes


class BlockUpdate(NamedTuple):
    """The updates of one covariance by n directions z, as arrays of the host, apart from G.

    With Q = (I + lower)^-1 (G[plus] - G[minus]), the mean changes by mean @ Q, and the covariance loses the Gram matrix
    of the rows size * Q.
    """

    G: Any  # positions x D, on the device
    plus: np.ndarray
    minus: np.ndarray | None
    lower: np.ndarray  # (n, n), strictly lower
    mean: np.ndarray  # (m, n)
    size: np.ndarray  # (n,)
