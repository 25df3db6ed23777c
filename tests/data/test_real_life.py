"""Training on files as other programs write them gives the right task and columns, or one line says what to do."""

import json

import pytest

from confidently import load
from tests.command_line import here
from tests.data.real_life import FILES

pytestmark = pytest.mark.filterwarnings("always::confidently.data.DataWarning")
MAX_ERROR = 0.7  # of those of predictions that ignore the features
NOT_OF_LOOK = "--on-error"  # which reads rows only to show them


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda name: (tmp_path / name).write_bytes(FILES[name].make())


def lines(done):
    return [line.removeprefix("confidently: ") for line in done.stderr.splitlines()]


@pytest.mark.parametrize("name", FILES)
def test_a_message_says_what_is_assumed_or_what_to_do(write, name):
    write(name)
    expected = FILES[name]
    done = here("train", name, "-q", "-o", "model.cw")
    said = lines(done)
    if expected.message:
        assert expected.message in said
    else:
        assert not said
    assert done.returncode == (2 if expected.message.startswith("error: ") else 0)


@pytest.mark.long("32 files in several containers")
@pytest.mark.parametrize("name", [name for name, one in FILES.items() if not one.refused])
def test_files_are_read_as_they_are_meant(write, name):
    write(name)
    expected = FILES[name]
    done = here("train", name, *expected.options, "-q", "-o", "model.cw", "--json")
    assert done.returncode == 0, done.stderr
    if expected.options:
        assert expected.message not in lines(done)
    result, model = json.loads(done.stdout), load("model.cw")
    assert type(model).__name__ == ("AutoRegressor" if expected.regression else "AutoClassifier")
    if NOT_OF_LOOK in expected.options:
        assert result["skipped"] > 0
        return
    found = json.loads(here("look", name, *expected.options, "--json").stdout)
    assert found["rows"] == result["rows"] > 500
    assert found["label"]["column"] == expected.label
    assert {column["name"]: column["type"] for column in found["columns"]} == expected.types
    if expected.regression:
        assert found["label"]["kind"] == "numbers"
        assert result["rmse"] < MAX_ERROR * (found["label"]["highest"] - found["label"]["lowest"]) / 4
        return
    counts = [one["rows"] for one in found["label"]["classes"]]
    assert len(counts) == 2 and sum(counts) == result["rows"]
    assert result["mistakes"] < MAX_ERROR * min(counts)
