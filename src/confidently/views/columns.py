"""What is known about the columns of rows before any row is seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np

from .room import joined

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

    def __deepcopy__(self, memo: object) -> Self:
        return self  # no array of it is written to

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
            names = InParts((*self._parts(0), *more._parts(len(self))))
        return Columns(joined(self.kind, more.kind), names)

    def _parts(self, first: int) -> tuple[Iterable[object], ...]:
        """Return names of the columns, of which the first has this number, in parts."""
        if isinstance(self.names, InParts):
            return self.names.parts
        return (range(first, first + len(self)) if self.names is None else self.names,)

    def given_names(self, first: int) -> Iterable[str]:
        """Yield the names of the columns, of which the first has this number."""
        return map(str, range(first, first + len(self)) if self.names is None else self.names)

    @cached_property
    def keys(self) -> np.ndarray:
        """Numbers for the names of the columns, whatever the columns before."""
        return np.array([key_of(name) for name in self.given_names(0)], np.int64)

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True)
class InParts:
    """Names of columns that came one part after the other."""

    parts: tuple[Iterable[object], ...]

    def __iter__(self) -> Iterator[object]:
        return chain.from_iterable(self.parts)


def key_of(name: str) -> int:
    """Return a number for the name of a column, > 0 and below 2^63."""
    from hashlib import blake2b  # takes time when a command starts

    return (int.from_bytes(blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest(), "big") >> 1) or 1


def filled(n: int, kind: int) -> np.ndarray:
    """Return one kind of n columns."""
    kinds = np.zeros((n,), "int8")
    kinds[:] = kind
    return kinds


def count_of(kinds: np.ndarray, kind: int) -> int:
    """Return how many columns are of a kind."""
    return kinds.data.tobytes().count(bytes([kind]))
