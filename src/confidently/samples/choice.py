"""Random choices that are the same with every version of Python, which promises that of ``random()`` alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


def pick(generator: Random, choices: Sequence[T]) -> T:
    """Return one of the choices, each with the same probability."""
    return choices[int(generator.random() * len(choices))]


def pick_early(generator: Random, choices: Sequence[T]) -> T:
    """Return one of the choices, the first ones more often: few sites have most of the visitors."""
    return choices[int(generator.random() ** 3 * len(choices))]


def numbered(n_rows: int, seed: int) -> Iterator[tuple[int, Random]]:
    """Yield the number of each row, from 0, with the generator of all of them.

    Raises
    ------
    ValueError
        If ``n_rows`` or ``seed`` is negative.
    """
    if n_rows < 0 or seed < 0:
        name, value = ("n_rows", n_rows) if n_rows < 0 else ("seed", seed)
        raise ValueError(f"{name}: expected an integer of 0 or more, got {value}")
    generator = Random(seed)
    return ((row, generator) for row in range(n_rows))
