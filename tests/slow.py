"""The tests that take longest, which ``make test`` leaves out: ``tables/slow_tests.txt`` names them, one a line.

``python -m tests.slow FILE`` adds those that are slow by what ``pytest -n 2 --durations=0 --durations-min=0`` has
printed of the others.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

FILE = Path(__file__).parent / "tables" / "slow_tests.txt"
SECONDS = 0.1  # that a case of a slow test takes on average, fixtures included
# What every commit is to keep right: that pages and help are true, and the house in order.
KEPT = ("tests/test_docs.py", "tests/cli/test_snapshots.py", "tests/test_house.py", "tests/test_import_law.py")
TIMED = re.compile(r"\s*([0-9.]+)s (?:call|setup|teardown) +(\S+?::.*)")


def function_of(case: str) -> str:
    """Return the test function of a case."""
    return case.partition("[")[0]


def mark_slow(items: Iterable[pytest.Item]) -> None:
    """Mark the tests of the table as long."""
    slow = set(FILE.read_text().splitlines())
    for item in items:
        if function_of(item.nodeid) in slow:
            item.add_marker("long")


def slow_functions(printed: Iterable[str]) -> list[str]:
    """Return the lines of the table: the test functions that are slow, and those that the table has already."""
    seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for line in printed:
        if found := TIMED.match(line.rstrip("\n")):
            seconds[function_of(found[2])][found[2]] += float(found[1])
    found = [name for name, cases in seconds.items() if sum(cases.values()) >= SECONDS * len(cases)]
    known = FILE.read_text().splitlines() if FILE.exists() else []
    return sorted(name for name in {*found, *known} if not name.startswith(KEPT))


if __name__ == "__main__":
    lines = slow_functions(Path(sys.argv[1]).read_text().splitlines())
    FILE.write_text("".join(f"{line}\n" for line in lines))
