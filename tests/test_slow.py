"""The table of slow tests names tests that exist, and is made as its module says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import slow

LINES = slow.FILE.read_text().splitlines()


def test_the_table_names_tests_that_exist():
    sources = {name: Path(name).read_text() for name in {line.partition("::")[0] for line in LINES}}
    for line in LINES:
        file, _, function = line.partition("::")
        assert re.search(rf"^\s*def {function.split('::')[-1]}\(", sources[file], re.MULTILINE), line
    assert sorted(set(LINES)) == LINES


def test_slow_functions_are_those_whose_cases_are_slow_on_average(tmp_path, monkeypatch):
    monkeypatch.setattr(slow, "FILE", tmp_path / "slow.txt")
    monkeypatch.setattr(slow, "SECONDS", 0.3)
    printed = """
        0.50s call     tests/a/test_a.py::test_one[x-1]
        0.05s setup    tests/a/test_a.py::test_one[x-2]
        0.04s call     tests/a/test_a.py::test_two
        0.25s setup    tests/a/test_a.py::test_two
        0.00s teardown tests/a/test_a.py::test_two
        0.40s call     tests/a/test_a.py::test_three[a b]
        0.01s call     tests/a/test_a.py::test_three[[c]]
        9.00s call     tests/test_docs.py::test_blocks_of_pages_run[index.md]
    """
    assert slow.slow_functions(printed.splitlines()) == []
    longer = printed.replace("0.00s", "0.01s").replace("0.05s", "0.10s")
    assert slow.slow_functions(longer.splitlines()) == [f"tests/a/test_a.py::test_{name}" for name in ("one", "two")]
    slow.FILE.write_text("tests/b/test_b.py::test_known\n")
    assert slow.slow_functions(longer.splitlines())[-1] == "tests/b/test_b.py::test_known"


def test_slow_tests_are_marked_as_long(pytestconfig):
    function = LINES[0]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "not long", function],
        capture_output=True, text=True, cwd=pytestconfig.rootpath, check=False,
    )  # fmt: skip
    assert found.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, found.stdout
