"""Data cut into cells: what each part learns in each round."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

PIECES_PER_CELL = 16  # that the data are cut into to be dealt out at random


class Piece(NamedTuple):
    """Some of a unit of data, from ``first`` to ``last`` of its ``size``."""

    unit: int
    first: int
    last: int


Cell = list[Piece]


def cells_of(
    sizes: Sequence[int], divisible: Sequence[bool], parts: int, rounds: int, deal: np.random.Generator | None = None
) -> list[list[Cell]]:
    """What each part learns in each round: ``rounds`` lists of ``parts`` cells, which hold everything once.

    The units lie one after the other. Each part is a stretch of them, and each of its rounds a stretch of that.

    Parameters
    ----------
    sizes : sequence of int
        Bytes, rows or any measure of the units.
    divisible : sequence of bool
        Whether each can be cut; one that cannot belongs where it begins.
    parts, rounds : int
    deal : Generator, optional
        Cut everything into small pieces and deal them out at random instead.

    Examples
    --------
    >>> cells_of([100, 20], [True, True], parts=2, rounds=2)[1]
    [[Piece(unit=0, first=30, last=60)], [Piece(unit=0, first=90, last=100), Piece(unit=1, first=0, last=20)]]
    """
    n = parts * rounds
    if deal is None:
        found = _cut(sizes, divisible, n)
        return [[found[part * rounds + number] for part in range(parts)] for number in range(rounds)]
    pieces = [piece for cell in _cut(sizes, divisible, n * PIECES_PER_CELL) for piece in cell]
    order = deal.permutation(len(pieces))
    found = [[pieces[k] for k in order[cell::n]] for cell in range(n)]
    return [found[number * parts : (number + 1) * parts] for number in range(rounds)]


def _cut(sizes: Sequence[int], divisible: Sequence[bool], n: int) -> list[Cell]:
    """The units, one after the other, cut into ``n`` stretches of one size."""
    starts = list(accumulate(sizes, initial=0))
    borders = [starts[-1] * k // n for k in range(n + 1)]
    found: list[Cell] = [[] for _ in range(n)]
    for unit, (start, size) in enumerate(zip(starts, sizes, strict=False)):
        cell = min(bisect_right(borders, start) - 1, n - 1)
        if not divisible[unit]:
            found[cell].append(Piece(unit, 0, size))
            continue
        while cell < n and borders[cell] < start + size:
            first, last = max(borders[cell], start) - start, min(borders[cell + 1] - start, size)
            if first < last:
                found[cell].append(Piece(unit, first, last))
            cell += 1
    return found
