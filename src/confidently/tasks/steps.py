"""How many rows a level of coverage needs, and from how many on rows are compared among themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

ROUNDING = 1e-9  # relative, of sums of rows


def rows_needed(coverage: float) -> float:
    """Return how many rows must count so that sets can leave out classes: 1/(rows + 1) is the least p-value."""
    return 1.0 / (1.0 - coverage) - 1.0


def enough_rows(coverage: float, least: float, margin: float = 1.0) -> float:
    """Return how many rows must count so that they are compared among themselves: ``least``, or more for a coverage.

    Those are ``margin`` times what the coverage needs. The number grows in steps, 1, 4, 9, 19, 49, 99, ..., so that
    few levels have pools of their own.
    """
    wanted = margin * rows_needed(coverage) * (1.0 - ROUNDING)
    return next(rows for rows in _steps(least) if rows >= wanted)


def steps(coverage: float, least: float, margin: float = 1.0) -> list[float]:
    """Return the levels below a coverage, ascending, up to which :func:`enough_rows` is the same each time."""
    enough = enough_rows(coverage, least, margin)
    return [
        1.0 - 1.0 / (rows / margin + 1.0) for rows in itertools.takewhile(lambda rows: rows < enough, _steps(least))
    ]


def _steps(least: float) -> Iterator[float]:
    yield least
    for power in itertools.count():
        yield from (rows for digit in (1, 2, 5) if (rows := digit * 10.0**power - 1.0) > least)
