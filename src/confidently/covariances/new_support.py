"""The rows of a block that become support rows of a kernel learner within a budget."""

from __future__ import annotations

from typing import Any

import numpy as np


class NewRows:
    """The rows of a block that become support rows, with their coefficients."""

    def __init__(
        self, joint: bool, support: np.ndarray, dual: np.ndarray, found: list[dict[str, Any]], k: np.ndarray,
        own: np.ndarray,
    ) -> None:  # fmt: skip
        """Take signs of the support rows and their coefficients, and kernel values of them and of the block's rows."""
        n = len(own)
        row_of = [learned["plus"] % n for learned in found]
        self.rows = row_of[0] if joint else np.unique(np.concatenate(row_of))
        # where the updates of each learner are among them
        self.at = [np.arange(len(rows)) if joint else np.searchsorted(self.rows, rows) for rows in row_of]
        self.sides = np.full((len(self.rows), 2), -1, dtype=np.int32)
        self.sides[:, 0] = 0
        if joint:
            minus = found[0]["minus"]
            self.sides[:, 0] = found[0]["plus"] // n
            self.sides[:, 1] = np.where(minus >= 0, minus // n, -1)
        self.signs = signs_of(self.sides, support.shape[1])
        # the kernel with the support rows, one row of numbers per new row, and with each other
        self.between = (self.signs @ support.T) * k.T[self.rows]
        self.own = own[np.ix_(self.rows, self.rows)] * (self.signs @ self.signs.T)
        self.dual = np.zeros((len(self.rows), *dual.shape[1:]))
        self.diagonal = np.zeros((len(found), len(self.rows)))  # of A; 0: no precision was gained
        self.rest: list[np.ndarray] = []  # each learner's block of A, less what follows from the support rows
        self.solved: list[np.ndarray] = []  # each learner's t(z)' A^-1
        self.drifted: list[bool] = []  # whether each learner's A^-1 has lost digits

    def __len__(self) -> int:
        return len(self.rows)


def signs_of(sides: np.ndarray, parts: int) -> np.ndarray:
    """Return the factors of x in the parts of z, rows x parts."""
    numbers = np.arange(parts)
    return (sides[:, :1] == numbers).astype(np.float64) - (sides[:, 1:] == numbers)
