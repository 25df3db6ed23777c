"""What is known about the columns of rows before any row is seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

# Kinds of columns (core/views/standard.hpp): plain ones, such as words and categories, are not numbers to standardize;
# the others are, and their absence from a row means that the value is not known, or that it is 0.
PLAIN, MISSING, ZERO = 0, 1, 2
MARKS = "=:"  # in rows with named columns, of ``column=category`` and ``column:word``, which are plain


@dataclass(frozen=True)
class Columns:
    """Columns of rows, in their order.

    Attributes
    ----------
    kind : int8 array
        :data:`PLAIN`, :data:`MISSING` or :data:`ZERO`, by column.
    names : iterable, optional
        Their names, or numbers that stand for them; iterated more than once. Columns without names are named by their
        numbers, from 0.
    """

    kind: np.ndarray
    names: Iterable[object] | None = None

    @classmethod
    def alike(cls, n: int, kind: int = PLAIN, names: Iterable[object] | None = None) -> Columns:
        """Return n columns of one kind."""
        return cls(filled(n, kind), names)

    @classmethod
    def of_table(cls, names: Iterable[str], n: int, marked: np.ndarray) -> Columns:
        """Return n columns of rows with named columns: numbers that may be missing, but plain where a name is marked.

        ``marked`` are the positions of such names.
        """
        kind = filled(n, MISSING)
        kind[marked] = PLAIN
        return cls(kind, names)

    @classmethod
    def named(cls, names: Sequence[str]) -> Columns:
        """Return columns of rows with named columns, marked where a name has one of :data:`MARKS`."""
        marked = [k for k, name in enumerate(names) if any(mark in name for mark in MARKS)]
        return cls.of_table(names, len(names), np.array(marked, dtype=np.int64))

    def joined(self, more: Columns) -> Columns:
        """Return these columns and more after them."""
        names = None
        if self.names is not None or more.names is not None:
            names = [*self.given_names(0), *more.given_names(len(self))]
        return Columns(np.concatenate([self.kind, more.kind]), names)

    def given_names(self, first: int) -> Iterable[str]:
        """Yield the names of the columns, of which the first has this number."""
        return map(str, range(first, first + len(self)) if self.names is None else self.names)

    def __len__(self) -> int:
        return len(self.kind)


def filled(n: int, kind: int) -> np.ndarray:
    """Return one kind of n columns."""
    kinds = np.zeros((n,), "int8")
    kinds[:] = kind
    return kinds


def count_of(kinds: np.ndarray, kind: int) -> int:
    """Return how many columns are of a kind."""
    return kinds.data.tobytes().count(bytes([kind]))
