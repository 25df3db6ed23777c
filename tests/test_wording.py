"""Messages of single things have singular nouns."""

import re
from pathlib import Path

import confidently

SOURCES = Path(confidently.__file__).parent
NOUNS = (
    "rows|columns|labels|classes|features|names|passes|documents|words|files|models|members|partitions|workers|rounds"
)
# A count in braces followed by a plural: it may be 1. Rates ("rows/s") and numbers that cannot be 1 are no fault.
COUNTED = re.compile(r"\{[^{}]*(?:len\(|n_|\.rows|rows|count)[^{}]*\} (?:" + NOUNS + r")\b(?!/s)")
NEVER_ONE = (
    "The largest of", "classes for a task of two", "columns called", "labels, expected one", "known words",
    "rows have a new label", "rows, each read as", "rows, compared with", "columns are possible", "ROWS_TO_INFER",
    "in each of the first", "rows of the pool", "documents are predicted", "columns of a row would differ",
)  # fmt: skip


def test_numbers_and_their_nouns_are_written_by_one_helper():
    found = []
    for path in SOURCES.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if COUNTED.search(line) and not any(text in line for text in NEVER_ONE):
                found.append(f"{path.relative_to(SOURCES)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)
