"""When the mixture of a stack moved to shorter memories, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

SHORT, LONG = 0.95, 0.8  # of the shares that of all windows but the longest: above, memories are short; below, long
ROWS_TO_MOVE = 100  # in a row after which the mixture has moved


class Moves(NamedTuple):
    """Rows at which a mixture moved to shorter memories and back.

    It has moved to shorter ones when the windows of 50 and 300 rows have together had more than .95 of the shares for
    100 rows in a row, and back when they have had less than .8 for 100 rows in a row.

    Attributes
    ----------
    rows : tuple of int
        The first of these rows, of those trained on, counted from 1: of moves to shorter memories and back in turn.
    pending : int
        Rows so far that disagree with the last move.
    """

    rows: tuple[int, ...] = ()
    pending: int = 0

    def after(self, shares: np.ndarray, seen: int) -> Moves:
        """Return the moves after further rows.

        Parameters
        ----------
        shares : array of shape (n, windows)
            Of the windows after each row.
        seen : int
            Rows before.
        """
        rows, pending = list(self.rows), self.pending
        for row, share in enumerate(shares[:, :-1].sum(axis=1).tolist(), seen + 1):
            other = share < LONG if len(rows) % 2 else share > SHORT
            pending = pending + 1 if other else 0
            if pending == ROWS_TO_MOVE:
                rows.append(row - ROWS_TO_MOVE + 1)
                pending = 0
        return Moves(tuple(rows), pending)

    def check(self, seen: int) -> None:
        """Raise ``ValueError`` unless these may be the moves of so many rows."""
        rows = (0, *self.rows, seen - self.pending + 1)
        if any(a >= b for a, b in pairwise(rows)) or self.pending >= ROWS_TO_MOVE:
            raise ValueError(f"moves of memories at rows {self.rows} and {self.pending} pending, of {seen} rows")

    def spans(self) -> list[tuple[int, int | None]]:
        """Return the first row and the row after the last of each time of short memories, ``None`` if it lasts."""
        ends = [*self.rows[1::2], None]
        return list(zip(self.rows[::2], ends, strict=False))
