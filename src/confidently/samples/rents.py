"""Flats with their monthly rents, a table of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from .choice import numbered, pick

DISTRICTS = {"harbor": 1.15, "old town": 1.3, "north": 0.9, "east": 0.8, "garden city": 1.0, "university": 1.2}
PER_SQUARE_METER, BASE, NOISE = 13.0, 150.0, 0.08  # euros, euros, of the logarithm


def rents(n_rows: int = 2000, seed: int = 0) -> Iterator[dict[str, str | int | float]]:
    """Yield flats with ``rent`` (euros a month), ``area`` (square meters), ``rooms``, ``floor``, ``year`` and
    ``district``.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> next(rents())["district"]
    'east'
    """
    return (_row(generator) for _, generator in numbered(n_rows, seed))


def _row(generator: Random) -> dict[str, str | int | float]:
    area = round(25.0 + 110.0 * generator.random() ** 1.5, 1)
    rooms, floor = 1 + int(area / 30.0 + generator.random()), int(6 * generator.random())
    year, district = 1900 + int(125 * generator.random()), pick(generator, list(DISTRICTS))
    spread = NOISE * (generator.random() + generator.random() + generator.random() - 1.5) * 2.0  # nearly normal
    rent = (BASE + PER_SQUARE_METER * area * DISTRICTS[district]) * (1.0 + 0.002 * (year - 1960)) * math.exp(spread)
    flat = {"area": area, "rooms": rooms, "floor": floor, "year": year, "district": district}
    return {"rent": round(rent, 2)} | flat
