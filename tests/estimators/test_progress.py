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


@pytest.mark.parametrize("kind", ["OnlineClassifier", pytest.param("AutoClassifier", marks=pytest.mark.long)])
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
