"""The names of the covariances over weights, from the compiled core: listing them does not import NumPy."""

from __future__ import annotations

from .. import _core

DIAGONAL = "diag"
AUTO = "auto"  # of a regression: full or diagonal, by the number of columns
RANK = 32  # by default, of a covariance of low rank
OVER_WEIGHTS = tuple(name for name in _core.covariance_names() if name != "identity")  # the identity replaces others
