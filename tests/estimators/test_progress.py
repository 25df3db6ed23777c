"""The progress of training on streams, in a terminal and in a notebook."""

import re

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from confidently import AutoClassifier, OnlineClassifier
from confidently.data import open_stream
from tests.command_line import rows

CODE = """
from confidently import {kind}
from confidently.data import open_stream

classifier = {kind}().fit_stream(open_stream("rows.svm"), progress=True)
classifier.partial_fit_stream("rows.svm", progress=True)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows.svm").write_text(rows(3000))
    return tmp_path


@pytest.mark.long("thousands of rows")
@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
def test_progress_changes_nothing_and_is_written_to_standard_error(folder, kind, capsys):
    path = folder / "rows.svm"
    shown = kind().fit_stream(open_stream(path), progress=True)
    captured = capsys.readouterr()
    assert captured.out == "" and "3,000 rows" in captured.err
    quiet = kind().fit_stream(open_stream(path))
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(shown.predict_proba(np.eye(20)), quiet.predict_proba(np.eye(20)))


def test_the_bytes_of_a_stream_are_those_of_its_files(folder):
    (folder / "more.svm").write_text(rows(10))
    paths = [folder / "rows.svm", folder / "more.svm"]
    with open_stream(paths) as stream:
        assert stream.total_bytes == sum(path.stat().st_size for path in paths)
        last = list(stream)[-1]
    assert last.bytes_read == stream.total_bytes


@pytest.mark.long("starts notebooks")
@pytest.mark.parametrize("kind", ["OnlineClassifier", "AutoClassifier"])
def test_a_notebook_shows_one_complete_bar_per_training(folder, kind):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE.format(kind=kind))])
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
    [cell] = notebook.cells
    bars = [output["data"]["text/html"] for output in cell.outputs if output.output_type == "display_data"]
    size = (folder / "rows.svm").stat().st_size
    assert len(bars) == 2
    for bar in bars:
        assert re.fullmatch(rf'<progress value="{size}" max="{size}"></progress> 3,000 rows, [\d,]+ rows/s', bar)
    assert not any(output.get("name") == "stderr" for output in cell.outputs)


@pytest.mark.parametrize(
    "kind", [OnlineClassifier, pytest.param(AutoClassifier, marks=pytest.mark.long("stacks of many passes"))]
)
@pytest.mark.parametrize("as_dicts", [False, True])
def test_passes_end_where_mistakes_no_longer_fall(kind, as_dicts):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = X[:, 0] + 0.5 * random.normal(size=300) > 0
    rows_given = [dict(zip("abcd", row, strict=True)) for row in X.tolist()] if as_dicts else X
    found = [kind(passes=passes, shuffle=False).fit(rows_given, y).mistakes_ for passes in range(1, 9)]
    errors = np.diff([0, *found]) / 300
    for tol in (0.0, 0.01, 0.1):
        least, expected = np.minimum.accumulate(errors), 8
        for number in range(1, 8):
            if errors[number] > least[number - 1] - tol:
                expected = number + 1
                break
        model = kind(passes=8, shuffle=False, tol=tol).fit(rows_given, y)
        assert (model.n_iter_, model.mistakes_) == (expected, found[expected - 1])
    assert 1 < kind(passes=8, shuffle=False, tol=1.0).fit(rows_given, y).n_iter_ == 2
    assert kind(passes=8, shuffle=False).fit(rows_given, y).n_iter_ == 8
