"""Test suites of other projects: those that packages ship, and the others where CONFORMANCE names their folder."""

import os
import struct
from pathlib import Path

import pyarrow
import pytest
import sklearn.datasets
from sklearn.datasets import load_svmlight_file

from tests import conformance
from tests.line_rows import parsers_of, rows_of

SKLEARN = Path(sklearn.datasets.__file__).parent / "tests" / "data"
PYARROW = Path(pyarrow.__file__).parent / "tests" / "data"
FOLDER = os.environ.get("CONFORMANCE")
# A JSON file with another telephone number than its CSV file, and lines of VW that are errors here.
KNOWN = {"location_coordinates.csv", "chain_hash_text_test.dat:4", *(f"malformed.dat:{k}" for k in range(1, 13, 2))}


@pytest.mark.parametrize("name", ["svmlight_classification.txt", "svmlight_multilabel.txt"])
def test_svmlight_files_of_scikit_learn(name):
    multilabel = "multilabel" in name
    X, y = load_svmlight_file(str(SKLEARN / name), multilabel=multilabel)
    rows = rows_of(parsers_of({"format": "svmlight"}), (SKLEARN / name).read_bytes())
    assert len(rows) == X.shape[0] > 0
    for (labels, _, features), row, label in zip(rows, X, y, strict=True):
        assert sorted(map(float, labels)) == list(label if multilabel else [label])
        assert features == dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))


@pytest.mark.parametrize("file", sorted(PYARROW.glob("parquet/*")) + sorted(PYARROW.glob("feather/*")), ids=str)
def test_tables_of_pyarrow(file):
    assert conformance.read_table(file, file.parent.name) == ""


def test_numbers_of_python():
    support = pytest.importorskip("test.support")
    try:
        lines = Path(support.findfile("floating_points.txt", subdir="mathdata")).read_text().splitlines()
    except OSError:
        pytest.skip("this Python has no such file")
    texts = [line for line in lines if line and not line.startswith("#")]
    cases = list(conformance.numbers([[struct.pack(">d", float(text)).hex(), text] for text in texts]))
    assert len(cases) == len(texts) > 1000
    assert [case for case in cases if case[1]] == []


def test_json_that_python_refuses():
    documents = pytest.importorskip("test.test_json.test_fail")
    for number, text in enumerate(documents.JSONDOCS, 1):
        line = b'{"label": 1, "x": ' + text.encode() + b"}\n"
        accepted = [bool(conformance.accepted(line, drop=drop)) for drop in ("x", ())]
        assert accepted == [number in documents.SKIPS] * 2, text


@pytest.mark.skipif(FOLDER is None, reason="CONFORMANCE names no folder of test suites")
@pytest.mark.parametrize("name", conformance.SUITES)
def test_suites_of_others(name):
    folder = Path(FOLDER) / name
    if not folder.is_dir():
        pytest.skip(f"there is no {folder}")
    cases = list(conformance.SUITES[name](folder))
    assert len(cases) > 10
    assert [case for case in cases if case[1] and case[0] not in KNOWN] == []
