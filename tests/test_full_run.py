"""All tests have run not long ago, and what is noted of it is what they gave."""

import subprocess

import pytest

from tests import full_run

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'


def test_all_tests_have_run_on_one_of_the_last_commits():
    age = full_run.age()
    if age is None:
        pytest.skip("the history does not reach back to the last full run")
    assert age <= full_run.COMMITS, f"all tests ran {age} commits ago: run make test-all, and commit {full_run.FILE}"


@pytest.mark.parametrize(
    ("path", "room"),
    [
        ("src/confidently/stack/members.py", "stack"),
        ("core/tasks/counts.hpp", "tasks"),
        ("tests/serve/page/test_files.py", "serve"),
        ("src/confidently/river.py", ""),
        ("README.md", None),
    ],
)
def test_a_file_belongs_to_a_room(path, room):
    assert full_run.room(path) == room


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository of one commit, whose tests ran at that commit."""

    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    monkeypatch.setattr(full_run, "ROOT", tmp_path)
    monkeypatch.setattr(full_run, "FILE", tmp_path / "last.txt")
    for file in ("src/confidently/stack/a.py", "tests/stack/test_a.py", "core/rules/b.hpp", "last.txt"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("commit 0\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    return git


def test_a_green_run_of_a_commit_is_noted(repository, tmp_path):
    for name, counts in (("a.xml", (10, 0, 0, 2)), ("b.xml", (5, 0, 0, 1))):
        (tmp_path / name).write_text(REPORT.format(*counts))
    reports = [tmp_path / "a.xml", tmp_path / "b.xml"]
    assert "tests 15\nred 0\nskipped 3\n" in full_run.record(reports)
    assert full_run.age() == 0
    assert full_run.rooms_changed() == set()
    repository("commit", "-qam", "what was noted")
    (tmp_path / "core/rules/b.hpp").write_text("changed")
    repository("commit", "-qam", "a change")
    assert full_run.age() == 2
    assert full_run.rooms_changed() == {"rules"}
    (tmp_path / "tests/stack/test_a.py").write_text("changed, not committed")
    assert full_run.rooms_changed() == {"rules", "stack"}
    noted = full_run.FILE.read_text()
    assert full_run.record(reports).startswith("not noted")
    repository("commit", "-qam", "another")
    (tmp_path / "b.xml").write_text(REPORT.format(5, 1, 0, 1))
    assert full_run.record(reports).startswith("not noted")
    assert full_run.FILE.read_text() == noted


def test_a_commit_that_is_not_known_has_no_age(repository):
    for _ in range(2):
        assert full_run.age() is None
        assert full_run.rooms_changed() == set()
        full_run.FILE.unlink(missing_ok=True)
