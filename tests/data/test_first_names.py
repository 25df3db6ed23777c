"""Names in options that the rows of a file do not have: errors that name them, in every format with names."""

import gzip
import json
import os
import threading

import pytest

from confidently.data import DataError, open_stream
from confidently.data.formats.inference import infer_columns
from confidently.data.reading import ReaderOptions

ROWS = [{"label": k % 2, "text": "a b", "kind": k % 3, "id": k, "w": 1.5, "more": {"x": 1}} for k in range(30)]
THERE = "there are label, text, kind, id, w, more, more.x"
ASKED = {"text": "text", "category": "kind", "drop": "id", "weight": "w"}


def write(folder, rows=ROWS, packed=False):
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path = folder / f"{len(rows)}.jsonl{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def read(path, **options):
    return list(open_stream(path, multilabel=False, **options))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("use", "column"), ASKED.items())
def test_a_key_that_no_row_has(tmp_path, use, column, packed):
    file = write(tmp_path, ROWS[:1] + ROWS, packed)
    assert read(file, **ASKED)
    with pytest.raises(DataError) as error:
        read(file, **ASKED | {use: column + "s"})
    hint = f" (did you mean {column!r}?)" if len(column) > 1 else ""
    assert str(error.value) == f"{file}: no column {column + 's'!r} (--{use}) in the first 31 rows{hint}; {THERE}"


def test_a_list_of_names_that_is_one_name(tmp_path):
    with pytest.raises(DataError, match=r"no column 'id,w' \(--drop\) in the first 30 rows"):
        read(write(tmp_path), drop="id,w")


@pytest.mark.parametrize("rows", [999, 1000])
def test_a_key_in_the_first_thousand_rows(tmp_path, rows):
    file = write(tmp_path, [{"label": k % 2, "x": 1} for k in range(rows)] + [{"label": 1, "late": 3, "x": 2}])
    if rows < 1000:
        assert read(file, drop="late", chunk_bytes=100)
    else:
        with pytest.raises(DataError, match=r"'late' \(--drop\) in the first 1,000 rows; there are label, x$"):
            read(file, drop="late")


def test_paths_of_keys(tmp_path):
    row = {"label": 1, "items": [{"sku": "a"}, {"n": 2}], "at": [52.5, 13.4], "day": "2024-01-31", "o": {"a": {"b": 1}}}
    file = write(tmp_path, [row])
    for name in ("items", "items.sku", "items.n", "at.1", "o.a", "o.a.b"):
        assert read(file, drop=name, dates="day")
    assert read(file, drop="day.hour", dates="day")
    for name in ("items.0", "at.2", "b", "o.b"):
        with pytest.raises(DataError, match=f"no column '{name}' "):
            read(file, drop=name, dates="day")


def test_labels_that_no_multilabel_row_has(tmp_path):
    file = write(tmp_path, [{"labels": ["a"], "x": 1}] * 20)
    with pytest.raises(DataError, match=r"no column 'label' \(--label\) .* \(did you mean 'labels'\?\)"):
        list(open_stream(file, multilabel=True))
    assert list(open_stream(file, multilabel=True, label="labels"))


def test_what_to_keep_must_be_there_and_what_training_dropped_need_not(tmp_path):
    file = write(tmp_path, [{"body": "a b"}])
    trained = infer_columns([write(tmp_path)], ReaderOptions(format="jsonl", drop=("id",), weight="w"))
    assert list(open_stream(file, trained, ignore_labels=True, freeze=True))
    with pytest.raises(DataError, match=r"no column 'id' \(--keep\) in the first row; there are body"):
        list(open_stream(file, trained, ignore_labels=True, freeze=True, keep=["id"]))


def test_a_pipe_is_read_from_its_beginning(tmp_path):
    pipe = tmp_path / "rows.jsonl"
    os.mkfifo(pipe)
    for drop in ("id", "ids"):
        writer = threading.Thread(target=pipe.write_bytes, args=(write(tmp_path).read_bytes(),))
        writer.start()
        if drop == "id":
            assert sum(map(len, read(pipe, drop=drop, keep=("w",)))) == len(ROWS)
        else:
            with pytest.raises(DataError, match="no column 'ids'"):
                read(pipe, drop=drop)
        writer.join()


def test_namespaces_of_vw_text(tmp_path):
    file = tmp_path / "rows.vw"
    file.write_text("1 2.0 'tag|first x:1 y|second:2 z\n-1 | x\n")
    for name in ("first", "second", ""):
        assert read(file, drop=name)
        assert read(file, only=name)
    for option in ("drop", "only"):
        with pytest.raises(DataError, match=rf"no namespace 'seconds' \(--{option}\) in the first 2 rows .*'second'"):
            read(file, **{option: "seconds"})


def test_a_model_reads_rows_that_lack_its_names(tmp_path):
    """What a model stores was checked in training: rows to predict need not have a rare key."""
    reading = infer_columns([write(tmp_path)], ReaderOptions(format="jsonl", text=("text",)))
    again, file = ReaderOptions.from_dict(reading.as_dict()), write(tmp_path, [{"label": 1, "x": 1}])
    assert again.as_dict() == reading.as_dict() and list(open_stream(file, again))
    old = ReaderOptions.from_dict(reading.as_dict() | {"header": None})  # as models of earlier versions have it
    assert list(open_stream(file, old, freeze=True))
