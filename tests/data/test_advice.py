"""Data that can be read but are perhaps not meant as they are read: a warning, in one sentence."""

import json
import random
import re
import warnings

import numpy as np
import pytest

from confidently import OnlineClassifier, _core
from confidently.data import DataError, DataWarning, open_stream
from tests.command_line import here
from tests.data.tables import said, write

TEXTS = [f"message number {k} about the weather of day {k * 7}" for k in range(200)]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_texts_are_read_as_their_words(tmp_path, suffix):
    labels, places = [k % 2 for k in range(200)], [f"place {k % 50} with a long long name" for k in range(200)]
    table = {"label": labels, "text": TEXTS, "place": places, "n": range(200)}
    table["name"] = [f"name {k}" for k in range(200)]
    file = write(tmp_path / f"a.{suffix}", table)
    [message] = said(file, multilabel=False)
    assert message.startswith("column 'text': text, read as its words; use --category text ")
    for how in ({"text": "text"}, {"text": "text", "ngrams": (1, 2), "analyzer": "char"}, {"drop": "text"}):
        assert not said(file, multilabel=False, **how)
    assert not said(file, multilabel=False, category=("text",))
    [batch] = open_stream(file, multilabel=False, text="text")
    names = set(batch.new_features.names)
    assert {"text:message", "place=place 3 with a long long name", "name=name 7", "n"} < names
    assert not said(write(tmp_path / f"b.{suffix}", {"label": labels[:19], "text": TEXTS[:19]}), multilabel=False)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_long_values_without_words_taken_as_categories(tmp_path, suffix):
    long = [f"/{k:020x}/{k * k:020x}" for k in range(200)]
    file = write(tmp_path / f"a.{suffix}", {"label": [k % 2 for k in range(200)], "path": long})
    [message] = said(file, multilabel=False)
    assert "column 'path' has 200 different long values in the first 200 rows" in message
    assert "--text path" in message and "--drop path" in message


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_names_of_rows_taken_as_categories(tmp_path, suffix):
    columns = {
        "label": [k % 2 for k in range(1500)],
        "customer": [f"c{k}" for k in range(1500)],
        "town": [f"town {k % 1300}" for k in range(1500)],
    }
    file = write(tmp_path / f"a.{suffix}", columns)
    [message] = said(file, multilabel=False)
    assert message.startswith("column 'customer' has 1,") and "different values in the first 1,500 rows" in message
    assert "--drop customer" in message
    assert not said(file, multilabel=False, drop="customer")
    assert not said(file, multilabel=False, category="customer")
    few = write(tmp_path / f"b.{suffix}", {name: values[:900] for name, values in columns.items()})
    assert not said(few, multilabel=False)


def write_rows(folder, rows):
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_prediction_warns_of_what_training_had(tmp_path):
    file = write_rows(tmp_path, [{"body": "a b"}] * 20)
    assert said(file, ignore_labels=True, freeze=True, drop="id", weight="w", label="y") == []
    [message] = said(file, ignore_labels=True, freeze=True, text="text", drop="id")
    assert "no column 'text' (--text)" in message


@pytest.mark.parametrize(("name", "how", "hint"), [
    ("a.tsv", {}, "not a header, name the columns with --columns, or read a label, a tab and text with --format text)"),
    ("a.csv", {}, "with --label; there are 1, some text (if this is a row and not a header, name the columns with --c"),
    ("a.csv", {"columns": ("z", "x")}, "name it with --label; there are z, x"),
    ("a.csv", {"ignore_labels": True, "text": "x"}, "has no column 'x'; there are 1, some text (if this is a row and"),
])  # fmt: skip
def test_tables_without_a_header_get_a_hint(tmp_path, name, how, hint):
    (tmp_path / name).write_text("1\tsome text\n0\tmore\n" if name == "a.tsv" else "1,some text\n0,more\n")
    with pytest.raises(DataError) as error:
        list(open_stream(tmp_path / name, **how))
    assert hint in str(error.value)


@pytest.mark.parametrize(
    ("name", "mark", "typed"), [("a.csv", ";", "';'"), ("a.csv", "\t", "tab"), ("a.tsv", ",", "','")]
)
def test_cells_that_are_separated_otherwise_get_a_hint(tmp_path, name, mark, typed):
    (tmp_path / name).write_text(f"x{mark}label\nu{mark}v\n")
    expected = "\t" if name == "a.tsv" else ","
    hint = f"(cells seem to be separated by {mark!r}, expected {expected!r}; use --delimiter {typed})"
    with pytest.warns(DataWarning, match=re.escape(hint)), pytest.raises(DataError, match=re.escape(hint)):
        list(open_stream(tmp_path / name, delimiter=expected))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_lines_of_json_are_told_from_a_header(tmp_path, name):
    (tmp_path / name).write_text('{"label": "u", "x": 1}\n')
    delimiter = ";" if name == "a.csv" else "\t"
    hint = f"(this line is JSON: use --format jsonl; for a model that reads {name[2:]}, convert the file)"
    with pytest.raises(DataError, match=re.escape(hint)):
        list(open_stream(tmp_path / name, delimiter=delimiter))


def test_what_has_labels_has_a_header(tmp_path):
    (tmp_path / "a.csv").write_text("label,x\n1,some text\n")
    with pytest.raises(DataError, match=r"has no column 'z'; there are label, x$"):
        list(open_stream(tmp_path / "a.csv", text="z"))


def test_several_keeps_are_all_kept(ok, tmp_path):
    file, model = write_rows(tmp_path, [{"label": k % 2, "x": k, "id": f"i{k}"} for k in range(12)]), "m.cw"
    ok("train", file, "--rule=arow", "-q", "--drop", "id", "-o", tmp_path / model)
    lines = ok("predict", tmp_path / model, file, "--keep", "id", "--keep", "label, x").splitlines()
    assert lines[0] == "id\tlabel\tx\tclass" and lines[3].startswith("i2\t0\t2\t")


SORTED = (
    "rows are sorted by label, which changes 2 times in 2,100 rows, compared with about 1,400 times in random order"
)


@pytest.mark.parametrize("command", ["train", "compare"])
def test_rows_sorted_by_label(tmp_path, command):
    """In random order a row of three classes differs from the one before with a chance of 2/3."""
    rows = [f"{k} 1:{k + 1}\n" for k in range(3) for _ in range(700)]
    file = tmp_path / "a.svm"
    options = {"compare": ("--rules", "arow,pa"), "train": ("--no-shuffle", "--passes", "2", "-o", tmp_path / "a.cw")}
    file.write_text("".join(rows))
    assert here(command, file, *options[command]).stderr.count(SORTED) == 1
    random.Random(0).shuffle(rows)
    file.write_text("".join(rows))
    assert "sorted" not in here(command, file, *options[command]).stderr


@pytest.mark.parametrize(("ones", "zeros"), [(3000, 0), (3000, 40), (9, 9)])
def test_too_little_to_call_it_sorted(tmp_path, ones, zeros):
    file = tmp_path / "a.svm"
    file.write_text("1 1:1\n" * ones + "0 1:1\n" * zeros)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        OnlineClassifier().fit_stream(open_stream(file), classes=[0, 1])


@pytest.mark.parametrize("multilabel", [False, True])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_fit_warns_of_rows_sorted_by_label(method, multilabel):
    label = np.repeat([0, 1, 2], 700)
    X, y = np.random.default_rng(0).random((2100, 2)), np.eye(3, dtype=int)[label] if multilabel else label
    order = np.random.default_rng(0).permutation(2100)
    options = {} if method == "fit" or multilabel else {"classes": [0, 1, 2]}

    def messages(X, y, **parameters):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            getattr(OnlineClassifier(**parameters), method)(X, y, **options)
        return [str(one.message) for one in found]

    sorted_messages = messages(X, y, shuffle=False)
    assert len(sorted_messages) == (not multilabel) and all(one.startswith(SORTED) for one in sorted_messages)
    assert not messages(X[order], y[order])
    if method == "fit":
        assert not messages(X, y, shuffle=True, random_state=0)


@pytest.mark.parametrize("suffix", ["svm", "txt", "jsonl", "csv", "vw"])
def test_a_model_is_no_data(suffix, ok, call, tmp_path):
    file, model = tmp_path / "rows.csv", tmp_path / f"m.{suffix}"
    file.write_text("label,x\n" + "a,1\nb,3\n" * 5)
    ok("train", file, "--rule=arow", "-q", "-o", model)
    for command in (["train", model, "--rule=arow"], ["predict", model, model], ["evaluate", model, model]):
        code, out, err = call(*command)
        assert code == 2 and out == "" and err.count("\n") == 1
        assert f"{model} is a model, expected data" in err


@pytest.mark.parametrize(
    ("rows", "labels", "warns"), [(300, 300, True), (300, 151, True), (300, 150, False), (199, 199, False)]
)
def test_an_id_column_as_label_warns_before_training(tmp_path, recwarn, rows, labels, warns):
    path = tmp_path / "data.csv"
    path.write_text("id,x\n" + "".join(f"u{k % labels},{k}\n" for k in range(rows)))
    with open_stream(path, label="id") as stream:
        assert len(next(stream)) == rows
    expected = [f"{labels} of the first {rows} rows have a new label; is it an id?"] if warns else []
    assert [str(one.message).partition("?")[0] + "?" for one in recwarn] == expected


@pytest.mark.parametrize("n_labels", [1, 2, 5])
def test_changes_of_labels_however_they_are_cut(n_labels):
    labels = np.random.default_rng(n_labels).integers(n_labels, size=3000).astype(np.int32)
    order = _core.LabelOrder()
    for part in np.split(labels, [0, 1, 2, 1000, 1000, 2999]):
        order.add(part)
    assert order.rows == 3000
    assert order.changes == np.count_nonzero(np.diff(labels))
    np.testing.assert_array_equal(order.counts, np.bincount(labels))
