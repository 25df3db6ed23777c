"""Cells: the data that each partition learns in each round."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

PIECES_PER_CELL = 16  # where the data are dealt out at random


class Piece(NamedTuple):
    """A range of a unit of data, from ``first`` to ``last`` of its size."""

    unit: int
    first: int
    last: int


Cell = list[Piece]


def cells_of(
    sizes: Sequence[int],
    divisible: Sequence[bool],
    partitions: int,
    rounds: int,
    deal: np.random.Generator | None = None,
) -> list[list[Cell]]:
    """Return the cells of all partitions in each round, which together hold all data once: ``rounds`` lists of cells.

    Each partition is a contiguous range of the units in their order, and each of its rounds a contiguous range of that.

    Parameters
    ----------
    sizes : sequence of int
        Sizes of the units in bytes, rows or any other measure.
    divisible : sequence of bool
        Whether each can be cut; one that cannot belongs to the cell in which it begins.
    partitions, rounds : int
    deal : Generator, optional
        Cut the data into small pieces and deal them out at random instead.

    Examples
    --------
    >>> cells_of([100, 20], [True, True], partitions=2, rounds=2)[1]
    [[Piece(unit=0, first=30, last=60)], [Piece(unit=0, first=90, last=100), Piece(unit=1, first=0, last=20)]]
    """
    n = partitions * rounds
    if deal is None:
        found = _cut(sizes, divisible, n)
        return [[found[k * rounds + number] for k in range(partitions)] for number in range(rounds)]
    pieces = [piece for cell in _cut(sizes, divisible, n * PIECES_PER_CELL) for piece in cell]
    order = deal.permutation(len(pieces))
    found = [[pieces[k] for k in order[cell::n]] for cell in range(n)]
    return [found[number * partitions : (number + 1) * partitions] for number in range(rounds)]


def _cut(sizes: Sequence[int], divisible: Sequence[bool], n: int) -> list[Cell]:
    """Cut the units, in their order, into ``n`` ranges of equal size."""
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
