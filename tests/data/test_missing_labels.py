"""A row without a label is an error, or left out by request; it does not make rows multilabel."""

import warnings

import numpy as np
import pytest

from confidently.data import DataError, open_stream
from tests.data import tables

SUFFIXES = ["csv", "tsv", "jsonl", "parquet", "feather", "svm", "vw"]
LABELS = ["a", "b", "a", None, "b", "a", None, "b"]


def write(path, labels=LABELS):
    if path.suffix in (".svm", ".vw"):
        line = "{} 1:{}\n" if path.suffix == ".svm" else "{} | x:{}\n"
        path.write_text("".join(line.format(label or "", k + 1) for k, label in enumerate(labels)))
        return path
    return tables.write(path, {"label": labels, "x": range(1, len(labels) + 1)})


def rows_of(path, **options):
    """Labels by name, and the values of the only feature."""
    names, labels, values = [], [], []
    with open_stream(path, normalize="none", **options) as stream:
        for batch in stream:
            names += [new.name for new in batch.new_labels]
            labels += [names[k] for k in batch.labels]
            values += batch.values.tolist()
    return labels, values, stream


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_label_is_an_error_that_names_the_row_and_the_remedy(tmp_path, suffix):
    path = write(tmp_path / f"rows.{suffix}")
    row = {"csv": "line 5", "tsv": "line 5", "parquet": "row 4", "feather": "row 4"}.get(suffix, "line 4")
    for multilabel in (None, False):
        with pytest.raises(DataError, match=f"^{path}, {row}: the row has no label.*--missing-label skip") as error:
            list(open_stream(path, multilabel=multilabel))
        assert "--multilabel" in str(error.value)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("multilabel", [None, False, True])
def test_rows_without_a_label_are_left_out_by_request(tmp_path, suffix, multilabel):
    path = write(tmp_path / f"rows.{suffix}")
    labels, values, stream = rows_of(path, missing_label="skip", multilabel=multilabel)
    assert labels == [label for label in LABELS if label]
    assert values == [k + 1.0 for k, label in enumerate(LABELS) if label]
    assert stream.skipped == LABELS.count(None) and stream.multilabel == (multilabel is True)
    assert all("label" in text for text in stream.skipped_examples)
    assert sum(map(len, open_stream(path, missing_label="skip", ignore_labels=True))) == len(LABELS)


@pytest.mark.parametrize("suffix", ["csv", "svm", "vw", "parquet"])
def test_one_missing_label_among_many_rows_does_not_make_them_multilabel(tmp_path, suffix):
    labels = ["a", "b"] * 1950
    for at in (10, 2000):  # among the rows that decide, and behind them
        labels[at] = None
        with pytest.raises(DataError, match="the row has no label, expected one"):
            list(open_stream(write(tmp_path / f"rows.{suffix}", labels), chunk_bytes=2000))
        labels[at] = "a"


@pytest.mark.parametrize("first", [None, "a"])
def test_sets_of_labels_may_be_empty_if_one_has_several(tmp_path, first):
    path = tmp_path / "rows.csv"
    path.write_text(f'label,x\n{first or ""},1\n"a,b",2\n,3\n"a,c",2\n"b,c",2\n')
    stream = open_stream(path)
    assert stream.multilabel
    counts = np.concatenate([np.diff(batch.label_start) for batch in stream]).tolist()
    assert counts == [int(first is not None), 2, 0, 2, 2]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "svm"])
def test_missing_targets(tmp_path, suffix):
    path = write(tmp_path / f"rows.{suffix}", [1.5, 2.5, None, 3.0])
    with pytest.raises(DataError, match="--missing-label skip"):
        list(open_stream(path, targets=True))
    stream = open_stream(path, targets=True, missing_label="skip")
    assert [y for batch in stream for y in batch.targets] == [1.5, 2.5, 3.0] and stream.skipped == 1


def test_other_invalid_rows_are_errors_still(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,x\n,1\na,2,3\n")
    with pytest.raises(DataError, match="line 3: the row has 3 cells, expected 2"):
        list(open_stream(path, missing_label="skip"))


@pytest.mark.parametrize("name", ["NA", "?", "null", "None"])
def test_a_word_for_a_missing_label_is_said(tmp_path, name):
    path = write(tmp_path / "rows.csv", ["a", "b", name])
    with pytest.warns(UserWarning, match=f"the label '.{name[1:]}' .*line 4.* is a class of its own"):
        assert rows_of(path)[0] == ["a", "b", name]
    with warnings.catch_warnings(action="error"):
        rows_of(path, classes=("a", "b", name))


def test_the_option_is_checked(tmp_path):
    with pytest.raises(ValueError, match="unknown missing_label 'drop'; expected one of error, skip"):
        open_stream(write(tmp_path / "rows.csv"), missing_label="drop")
