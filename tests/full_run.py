"""The last green run of all tests: what it counted, how old it is, and what has changed since.

``make test-all`` ends with ``python -m tests.full_run FILES``, which adds up what ``pytest --junitxml`` has written and
notes the commit in ``last_full_run.txt``. The tests of this file are then red where that commit is too old.
"""

import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "tests" / "last_full_run.txt"
COMMITS = 100  # after which all tests must have run again
PLACES = ("src/confidently/", "core/", "tests/")  # each with the folders of the rooms


def git(*arguments: str) -> str | None:
    """Return what git prints, None where it fails or is missing."""
    try:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def commit() -> str | None:
    """Return the commit of the last full run, None before the first one."""
    return FILE.read_text().split()[1] if FILE.exists() else None


def age() -> int | None:
    """Return the number of commits since the last full run, None where the history does not reach that far."""
    count = None if commit() is None else git("rev-list", "--count", f"{commit()}..HEAD")
    return None if count is None else int(count)


def room(path: str) -> str | None:
    """Return the room of a file of the repository, "" for files of no room, None for those that no test is about."""
    for place in PLACES:
        if path.startswith(place):
            head, slash, _ = path.removeprefix(place).partition("/")
            return head if slash else ""
    return None


def rooms_changed() -> set[str]:
    """Return the rooms with a file that has changed since the last full run."""
    known = commit()
    changed = (known and git("diff", "--name-only", known)) or ""
    return {found for path in changed.splitlines() if (found := room(path)) is not None}


def counted(reports: Iterable[Path]) -> dict[str, int]:
    """Return the numbers of tests, of failures and errors, and of those skipped in reports of pytest."""
    suites = [suite.attrib for report in reports for suite in ElementTree.parse(report).iter("testsuite")]
    total = {name: sum(int(suite[name]) for suite in suites) for name in ("tests", "failures", "errors", "skipped")}
    return {"tests": total["tests"], "red": total["failures"] + total["errors"], "skipped": total["skipped"]}


def record(reports: Iterable[Path]) -> str:
    """Write the file; return what to tell."""
    counts = counted(reports)
    if counts["red"] or git("status", "--porcelain", "--untracked-files=no") != "":
        return "not noted in tests/last_full_run.txt: a test is red, or files differ from the commit"
    now = datetime.now(UTC)
    FILE.write_text(
        f"commit {git('rev-parse', 'HEAD')}\ndate {now:%Y-%m-%d}\n"
        + "".join(f"{name} {count}\n" for name, count in counts.items())
    )
    return FILE.read_text()


if __name__ == "__main__":
    print(record(map(Path, sys.argv[1:])))
