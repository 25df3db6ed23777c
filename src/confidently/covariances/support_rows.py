"""The support rows of a kernel learner while it trains within a budget, each in a slot that is reused."""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel_functions import DENSE_ABOVE, KernelFunction

CsrArrays = tuple[np.ndarray, np.ndarray, np.ndarray]  # values, columns, start


class SupportRows:
    """Rows in slots, of which those that are free are empty rows or what was there before."""

    def __init__(self, kernel: KernelFunction, rows: CsrArrays, capacity: int) -> None:
        self.kernel = kernel
        self._dense: np.ndarray | None = None
        self._sparse = False  # as the first rows are
        self._entries: list[tuple[np.ndarray, np.ndarray]] = []
        self.grow(capacity)
        size = len(rows[2]) - 1
        self.put(np.arange(size), rows, np.arange(size))

    def grow(self, more: int) -> None:
        """Add free slots."""
        self._entries += [(np.zeros(0), np.zeros(0, np.int32))] * more
        if self._dense is not None:
            self._dense = np.pad(self._dense, ((0, more), (0, 0)))

    def put(self, slots: np.ndarray, rows: CsrArrays, chosen: np.ndarray) -> None:
        """Copy the chosen rows to slots."""
        values, columns, start = rows
        if self._dense is None and not self._sparse and len(start) > 1:
            self._sparse = len(values) <= DENSE_ABOVE * (len(start) - 1) * self.kernel.n_features
            if not self._sparse:
                self._dense = np.zeros((len(self._entries), self.kernel.n_features))
        for slot, row in zip(slots.tolist(), chosen.tolist(), strict=True):
            of_row = slice(start[row], start[row + 1])
            self._entries[slot] = values[of_row].copy(), columns[of_row].copy()
            if self._dense is not None:
                self._dense[slot] = 0.0
                self._dense[slot, columns[of_row]] = values[of_row]

    def matrix(self) -> Any:
        """Return the rows of all slots, for the kernel."""
        return self.kernel.rows(*self.csr(np.arange(len(self._entries)))) if self._dense is None else self._dense

    def csr(self, slots: np.ndarray) -> CsrArrays:
        """Return the rows of some slots as CSR arrays."""
        found = [self._entries[slot] for slot in slots]
        start = np.zeros(len(found) + 1, np.int64)
        np.cumsum([len(values) for values, _ in found], out=start[1:])
        if not found:
            return np.zeros(0), np.zeros(0, np.int32), start
        return np.concatenate([values for values, _ in found]), np.concatenate([columns for _, columns in found]), start
