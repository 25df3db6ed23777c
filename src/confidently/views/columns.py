"""What is known about the columns of rows before any row is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Kinds of columns (core/views/standard.hpp): plain ones, such as words and categories, are not numbers to standardize;
# the others are, and their absence from a row means that the value is not known, or that it is 0.
PLAIN, MISSING, ZERO = 0, 1, 2


@dataclass(frozen=True)
class Columns:
    """Columns of rows, in their order.

    Attributes
    ----------
    kind : int8 array
        :data:`PLAIN`, :data:`MISSING` or :data:`ZERO`, by column.
    names : sequence of str, optional
        Their names; columns without names are called by their numbers, from 0.
    """

    kind: np.ndarray
    names: Sequence[str] | None = None

    @classmethod
    def alike(cls, n: int, kind: int = PLAIN, names: Sequence[str] | None = None) -> Columns:
        """Return n columns of one kind."""
        return cls(np.full(n, kind, dtype=np.int8), names)

    @classmethod
    def named(cls, names: Sequence[str], tabular: bool) -> Columns:
        """Return columns of features of these names.

        In rows with named columns (``tabular``), ``column=category`` and ``column:word`` are plain, and other features
        are numbers that may be missing; in other rows, a feature is 0 where it is absent.
        """
        kinds = [PLAIN if "=" in name or ":" in name else MISSING for name in names] if tabular else ZERO
        return cls(np.full(len(names), kinds, dtype=np.int8), names)

    def joined(self, more: Columns) -> Columns:
        """Return these columns and more after them."""
        names = None
        if self.names is not None or more.names is not None:
            names = [*(self.names or map(str, range(len(self)))), *(more.names or map(str, range(len(more))))]
        return Columns(np.concatenate([self.kind, more.kind]), names)

    def __len__(self) -> int:
        return len(self.kind)
