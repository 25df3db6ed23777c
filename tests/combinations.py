"""Few of many combinations for ``make test``; the others are long.

What one value alone or two values together break is still found, since each pair of values is in some combination.
"""

from collections.abc import Hashable, Iterable
from itertools import combinations

import pytest


def few(cases: Iterable[tuple], together: int = 2) -> list:
    """Return the cases as parameters, all but a choice of them marked as long.

    Parameters
    ----------
    cases : iterable of tuple
        Values of the same parameters, such as a product without what does not go together.
    together : int
        The choice has each so many values that any case has together: 1 takes each value once, 2 each pair.
    """
    cases = list(cases)
    chosen = choice(cases, together)
    return [pytest.param(*case, marks=() if k in chosen else pytest.mark.long) for k, case in enumerate(cases)]


def choice(cases: list[tuple], together: int) -> set[int]:
    """Return the places of cases that have all values that come together; those that bring most are taken first."""
    parts = [set(combinations(enumerate(map(_key, case)), together)) for case in cases]
    known, chosen = set(), set()
    for new in range(max(map(len, parts), default=0), 0, -1):
        for k, part in enumerate(parts):
            if len(part - known) >= new:
                known |= part
                chosen.add(k)
    return chosen


def _key(value: object) -> Hashable:
    return value if isinstance(value, Hashable) else repr(value)
