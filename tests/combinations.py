"""Few of many combinations for ``make test``: of a test with the marker ``few`` all others are long.

What one value or two values together break is still found, since each pair of values is in one of the few.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from itertools import combinations, groupby

import pytest


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark as long what the marker ``few(together)`` leaves out: 1 keeps each value, 2 (the default) each pair."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("few"):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in functions.values():
        (together,) = cases[0].get_closest_marker("few").args or (2,)
        chosen = choice([tuple(case.callspec.params.values()) for case in cases], together)
        for k, case in enumerate(cases):
            if k not in chosen:
                case.add_marker(pytest.mark.long("one of many combinations"))


def choice(cases: Sequence[tuple], together: int) -> set[int]:
    """Return places of cases that have all values that come together in any; those that bring most are taken first."""
    parts = [set(combinations(enumerate(map(_key, case)), min(together, len(case)))) for case in cases]
    known, chosen = set(), set()
    for new in range(max(map(len, parts), default=0), 0, -1):
        for k, part in enumerate(parts):
            if len(part - known) >= new:
                known |= part
                chosen.add(k)
    return chosen


def sampled(checks: pytest.MarkDecorator, stride: int = 48) -> pytest.MarkDecorator:
    """Mark scikit-learn's checks as long, except those of the first estimator and a sample of those of the others.

    Parameters
    ----------
    checks : MarkDecorator
        What ``parametrize_with_checks`` returns.
    stride : int
        The sample has so many checks of an estimator fewer, beginning one later for the next: so each check of some.
    """
    cases = []
    every = [case if hasattr(case, "marks") else pytest.param(*case) for case in checks.args[1]]
    for e, (_, of_one) in enumerate(groupby(every, lambda case: id(case.values[0]))):
        for c, case in enumerate(of_one):
            more = [pytest.mark.long("one of many checks")] * (e > 0 and (e + c) % stride > 0)
            cases.append(pytest.param(*case.values, marks=[*case.marks, *more]))
    return pytest.mark.parametrize(checks.args[0], cases, **checks.kwargs | {"ids": cache(checks.kwargs["ids"])})


def _key(value: object) -> Hashable:
    try:
        hash(value)
    except TypeError:  # also of a tuple that holds a dict
        return repr(value)
    return value
