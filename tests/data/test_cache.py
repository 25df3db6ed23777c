"""The binary cache: the same rows as the text, and one clear error for every byte that has changed."""

import json
import struct
import zlib

import numpy as np
import pytest

from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.batch import Batch, NewLabel
from confidently.data.cache import building as cache_module
from confidently.data.cache.building import CacheBuilder
from confidently.data.cache.file import CacheFileError, CacheWriter
from confidently.data.cache.origin import MAGIC, Origin, fingerprints, is_cache
from confidently.data.features import Features, NewFeatures, Strings
from tests.data.test_streams import SIZES, TASKS, assert_same, text_of, trained


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(cache_module, "BLOCK_ENTRIES", 400)
    monkeypatch.setattr(cache_module, "BLOCK_ROWS", 120)


def cached(path, to, reading=None, keep=(), targets=False, **options):
    origin = Origin(sources=fingerprints([path]), multilabel=options.get("multilabel"), targets=targets)
    with (
        open_stream(path, reading, keep=keep, targets=targets, **options) as stream,
        CacheBuilder(to, stream.reading, origin, stream.multilabel, keep) as builder,
    ):
        for batch in stream:
            builder.add(batch)
        builder.finish()
    return to


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("rule", ["arow", "iellip"])
def test_learning_from_a_cache_is_learning_from_the_text(tmp_path, rule, task):
    file = tmp_path / "rows.svm"
    file.write_bytes(text_of(TASKS[task]()))
    assert_same(trained(file, rule, average=True), trained(cached(file, tmp_path / "cache"), rule, average=True))


@pytest.mark.long("a cache for each cut of the bytes")
def test_the_file_does_not_depend_on_how_the_bytes_came(tmp_path):
    file = tmp_path / "rows.svm"
    for task in TASKS:
        file.write_bytes(text_of(TASKS[task]()))
        whole = cached(file, tmp_path / "whole").read_bytes()
        for size in SIZES:
            assert cached(file, tmp_path / "cache", chunk_bytes=size).read_bytes() == whole


def test_values_take_four_bytes_where_these_are_exact(tmp_path):
    file = tmp_path / "rows.svm"
    kinds = {}
    for value in ("0.5", "0.1", "1e99", "1e-320"):
        file.write_text(f"1 1:{value}\n-1 2:1\n")
        with open_stream(cached(file, tmp_path / "cache")) as stream:
            [batch] = stream
        kinds[value] = batch.values.dtype
        assert batch.values[0] == float(value)
        assert not batch.values.flags.writeable and batch.values.base is not None  # a view of the file
    assert kinds == {"0.5": np.float32, "0.1": np.float64, "1e99": np.float64, "1e-320": np.float64}


def rows_of(stream):
    """Every row as plain data, and the names of labels by number."""
    names, rows = [], []
    for batch in stream:
        names += [new.name for new in batch.new_labels]
        for i in range(len(batch)):
            entries = slice(batch.start[i], batch.start[i + 1])
            labels = batch.labels[i : i + 1]
            if batch.label_start is not None:
                labels = batch.labels[batch.label_start[i] : batch.label_start[i + 1]]
            assert labels.max(initial=-1) < len(names)
            rows.append((labels.tolist(), batch.columns[entries].tolist(), batch.values[entries].tolist()))
    return names, rows


@pytest.mark.parametrize("task", TASKS)
def test_reading_may_begin_anywhere(tmp_path, task):
    file = tmp_path / "rows.svm"
    file.write_bytes(text_of(TASKS[task]()))
    cache = cached(file, tmp_path / "cache")
    options = {"multilabel": task == "sets"}
    names, rows = rows_of(open_stream(file, **options))
    for first in (0, 1, 119, 120, 121, len(rows) - 1, len(rows)):
        for path, chunk_bytes in ((cache, 1 << 20), (file, 1 << 20), (file, 500)):
            found, rest = rows_of(open_stream(path, first_row=first, chunk_bytes=chunk_bytes, **options))
            assert rest == rows[first:]
            assert found == names or not rest
    for path in (cache, file):
        with pytest.raises(DataError, match="1 row before"):
            list(open_stream(path, first_row=len(rows) + 1, **options))


def test_caches_one_after_the_other_are_one_stream(tmp_path):
    paths = [tmp_path / "a.svm", tmp_path / "b.svm"]
    paths[0].write_text("x 1:1\ny 2:1\n")
    paths[1].write_text("z 3:0.1\ny 1:2\nx 2:1\n" * 100)
    caches = [cached(path, path.with_suffix(".cache")) for path in paths]
    assert rows_of(open_stream(caches)) == rows_of(open_stream(paths))
    with pytest.raises(DataError, match=r"a.cache is a cache file and .*b.svm is not"):
        open_stream([caches[0], paths[1]])


def test_labels_and_weights_are_what_is_asked_for(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("1,2 1:1\n2 2:1\n")
    cache = cached(file, tmp_path / "cache")
    [batch] = open_stream(cache, ignore_labels=True)
    assert len(batch.labels) == 0 and batch.label_start.tolist() == [0, 0, 0] and batch.new_labels == []
    with pytest.raises(DataError, match="cache, row 1: the row has 2 labels"):
        list(open_stream(cache, multilabel=False))
    weighed = Batch(
        np.ones(2), np.zeros(2, np.int32), np.arange(3), 1, np.zeros(2, np.int32), weights=np.array([1, 0.3])
    )
    plain = Batch(np.ones(1), np.zeros(1, np.int32), np.arange(2), 1, np.zeros(1, np.int32))
    plain.new_labels = [NewLabel("a", 0, "here")]
    with CacheBuilder(tmp_path / "weights", ReaderOptions(), Origin(sources=[]), False) as builder:
        builder.add(plain)
        builder.add(weighed)
        builder.finish()
    [batch] = open_stream(tmp_path / "weights")
    assert batch.weights.tolist() == [1, 1, 0.3]


def test_values_a_model_cannot_hold_are_refused(tmp_path):
    file = tmp_path / "rows.svm"
    file.write_text("1 1:1\n" * 200 + "1 1:1 2:1e20\n")
    cache = cached(file, tmp_path / "cache")
    assert sum(map(len, open_stream(cache))) == 201
    with pytest.raises(DataError, match=r"cache, row 201: a value above 1e\+10 in size"):
        list(open_stream(cache, largest=1e10))


def test_another_way_of_reading_is_refused(tmp_path, data):
    cache = cached(data, tmp_path / "cache")
    with pytest.raises(DataError, match="zero_based is False there, True here"):
        open_stream(cache, ReaderOptions(zero_based=True))
    with pytest.raises(ValueError, match="parsed already"):
        open_stream(cache, zero_based=True)
    with pytest.raises(DataError, match="does not keep 'tag'"):
        list(open_stream(cache, keep=["tag"]))


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.long("every byte"))])
def test_any_byte_that_has_changed_is_noticed(tmp_path, monkeypatch, step):
    file, cache = tmp_path / "rows.svm", tmp_path / "cache"
    file.write_bytes(text_of(TASKS["sets"]())[:3000].rpartition(b"\n")[0] + b"\n")
    content = cached(file, cache, multilabel=True).read_bytes()
    whole = rows_of(open_stream(cache, multilabel=True))
    monkeypatch.setattr("confidently.data.stream.in_background", lambda items, ahead: (item for item in items))
    for place in range(16, len(content), step):  # of another beginning it would be a text
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        cache.write_bytes(changed)
        with pytest.raises(CacheFileError, match="damaged cache file"):
            list(open_stream(cache, multilabel=True))
    for size in range(16, len(content), step):
        cache.write_bytes(content[:size])
        with pytest.raises(CacheFileError, match="damaged cache file"):
            list(open_stream(cache, multilabel=True))
    cache.write_bytes(content)
    assert rows_of(open_stream(cache, multilabel=True)) == whole


HEADER = {
    "reading": ReaderOptions().as_dict(), "multilabel": False, "keep": [],
    "origin": {"sources": [], "multilabel": None, "classes": [], "holdout": None},
}  # fmt: skip
DETAILS = {"first_row": 0, "rows": 2, "n_columns": 2, "largest": 1.0, "new_labels": [["a", 0, "here"]]}
ARRAYS = {
    "values": np.ones(2), "columns": np.array([0, 1], np.int32), "start": np.arange(3), "labels": np.zeros(2, np.int32),
}  # fmt: skip
SUMMARY = {"rows": 2, "skipped": 0, "skipped_examples": []}
MULTILABEL = {"header": {"multilabel": True}, "arrays": {"label_start": np.array([0, 1, 2])}}
KEPT = {
    "header": {"keep": ["id"]},
    "arrays": {"kept.id.text": np.zeros(3, np.uint8), "kept.id.start": np.array([0, 1, 3])},
}


def made_by_hand(path, header=(), arrays=(), details=(), summary=(), without=()):
    """Write a cache of two rows with some things changed, and right checksums."""
    writer = CacheWriter(path, HEADER | dict(header))
    given = ARRAYS | dict(arrays)
    writer.add({name: given[name] for name in given if name not in without}, DETAILS | dict(details))
    writer.finish(SUMMARY | dict(summary))
    return path


def merged(one, other):
    return {name: dict(one.get(name, ())) | dict(other.get(name, ())) for name in {*one, *other}}


SOUND = [
    {}, {"details": {"largest": 1e300}}, MULTILABEL, KEPT, {"arrays": {"weights": np.array([0, 1e9])}},
    {"arrays": {"values": np.ones(2, np.float32)}},
]  # fmt: skip
HUGE = np.iinfo(np.int64).max
DAMAGED = {
    "a column beyond those declared": {"arrays": {"columns": np.array([0, 7], np.int32)}},
    "a negative column": {"arrays": {"columns": np.array([-1, 1], np.int32)}},
    "fewer columns than declared": {"details": {"n_columns": 1 << 30}},
    "descending columns": {
        "arrays": {"columns": np.array([1, 0], np.int32), "start": np.array([0, 2, 2])}
    },
    "columns that are not integers": {"arrays": {"columns": np.array([0.0, 1.7])}},
    "columns of 64 bits": {"arrays": {"columns": np.arange(2)}},
    "start decreases": {"arrays": {"start": np.array([0, 3, 2])}},
    "start ends early": {"arrays": {"start": np.array([0, 1, 1])}},
    "start ends beyond": {"arrays": {"start": np.array([0, 1, 9])}},
    "start of one row": {"arrays": {"start": np.array([0, 2])}},
    "start without sign": {"arrays": {"start": np.arange(3, dtype=np.uint64)}},
    "an unknown label": {"arrays": {"labels": np.array([0, 1], np.int32)}},
    "a label beyond all": {"arrays": {"labels": np.array([0, 2**31 - 1], np.int32)}},
    "a negative label": {"arrays": {"labels": np.array([0, -1], np.int32)}},
    "too few labels": {"arrays": {"labels": np.array([0], np.int32)}},
    "labels of 64 bits": {"arrays": {"labels": np.zeros(2, np.int64)}},
    "a label before it is announced": {"details": {"new_labels": [["a", 1, "here"]]}},
    "a label announced behind the rows": {"details": {"new_labels": [["a", 0, ""], ["b", 2, ""]]}},
    "labels announced out of order": {
        "arrays": {"labels": np.array([1, 0], np.int32)}, "details": {"new_labels": [["a", 1, ""], ["b", 0, ""]]}
    },
    "lists of labels that decrease without sign": merged(
        MULTILABEL, {"arrays": {"label_start": np.array([0, 1 << 40, 2], dtype=np.uint64)}}
    ),
    "lists of labels that decrease": merged(MULTILABEL, {"arrays": {"label_start": np.array([0, 1 << 40, 2])}}),
    "lists of labels where there are none": {"arrays": {"label_start": np.array([0, 1, 2])}},
    "no lists of labels": {"header": {"multilabel": True}},
    "too many values": {"arrays": {"values": np.ones(3)}},
    "values that are integers": {"arrays": {"values": np.ones(2, np.int64)}},
    "NaN": {"arrays": {"values": np.array([1, np.nan])}},
    "infinity": {"arrays": {"values": np.array([1, np.inf])}},
    "infinity that is declared": {"arrays": {"values": np.array([1, np.inf])}, "details": {"largest": np.inf}},
    "a value above the largest declared": {"arrays": {"values": np.array([1, 1e300])}},
    "a largest value that is not a number": {"details": {"largest": np.nan}},
    "a negative weight": {"arrays": {"weights": np.array([1, -1.0])}},
    "a weight that is not a number": {"arrays": {"weights": np.array([1, np.nan])}},
    "a weight above all": {"arrays": {"weights": np.array([1, 1e10])}},
    "too few weights": {"arrays": {"weights": np.ones(1)}},
    "kept strings that decrease": merged(KEPT, {"arrays": {"kept.id.start": np.array([0, 4, 3])}}),
    "kept strings that are missing": {"header": {"keep": ["id"]}},
    "arrays that are missing": {"without": ["weights", "labels"]},
    "an array too many": {"arrays": {"more": np.ones(2)}},
    "features without names": {"arrays": {"row": np.zeros(1, np.int64)}},
    "rows that are missing": {"details": {"first_row": 1}},
    "rows that are not there": {"summary": {"rows": 3}},
    "more rows than bytes": {"details": {"rows": HUGE}, "summary": {"rows": HUGE}},
    "a huge number": {"details": {"first_row": 10**30}},
    "a number that is text": {"details": {"rows": "2"}},
    "rows that are true": {"details": {"rows": True}},
    "labels of the wrong kind": {"details": {"new_labels": [[["a"], 0, "here"]]}},
    "labels that are no text": {"details": {"new_labels": [["\ud800", 0, "here"]]}},
    "a new label too short": {"details": {"new_labels": [["a", 0]]}},
    "skipped rows of the wrong kind": {"summary": {"skipped": -1}},
    "examples of the wrong kind": {"summary": {"skipped_examples": [1]}},
    "reading of the wrong kind": {"header": {"reading": []}},
    "reading with an unknown format": {"header": {"reading": ReaderOptions().as_dict() | {"format": "\ud800"}}},
    "reading with columns of the wrong kind": {"header": {"reading": ReaderOptions().as_dict() | {"drop": [[1]]}}},
    "bits of the wrong size": {"header": {"reading": ReaderOptions().as_dict() | {"bits": 10**9}}},
    "sources of the wrong kind": {"header": {"origin": {"sources": [1]}}},
    "multilabel of the wrong kind": {"header": {"multilabel": 1}},
    "a header nested too deeply": {"header": {"keep": json.loads("[" * 900 + "]" * 900)}},
}  # fmt: skip


@pytest.mark.parametrize("change", SOUND)
def test_a_file_made_by_hand_is_read_if_it_is_sound(tmp_path, change):
    [batch] = open_stream(made_by_hand(tmp_path / "cache", **change))
    assert len(batch) == 2 and not batch.values.flags.writeable


@pytest.mark.parametrize("change", DAMAGED)
def test_a_file_made_by_hand_cannot_reach_beyond_its_arrays(tmp_path, change):
    cache = made_by_hand(tmp_path / "cache", **DAMAGED[change])
    with pytest.raises(CacheFileError, match=r"invalid: .") as error:
        list(open_stream(cache))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "content", [
        "[" * 100_000, '{"blocks": 1}', '{"blocks": [[0, 1]]}', "[]", "1", '{"a": \udc80}',
        *(f'{{"blocks": [[64, 0, 0, {{"values": [{kind}, 0]}}, {{}}]]}}' for kind in ("{}", "[]", "1", '"<f9"')),
    ]
)  # fmt: skip
def test_an_index_made_by_hand_is_refused(tmp_path, content):
    writer = CacheWriter(tmp_path / "cache", HEADER)
    writer.add(ARRAYS, DETAILS)
    index = content.encode(errors="surrogateescape")
    trailer = struct.pack("<QQI", writer.offset, len(index), zlib.crc32(index))
    writer.file.write(index + trailer + struct.pack("<I", zlib.crc32(trailer)) + MAGIC[::-1])
    writer.file.close()
    writer.partial.rename(tmp_path / "cache")
    with pytest.raises(CacheFileError, match="its index is invalid"):
        open_stream(tmp_path / "cache")


@pytest.mark.parametrize(("row", "key", "start", "columns"), [
    ([0, 2], [1, 2], [0, 1, 2], [0, 1]), ([1, 0], [1, 2], [0, 1, 2], [0, 1]), ([-1, 0], [1, 2], [0, 1, 2], [0, 1]),
    ([0, 0], [1], [0, 1, 2], [0, 1]), ([0, 0], [1, 1], [0, 1, 2], [0, 1]), ([0, 0], [1, 1 << 31], [0, 1, 2], [0, 1]),
    ([0, 0], [1, 2], [0, 2, 1], [0, 1]), ([0, 0], [1, 2], [0, 1, 3], [0, 1]), ([0, 0], [1, 2], [0, 1], [0, 1]),
    ([0], [1], [0, 2], [0, 1]),
])  # fmt: skip
def test_features_made_by_hand_are_checked(tmp_path, row, key, start, columns):
    with pytest.raises(CacheFileError, match="is invalid: "):
        list(open_stream(with_features(tmp_path / "cache", row, key, start, columns)))


def with_features(path, row, key, start, columns=(0, 1), blocks=1, **reading):
    """Write a cache with blocks of features, and then one of rows."""
    writer = CacheWriter(path, HEADER | {"reading": ReaderOptions(format="vw", **reading).as_dict()})
    names = {"names.text": np.zeros(2, np.uint8), "names.start": np.array(start)}
    for _ in range(blocks):
        writer.add({"row": np.array(row), "key": np.array(key, np.uint32), **names}, {})
    writer.add(ARRAYS | {"columns": np.array(columns, np.int32)}, DETAILS)
    writer.finish(SUMMARY)
    return path


@pytest.mark.parametrize("key", [[1], [1, 2, 3]])
def test_names_made_by_hand_are_as_many_as_keys(tmp_path, key):
    cache = with_features(tmp_path / "cache", [0] * len(key), key, [0, 1, 2], vocabulary=True)
    with pytest.raises(CacheFileError, match="is invalid: "):
        list(open_stream(cache))


def test_features_made_by_hand_have_rows(tmp_path):
    cache = with_features(tmp_path / "cache", [0, 0], [1, 2], [0, 1, 2], blocks=2)
    with pytest.raises(CacheFileError, match=r"the features of its block at .* have no rows"):
        list(open_stream(cache))


def test_a_cache_that_changes_while_it_is_read_is_one_error(tmp_path):
    """What was checked is not read again: batches keep their values, and later blocks are damaged."""
    file = tmp_path / "rows.svm"
    file.write_bytes(text_of(next(iter(TASKS.values()))()))
    content = cached(file, tmp_path / "cache").read_bytes()
    expected = [batch.values.copy() for batch in open_stream(tmp_path / "cache")]
    assert len(expected) > 2
    for changed in (b"", content[: len(content) // 3], b"\xff" * len(content)):
        (tmp_path / "cache").write_bytes(content)
        with open_stream(tmp_path / "cache", multilabel=False, parsers=0) as stream:
            first = next(stream)
            with open(tmp_path / "cache", "r+b") as writing:
                writing.truncate(len(changed))
                writing.write(changed)
            with pytest.raises(CacheFileError, match="have changed"):
                list(stream)
            assert np.array_equal(first.values, expected[0])


def test_nothing_is_there_before_it_is_whole(tmp_path, data):
    cache = tmp_path / "cache"
    with open_stream(data) as stream, CacheBuilder(cache, stream.reading, Origin(sources=[]), False) as builder:
        for batch in stream:
            builder.add(batch)
        assert not cache.exists()
        with pytest.raises(CacheFileError, match="being written by another process"):
            CacheWriter(cache, {})
    assert not list(tmp_path.glob("cache*"))


# --- features with names ---------------------------------------------------------------------------------------------

KEYS = np.array([50, 40, 30, 20, 10], dtype=np.uint32)


def named_cache(path, known=None):
    """Two batches over features a, b, c, d, e with the keys above; e comes with the second."""
    reading = ReaderOptions(format="vw", vocabulary=True, normalize="none")
    first = NewFeatures(np.array([0, 0, 1, 1]), KEYS[:4], Strings.of(list("abcd")))
    second = NewFeatures(np.array([0]), KEYS[4:], Strings.of(["e"]))
    one = np.zeros(2, np.int32)
    batches = [
        Batch(
            np.array([1.0, 2, 3, 4]), np.array([0, 1, 2, 3], np.int32), np.array([0, 2, 4]), 4, one, new_features=first
        ),
        Batch(np.array([5.0, 6, 7]), np.array([0, 4, 1], np.int32), np.array([0, 2, 3]), 5, one, new_features=second),
    ]
    with CacheBuilder(path, reading, Origin(sources=[]), True) as builder:
        for batch in batches:
            batch.label_start = np.zeros(3, np.int64)
            batch.labels = np.empty(0, np.int32)
            builder.add(batch)
        builder.finish()
    return path


def by_name(stream, features):
    """Rows as dicts by feature name."""
    rows = []
    for batch in stream:
        if batch.new_features is not None:
            features.add(batch.new_features)
        names = features.name_of()
        assert batch.n_columns <= len(features)
        for a, b in zip(batch.start[:-1], batch.start[1:], strict=True):
            assert (np.diff(batch.columns[a:b]) > 0).all()
            rows.append(
                {names[c]: x for c, x in zip(batch.columns[a:b].tolist(), batch.values[a:b].tolist(), strict=True)}
            )
    return rows


ROWS = [{"a": 1, "b": 2}, {"c": 3, "d": 4}, {"a": 5, "e": 6}, {"b": 7}]


@pytest.mark.parametrize("known", ["", "a", "abcde", "ba", "edcba", "xay", "xyz", "abcdex"])
def test_features_have_the_columns_of_those_known(tmp_path, known):
    cache, keys = named_cache(tmp_path / "cache"), dict(zip("abcdexyz", [*KEYS, 1, 2, 3], strict=True))
    n = len(known)
    features = Features(
        np.array([keys[name] for name in known], np.uint32), np.arange(n, dtype=np.int32), Strings.of(list(known))
    )
    shown = Features(features.key, features.column, features.names)
    with open_stream(cache, features=features, multilabel=True) as stream:
        assert by_name(stream, shown) == ROWS
    assert list(shown.names) == [*known, *(name for name in "abcde" if name not in known)]
    assert (shown.key == [keys[name] for name in shown.names]).all()
    with open_stream([cache, cache], features=features, multilabel=True) as stream:
        assert by_name(stream, Features(features.key, features.column, features.names)) == ROWS + ROWS


def test_a_cache_begun_with_features_knows_them_all(tmp_path):
    features = Features(KEYS[:2], np.array([1], np.int32), Strings.of(["b"]))
    new = NewFeatures(np.array([0]), KEYS[2:3], Strings.of(["c"]))
    batch = Batch(
        np.ones(2), np.array([1, 2], np.int32), np.array([0, 2]), 3, np.empty(0, np.int32), np.zeros(2, np.int64)
    )
    batch.new_features = new
    reading = ReaderOptions(format="vw")
    with CacheBuilder(tmp_path / "cache", reading, Origin(sources=[]), True, features=features) as builder:
        builder.add(batch)
        builder.finish()
    [found] = open_stream(tmp_path / "cache", multilabel=True)
    assert (found.new_features.key == KEYS[:3]).all() and list(found.new_features.names) == ["", "b", "c"]
    [found] = open_stream(tmp_path / "cache", multilabel=True, features=features)
    assert (found.new_features.key == KEYS[2:3]).all() and found.columns.tolist() == [1, 2]


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command(ok, data, tmp_path):
    cache, one, two = tmp_path / "data.cache", tmp_path / "one.cw", tmp_path / "two.cw"
    result = json.loads(ok("cache", data, "-o", cache, "--json"))
    assert result["rows"] == 300 and result["bytes"] == cache.stat().st_size and is_cache(cache)
    ok("train", data, "--rule=arow", "-q", "-o", one)
    ok("train", cache, "--rule=arow", "-q", "-o", two)
    assert one.read_bytes() == two.read_bytes()
    for command in (["predict", one, "--proba"], ["evaluate", one]):
        assert ok(*command, data) == ok(*command, cache)
    assert "300" in ok("cache", data, "-o", cache)


def test_a_cache_is_built_again_when_the_data_have_changed(ok, call, data, tmp_path):
    cache, model = tmp_path / "data.cache", tmp_path / "m.cw"
    ok("train", data, "--rule=arow", "-q", "--cache", cache)
    before = cache.stat()
    ok("train", data, "--rule=arow", "-q", "--cache", cache)
    assert cache.stat() == before or cache.stat().st_ino == before.st_ino
    ok("train", data, "--rule=arow", "-q", "--cache", cache, "--zero-based")
    assert cache.stat().st_ino != before.st_ino
    data.write_text(data.read_text() + "-1 1:1\n")
    result = json.loads(ok("train", data, "--rule=arow", "-q", "--cache", cache, "--json", "--passes", 2, "-o", model))
    assert result["rows"] == 301
    assert {path.name for path in tmp_path.iterdir()} == {"data.svm", "data.cache", "m.cw"}
    content = bytearray(cache.read_bytes())
    content[len(content) // 2] ^= 1
    cache.write_bytes(content)
    code, _, err = call("train", data, "--rule=arow", "-q", "--cache", cache)
    assert code == 2 and "damaged cache file" in err and err.count("\n") == 1
