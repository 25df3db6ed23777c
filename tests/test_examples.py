"""The notebooks of examples/ run and print what they show; ``python -m tests.test_examples`` runs and saves them,
or those with the names that follow."""

import importlib.util
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.cli.test_snapshots import assert_alike

FOLDER = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
HAS_SPARK = importlib.util.find_spec("pyspark") is not None and shutil.which("java") is not None
MARKS = {
    "spark": (pytest.mark.spark, pytest.mark.skipif(not HAS_SPARK, reason="needs pyspark and Java")),
}
FIGURE = re.compile(r"<Figure size .*>")


def executed(path, folder):
    """The notebook after running all cells in a folder."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=None, resources=resources, coalesce_streams=True).execute()
    return notebook


def printed(notebook):
    """What the cells print and show as text."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "\n".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in outputs)


@pytest.mark.parametrize("path", [
    pytest.param(path, marks=MARKS.get(path.stem, pytest.mark.long("executes a notebook"))) for path in NOTEBOOKS
], ids=lambda path: path.stem)  # fmt: skip
def test_a_notebook_runs_and_prints_what_it_shows(path, tmp_path):
    assert_alike(printed(executed(path, tmp_path)), printed(nbformat.read(path, as_version=4)))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_pictures_and_no_warnings(path):
    notebook = nbformat.read(path, as_version=4)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = sum("image/png" in output.get("data", {}) for output in outputs)
    assert pictures > 0 and pictures == len(FIGURE.findall(printed(notebook)))
    assert not any(output.get("name") == "stderr" for output in outputs)
    assert path.stat().st_size < 400_000  # so that the repository stays small


def test_there_is_a_notebook_for_each_kind_of_work():
    assert [path.stem for path in NOTEBOOKS] == ["clicks", "drift", "labelling", "regression", "spark", "text"]


def save(names):
    """Execute notebooks, by default every one, and save their outputs."""
    from tempfile import TemporaryDirectory

    for path in NOTEBOOKS:
        if names and path.stem not in names:
            continue
        with TemporaryDirectory() as folder:
            notebook = executed(path, folder)
        for cell in notebook.cells:
            cell.metadata.pop("execution", None)  # times
        nbformat.write(notebook, path)


if __name__ == "__main__":
    save(sys.argv[1:])
