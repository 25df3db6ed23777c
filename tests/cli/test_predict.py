"""confidently predict: the requested columns, with the learner's values, in every format."""

import csv
import json

import numpy as np
import pytest

from confidently.cli.options.predictions import Requested
from confidently.cli.output.predictions import Abstained, ClassPredictions, Column
from confidently.cli.output.writers import writer
from confidently.data import open_stream
from confidently.data.features import Strings
from confidently.models.model import Model
from tests.command_line import rows

LABELS = [("-1", "+1"), ("a", "b", "c"), ("1,2", "2", "3,1")]
EVERYTHING = ("--proba", "--margin", "--std", "--variance", "--ranking")


@pytest.fixture(params=LABELS, ids=["two", "three", "sets"])
def trained(request, ok, tmp_path):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(200, request.param, d=6))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    return path, model


@pytest.mark.parametrize("top", [1, 2, 9])
def test_the_best_classes_have_the_numbers_of_all(ok, trained, top):
    path, model = trained
    everything = [json.loads(line) for line in ok("predict", model, path, *EVERYTHING, "--json").splitlines()]
    options = [option for option in EVERYTHING if option != "--ranking"]
    found = [json.loads(line) for line in ok("predict", model, path, *options, "--top", top, "--json").splitlines()]
    for best, whole in zip(found, everything, strict=True):
        assert best["ranking"] == whole["ranking"][:top] and len(best["ranking"]) == min(top, len(whole["ranking"]))
        for name in ("proba", "margin", "std", "variance"):
            if isinstance(whole[name], dict):
                expected = {f"top{k + 1}": whole[name][str(label)] for k, label in enumerate(best["ranking"])}
                assert best[name] == pytest.approx(expected)
            else:
                assert best[name] == whole[name]
    header = ok("predict", model, path, "--top", top, "--proba").splitlines()[0].split("\t")
    assert header[1:] == ["ranking", *(f"proba:top{k + 1}" for k in range(len(found[0]["ranking"])))]


def test_abstaining_below_a_probability(ok, tmp_path):
    path, model = tmp_path / "data.svm", tmp_path / "m.cw"
    path.write_text(rows(300, ("x", "y", "z"), d=4))
    ok("train", path, "--rule=arow", "-q", "-o", model)
    found = [json.loads(line) for line in ok("predict", model, path, "--proba", "--json").splitlines()]
    certain = [entry["proba"][entry["class"]] for entry in found]
    limit = float(np.median(certain))
    expected = [entry["class"] if p >= limit else "-" for entry, p in zip(found, certain, strict=True)]
    assert 0 < expected.count("-") < 300
    assert ok("predict", model, path, "--abstain", repr(limit)).splitlines() == expected
    assert ok("predict", model, path, "--abstain", 0) == ok("predict", model, path)


VALUES = ["plain", "a,b", 'say "yes"', "tab\there", "two\nlines", "", "100 %s", "ünï", "\r"]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_what_is_kept_comes_first_and_whole(trained, tmp_path, kind):
    path, model = trained[0], Model.load(trained[1])
    with open_stream(path, ignore_labels=True) as stream:
        batch = next(stream).rows(0, len(VALUES))
    batch.kept = {'100 % "x"': Strings.of(VALUES)}
    predictions = ClassPredictions(model, Requested(frozenset(["margin"]), keep=tuple(batch.kept)))
    out = tmp_path / "out"
    with writer(kind, str(out), predictions.columns, predictions.names) as file:
        file.write(predictions.of(batch))
        file.write(predictions.of(batch.rows(0, 0)))
    (name,) = batch.kept
    if kind == "parquet":
        table = pytest.importorskip("pyarrow.parquet").read_table(out)
        assert table[name].to_pylist() == VALUES and table.column_names[0] == name
    elif kind == "jsonl":
        assert [json.loads(line)[name] for line in out.read_text().splitlines()] == VALUES
    elif kind == "csv":
        with out.open(newline="") as file:
            header, *lines = csv.reader(file)
        assert header[0] == name and [line[0] for line in lines] == VALUES
    else:
        header, *lines = [line.split("\t") for line in out.read_text().splitlines()]
        assert [line[0] for line in lines] == [" ".join(v.splitlines()).replace("\t", " ") for v in VALUES]
        assert header[0] == name and len({len(line) for line in [header, *lines]}) == 1


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_input_that_breaks_off_leaves_no_output(ok, call, data, tmp_path, kind):
    pytest.importorskip("pyarrow")
    ok("train", data, "--rule=arow", "-q", "-o", tmp_path / "m.cw")
    (tmp_path / "bad.svm").write_text(rows(50) + "1 1:x\n")
    code, _, err = call("predict", tmp_path / "m.cw", tmp_path / "bad.svm", "-o", tmp_path / f"out.{kind}")
    assert code == 2 and "bad.svm, line 51" in err
    assert {path.name for path in tmp_path.iterdir()} == {"data.svm", "m.cw", "bad.svm"}


def test_parquet_row_groups_hold_many_batches(tmp_path, monkeypatch):
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("confidently.cli.output.writers.MIN_ROWS_PER_GROUP", 250)
    path = tmp_path / "x.parquet"
    with writer("parquet", str(path), [Column("class", None, "class")], [1, 2]) as file:
        for _ in range(6):
            file.write([[1, 2] * 49 + [Abstained([]), 2]])
    found = parquet.ParquetFile(path)
    assert [found.metadata.row_group(k).num_rows for k in range(found.num_row_groups)] == [300, 300]
    assert found.read()["class"].to_pylist() == ([1, 2] * 49 + [None, 2]) * 6
