"""Progress of the commands that read data and do not train: after a while, on standard error, unless it is unwanted."""

import json

import pytest

from confidently.cli.output import reporter

ROWS = 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows of two classes, the same with numbers as labels, and documents."""
    folder = tmp_path_factory.mktemp("reading")
    lines = [f"{i % 2 or -1} {1 + i % 7}:1 {9 + i % 5}:0.5" for i in range(ROWS)]
    (folder / "rows.svm").write_text("\n".join(lines) + "\n")
    (folder / "numbers.svm").write_text("".join(f"{i % 7}.5 {1 + i % 7}:1\n" for i in range(ROWS)))
    return folder


@pytest.fixture
def models(folder, ok):
    ok("train", folder / "rows.svm", "--rule=arow", "-q", "-o", folder / "classes.cw")
    ok("train", folder / "numbers.svm", "--covariance=auto", "--regression", "-q", "-o", folder / "regression.cw")
    ok("topics", "train", folder / "rows.svm", "-q", "--topics", "2", "-o", folder / "topics.cw")
    return folder


COMMANDS = {
    "cache": ["cache", "rows.svm", "-o", "rows.cache"],
    "evaluate": ["evaluate", "classes.cw", "rows.svm"],
    "evaluate of a regression": ["evaluate", "regression.cw", "numbers.svm"],
    "predict": ["predict", "classes.cw", "rows.svm", "-o", "predicted.tsv"],
    "predict of a regression": ["predict", "regression.cw", "numbers.svm", "-o", "predicted.csv"],
    "predict of topics": ["topics", "predict", "topics.cw", "rows.svm", "-o", "predicted.jsonl"],
}


@pytest.mark.long("each command three times")
@pytest.mark.parametrize("name", COMMANDS)
def test_reading_is_reported_after_a_while(name, call, models, monkeypatch):
    monkeypatch.chdir(models)
    command = COMMANDS[name]
    assert call(*command)[::2] == (0, "")
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    code, _, err = call(*command)
    title, header, *lines = [line.split() for line in err.splitlines()]
    assert (code, title, header) == (0, ["reading"], ["rows", "rows/s"])
    assert lines[-1][0] == f"{ROWS:,}"
    assert call(*command, "-q")[::2] == (0, "")


@pytest.mark.parametrize("name", ["cache", "evaluate"])
def test_json_stays_alone_on_standard_output(name, call, models, monkeypatch):
    monkeypatch.chdir(models)
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    code, out, err = call(*COMMANDS[name], "--json")
    assert code == 0 and json.loads(out)["rows"] == ROWS and err.startswith("reading")


def test_predictions_on_standard_output_are_their_own_progress(call, models, monkeypatch):
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    code, out, err = call("predict", models / "classes.cw", models / "rows.svm")
    assert (code, out.count("\n"), err) == (0, ROWS, "")


def test_the_report_ends_with_an_error(call, models, monkeypatch):
    monkeypatch.chdir(models)
    monkeypatch.setattr(reporter, "SILENT_SECONDS", 0.0)
    (models / "broken.svm").write_text((models / "rows.svm").read_text() + "1 x\n")
    code, out, err = call("evaluate", "classes.cw", "broken.svm")
    assert (code, out) == (2, "") and "broken.svm, line 3001" in err.splitlines()[-1]
