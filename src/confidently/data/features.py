"""Names of features: the columns of a model whose features have names.

Columns are numbered as features appear. The *key* of a feature is the hash of its name (MurmurHash3, 32 bits), cut to b
bits if names are hashed; models are aligned by key. If names are hashed, only a bounded number of them is kept: those
of the largest weights.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from .. import _core

KEPT_NAMES = 2**15  # after pruning
MAX_NAMES = 2**17  # of hashed features, before pruning


class Strings:
    """Byte strings, concatenated in one array.

    Parameters
    ----------
    text : uint8 array
    start : int64 array of shape (n + 1,)
        Where each string starts.
    """

    def __init__(self, text: np.ndarray, start: np.ndarray) -> None:
        self.text, self.start = text, start

    @classmethod
    def of(cls, strings: list[str]) -> Strings:
        """Encode strings."""
        encoded = [s.encode(errors="surrogatepass") for s in strings]
        start = np.zeros((len(encoded) + 1,), "int64")
        for k, end in enumerate(accumulate(len(s) for s in encoded)):
            start[k + 1] = end
        text = np.zeros((start[-1],), "uint8")
        text.data[:] = b"".join(encoded)
        return cls(text, start)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __iter__(self) -> Iterator[str]:
        for one in self.encoded():
            yield one.decode(errors="replace")

    def encoded(self) -> Iterator[bytes]:
        """Yield the bytes of each string; invalid UTF-8 is kept as it is."""
        raw, start = self.text.data.tobytes(), self.start.tolist()
        for first, last in pairwise(start):
            yield raw[first:last]

    def having(self, characters: str) -> np.ndarray:
        """Return the positions of the strings that have one of these ASCII characters."""
        return _core.strings_with(self.text, self.start, characters)

    def part(self, first: int, last: int) -> Strings:
        """Return the strings from ``first`` to ``last - 1``."""
        begin, end = self.start[first], self.start[last]
        return Strings(self.text[begin:end], self.start[first : last + 1] - begin)

    def take(self, which: np.ndarray) -> Strings:
        """Return the strings at these positions, in this order."""
        return Strings(*_core.take_strings(self.text, self.start, np.asarray(which, dtype=np.int64)))

    @staticmethod
    def joined(parts: list[Strings]) -> Strings:
        """Concatenate."""
        if not parts:
            return Strings.of([])
        offsets = accumulate((int(part.start[-1]) for part in parts[:-1]), initial=0)
        ends = [part.start[1:] + offset for part, offset in zip(parts, offsets, strict=True)]
        return Strings(np.concatenate([part.text for part in parts]), np.concatenate([parts[0].start[:1], *ends]))


class NewFeatures(NamedTuple):
    """Features at their first appearance; they take the next columns.

    ``row`` (within the batch, ascending), ``key`` and ``names`` have one entry per feature.
    """

    row: np.ndarray
    key: np.ndarray
    names: Strings

    def part(self, first: int, last: int) -> NewFeatures:
        """Return the features of rows ``first`` to ``last - 1``."""
        a, b = bisect_left(self.row, first), bisect_left(self.row, last)
        return NewFeatures(self.row[a:b] - first, self.key[a:b], self.names.part(a, b))


class Features:
    """The features of a model, by column.

    Parameters
    ----------
    key : uint32 array
        Key of every column.
    column : int32 array
        The columns with known names, ascending.
    names : Strings
        Their names.
    bounded : bool
        Whether to drop names beyond :data:`MAX_NAMES`.
    """

    def __init__(
        self,
        key: np.ndarray | None = None,
        column: np.ndarray | None = None,
        names: Strings | None = None,
        bounded: bool = False,
    ) -> None:
        self._keys = [np.zeros((0,), "uint32") if key is None else key]
        self._columns = [np.zeros((0,), "int32") if column is None else column]
        self._names = [Strings.of([]) if names is None else names]
        self.bounded = bounded
        self._size, self.n_named = len(self._keys[0]), len(self._columns[0])

    @classmethod
    def named(cls, names: list[str]) -> Features:
        """Return features with these names, by column."""
        strings = Strings.of(names)
        return cls(_core.name_keys(strings.text, strings.start), np.arange(0, len(names), dtype=np.int32), strings)

    def __len__(self) -> int:
        return self._size

    def copy(self) -> Features:
        """Return a copy that can grow on its own; existing names are shared."""
        return Features(self.key, self.column, self.names, self.bounded)

    def since(self, known: int) -> Features:
        """Return the features from column ``known`` on, numbered from 0."""
        first = bisect_left(self.column, known)
        names = self.names.part(first, self.n_named)
        return Features(self.key[known:], self.column[first:] - np.int32(known), names, self.bounded)

    def followed_by(self, new: Features) -> Features:
        """Return these features and others, which take the next columns."""
        columns = np.concatenate([self.column, new.column + np.int32(len(self))])
        key = np.concatenate([self.key, new.key])
        return Features(key, columns, Strings.joined([self.names, new.names]), self.bounded)

    def add(self, new: NewFeatures) -> None:
        """Append features."""
        if len(new.key) == 0:
            return
        self._keys.append(new.key)
        self._columns.append(np.arange(self._size, self._size + len(new.key), dtype=np.int32))
        self._names.append(new.names)
        self._size += len(new.key)
        self.n_named += len(new.key)

    def room(self) -> int:
        """Return how many more names fit before they must be pruned."""
        return MAX_NAMES - self.n_named if self.bounded else sys.maxsize

    def prune(self, weight: np.ndarray) -> None:
        """Keep the names of the columns with the largest ``weight``; among equal ones, the first."""
        weight = weight[self.column]
        least = np.partition(weight, -KEPT_NAMES)[-KEPT_NAMES]
        stays = weight > least
        stays[np.flatnonzero(weight == least)[: KEPT_NAMES - np.count_nonzero(stays)]] = True
        kept = np.flatnonzero(stays)
        self._columns, self._names = [self.column[kept]], [self.names.take(kept)]
        self.n_named = len(kept)

    @property
    def key(self) -> np.ndarray:
        if len(self._keys) > 1:
            self._keys = [np.concatenate(self._keys)]
        return self._keys[0]

    @property
    def column(self) -> np.ndarray:
        if len(self._columns) > 1:
            self._columns = [np.concatenate(self._columns)]
        return self._columns[0]

    @property
    def names(self) -> Strings:
        if len(self._names) > 1:
            self._names = [Strings.joined(self._names)]
        return self._names[0]

    def name_of(self) -> dict[int, str]:
        """Return known names by column."""
        return dict(zip(self.column.tolist(), self.names, strict=True))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the model file."""
        names = self.names
        return {
            "features.key": self.key,
            "features.column": self.column,
            "features.text": names.text,
            "features.start": names.start,
        }
