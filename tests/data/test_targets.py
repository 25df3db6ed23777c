"""Labels that are numbers: every format gives what Python's float does, in memory that their number does not grow."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.formats.lines import pieces
from confidently.data.formats.table import format_of
from confidently.data.label_kind import LabelKind, label_kind
from confidently.data.selection import columns_of_first
from tests.data.tables import write
from tests.data.test_cache import cached as cache_of
from tests.data.test_paths_of_processors import PATHS, numbering_of, reader_on

RNG = np.random.default_rng(5)
N = 1500
NUMBERS = RNG.normal(size=N) * 10.0 ** RNG.integers(-8, 9, size=N)
SPELLINGS = ("{!r}", "{:.3f}", "{:+.2e}", "{:.17g}", "{:.0f}")
TEXTS = [SPELLINGS[k % len(SPELLINGS)].format(y) for k, y in enumerate(NUMBERS.tolist())]
TARGETS = np.array([float(text) for text in TEXTS])
FRACTION = next(y for y in TARGETS.tolist() if not y.is_integer())
VALUES = RNG.integers(1, 9, size=N).tolist()


def lines_of(name):
    rows = list(zip(TEXTS, VALUES, strict=True))
    if name == "rows.jsonl":
        return [json.dumps({"label": float(y), "a": x}) for y, x in rows]
    pattern = {
        "rows.svm": "{} 1:{}", "rows.vw": "{} | a:{}", "rows.csv": "{},{}", "rows.tsv": "{}\t{}",
        "rows.txt": "{}\tword {}",
    }  # fmt: skip
    header = {"rows.csv": ["label,a"], "rows.tsv": ["label\ta"]}.get(name, [])
    return [*header, *(pattern[name].format(y, x) for y, x in rows)]


FORMATS = ("rows.svm", "rows.vw", "rows.csv", "rows.tsv", "rows.jsonl", "rows.txt")


def written(folder, name):
    file = folder / name
    if name.endswith(("parquet", "feather")):
        return write(file, {"label": TARGETS, "a": VALUES})
    file.write_text("".join(line + "\n" for line in lines_of(name)))
    return file


def rows_of(stream):
    """The targets, and the rows' values, of all batches; labels must be 0, and never named."""
    batches = list(stream)
    assert all(not batch.new_labels and batch.label_start is None for batch in batches)
    assert all(len(batch.labels) == len(batch.targets) == len(batch) and not batch.labels.any() for batch in batches)
    return np.concatenate([batch.targets for batch in batches]), np.concatenate([batch.values for batch in batches])


@pytest.mark.parametrize("name", [*FORMATS, "rows.parquet", "rows.feather"])
def test_targets_are_what_float_gives_however_the_bytes_come(tmp_path, name):
    file = written(tmp_path, name)
    for chunk_bytes, parsers in ((37, 0), (800, 1), (5000, 3), (1 << 20, None)):
        if chunk_bytes == 37 and not name.endswith(("svm", "csv")):
            continue  # which the others show slowly
        stream = open_stream(file, targets=True, chunk_bytes=chunk_bytes, parsers=parsers)
        assert stream.targets and not stream.multilabel
        assert np.array_equal(rows_of(stream)[0], TARGETS)


@given(st.lists(st.floats(-1e50, 1e50), min_size=1, max_size=30), st.integers(1, 40))
@settings(max_examples=60, deadline=None)
def test_every_path_of_the_processor_gives_what_float_does(numbers, chunk):
    text = "".join(f"{y!r} 1:1 3:0.5\n" for y in numbers).encode() * 3
    for path in PATHS:
        reader, found = reader_on(path, labels="target"), []
        numbering = numbering_of()
        for piece in pieces((text[a : a + chunk], 0) for a in range(0, len(text), chunk)):
            reader.parse(piece.begun, piece.text, piece.line)
            reader.number(numbering)
            found += [] if (targets := reader.take()["targets"]) is None else targets.tolist()
        assert found == numbers * 3


INVALID = [
    ("rows.svm", "1.5 1:1\nabc 1:1\n", "rows.svm, line 2, column 1: target 'abc' is not a number"),
    ("rows.svm", "1.5 1:1\n-nan 1:1\n", "rows.svm, line 2, column 1: target '-nan' is not finite"),
    ("rows.svm", "1.5 1:1\n1e51 1:1\n", "line 2, column 1: target '1e51' is above 1e50 in size"),
    ("rows.svm", "1.5 1:1\n1:1 2:1\n", "line 2: the row has no targets, expected one number"),
    ("rows.svm", "1.5 1:1\n2,5 1:1\n", "line 2: the row has 2 targets, expected one number"),
    ("rows.svm", "1.5 1:1\n2,,5 1:1\n", "line 2: the target is missing"),
    ("rows.vw", "1.5 | a\n | a\n", "line 2: the row has no targets"),
    ("rows.vw", "1.5 | a\n1:2 | a\n", "line 2, column 1: label '1:2' has a colon"),
    ("rows.csv", "label,a\n1.5,1\n,1\n", "line 3, column 'label': the target is missing"),
    ("rows.csv", 'label,a\n1.5,1\n"2,5",1\n', "line 3, column 'label': target '2,5' is not a number"),
    ("rows.csv", "label,a\n1.5,1\nNA,1\n", "line 3, column 'label': the target is missing, which is 'NA'"),
    ("rows.csv", "label,a\n1.5,1\n-inf,1\n", "line 3, column 'label': target '-inf' is not finite"),
    ("rows.jsonl", '{"label": 1.5}\n{"label": "x"}\n', "line 2, column 11: target 'x' is not a number"),
    ("rows.jsonl", '{"label": 1.5}\n{"label": null}\n', "line 2: the row has no target: nothing at the key 'label'"),
    ("rows.jsonl", '{"label": 1.5}\n{"label": [1, 2]}\n', "line 2: the row has 2 targets"),
    ("rows.txt", "1.5\ta\ninf\ta\n", "line 2, column 1: target 'inf' is not finite"),
]


@pytest.mark.parametrize("name, text, problem", INVALID)
def test_an_invalid_target_is_an_error_with_its_location_or_a_skipped_row(tmp_path, name, text, problem):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(DataError, match=problem):
        list(open_stream(file, targets=True))
    stream = open_stream(file, targets=True, on_error="skip")
    assert rows_of(stream)[0].tolist() == [1.5]
    assert stream.skipped == 1


@pytest.mark.parametrize("value, problem", [
    (None, "row 2, column 'label': the target is missing"),
    (float("nan"), "row 2, column 'label': the target is missing, which is 'nan'"),
    (float("inf"), "row 2, column 'label': target 'inf' is not finite"), (1e60, "is above 1e50"),
])  # fmt: skip
def test_an_invalid_target_of_a_table(tmp_path, value, problem):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"label": [1.5, value], "a": [1, 2]}), file)
    with pytest.raises(DataError, match=problem):
        list(open_stream(file, targets=True))
    assert rows_of(open_stream(file, targets=True, on_error="skip"))[0].tolist() == [1.5]


def test_numbers_in_strings_are_targets_and_lists_of_a_column_are_not(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    file = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"label": ["1.5", "-2e3"], "a": [1, 2]}), file)
    assert rows_of(open_stream(file, targets=True))[0].tolist() == [1.5, -2000.0]
    parquet.write_table(pa.table({"label": [[1.5], [2.0]], "a": [1, 2]}), file)
    with pytest.raises(DataError, match="expected one number per row"):
        list(open_stream(file, targets=True))
    (tmp_path / "rows.jsonl").write_text('{"label": "1.5"}\n{"label": true}\n{"label": [-2]}\n')
    assert rows_of(open_stream(tmp_path / "rows.jsonl", targets=True))[0].tolist() == [1.5, 1.0, -2.0]


def cached(path, to, **options):
    return cache_of(path, to, ReaderOptions(format=format_of([path]), normalize="none"), targets=True, **options)


@pytest.mark.parametrize("name", ["rows.svm", "rows.csv"])
def test_a_cache_keeps_targets(tmp_path, name):
    cache = cached(written(tmp_path, name), tmp_path / "cache")
    assert cached(tmp_path / name, tmp_path / "other", chunk_bytes=999).read_bytes() == cache.read_bytes()
    found, values = rows_of(open_stream(cache, targets=True))
    assert np.array_equal(found, TARGETS) and np.array_equal(values, VALUES)
    later = rows_of(open_stream(cache, targets=True, first_row=700))
    assert np.array_equal(later[0], TARGETS[700:]) and np.array_equal(later[1], VALUES[700:])
    ignored = list(open_stream(cache, ignore_labels=True))
    assert all(batch.targets is None and not len(batch.labels) for batch in ignored)
    with pytest.raises(DataError, match="a cache of labels that are numbers, expected classes; rebuild it"):
        list(open_stream(cache))


def test_a_cache_of_classes_has_no_targets(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n2 1:1\n")
    with pytest.raises(DataError, match="a cache of labels that are classes, expected numbers; rebuild it"):
        list(open_stream(cache_of(tmp_path / "rows.svm", tmp_path / "cache"), targets=True))


def test_shuffled_rows_keep_their_targets(tmp_path):
    file = written(tmp_path, "rows.csv")
    found, values = rows_of(open_stream(file, targets=True, normalize="none").shuffle(buffer=200, seed=3))
    assert not np.array_equal(found, TARGETS)
    assert sorted(zip(found.tolist(), values.tolist(), strict=True)) == sorted(zip(TARGETS, VALUES, strict=True))


def test_weights_and_targets(tmp_path):
    (tmp_path / "rows.vw").write_text("0.5 2 | a\n1.5 | a\n")
    [batch] = open_stream(tmp_path / "rows.vw", targets=True)
    assert batch.targets.tolist() == [0.5, 1.5] and batch.weights.tolist() == [2.0, 1.0]


def test_targets_are_no_labels(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    for options in ({"multilabel": True}, {"classes": ["1", "2"]}):
        with pytest.raises(ValueError, match="targets are numbers, not labels"):
            open_stream(tmp_path / "rows.svm", targets=True, **options)


@pytest.mark.parametrize("rows", [10, 700, 5000])
def test_the_columns_of_the_first_rows_do_not_depend_on_the_cut(tmp_path, rows):
    file = tmp_path / "rows.svm"
    file.write_text("".join(f"0.5 {k + 1}:1\n" for k in range(1000)))
    for chunk_bytes in (100, 3000, 1 << 20):
        n, batches = columns_of_first(open_stream(file, targets=True, chunk_bytes=chunk_bytes), rows)
        assert n == min(rows, 1000)
        assert np.array_equal(np.concatenate([batch.columns for batch in batches]), np.arange(1000))


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_that_are_not_integers_are_no_classes(tmp_path, name):
    file = written(tmp_path, name)
    assert label_kind([file], ReaderOptions(format=format_of([file]))) == LabelKind(fraction=FRACTION)


@pytest.mark.parametrize("labels, kind", [
    (range(3), LabelKind(integers=3, rows=3)), (["1", "1.0", "2e0"], LabelKind(integers=2, rows=3)),
    (["spam", "0.5"], LabelKind()),
    (["1"] * 999 + ["0.5"], LabelKind(fraction=0.5)), (["1"] * 1000 + ["0.5"], LabelKind(integers=1, rows=1000)),
])  # fmt: skip
def test_integers_and_words_may_be_classes(tmp_path, labels, kind):
    file = tmp_path / "rows.svm"
    file.write_text("".join(f"{label} 1:1\n" for label in labels))
    assert label_kind([file], ReaderOptions()) == kind


@pytest.mark.parametrize("label", ["label", "meta.label"])
def test_what_labels_are_does_not_depend_on_the_features(tmp_path, label):
    """These are read later, where an error in them is reported."""
    file = tmp_path / "rows.jsonl"
    file.write_text('{"label": 0.5, "meta": {"label": 0.5, "x": 1}, "text": "a b", "day": "2026-01-01", "x": 1e300}\n')
    reading = ReaderOptions(
        format="jsonl", label=label, weight="x", text="text", ngrams=(1, 2), dates="day", category="meta.x"
    )
    assert label_kind([file], reading) == LabelKind(fraction=0.5)
