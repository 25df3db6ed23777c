"""Documents as bags of words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import row_entries

MAX_COUNT = 2**24  # of one word in one document


@dataclass(frozen=True)
class Bags:
    """Documents as bags of words, in the layout of a CSR matrix."""

    start: np.ndarray  # (n + 1,) int64
    words: np.ndarray  # int32, ascending within a document
    counts: np.ndarray  # int32
    n_words: int

    def __len__(self) -> int:
        return len(self.start) - 1

    def part(self, first: int, last: int) -> Bags:
        """The documents ``first`` to ``last - 1``."""
        return Bags(self.start[first : last + 1], self.words, self.counts, self.n_words)

    def lengths(self) -> np.ndarray:
        """Number of words of each document, repetitions counted."""
        sums = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        return sums[self.start[1:]] - sums[self.start[:-1]]

    def rows(self, order: np.ndarray) -> Bags:
        """The documents of these numbers, in this order."""
        entries, start = row_entries(self.start, order)
        return Bags(start, self.words[entries], self.counts[entries], self.n_words)
