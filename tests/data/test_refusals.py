"""Refusals of the readers that no other test provokes."""

import os
import threading
from contextlib import suppress

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

import confidently
from confidently import data
from confidently.data import DataError, ReaderOptions, open_stream
from confidently.data.cache.building import CacheBuilder
from confidently.data.cache.file import PARTIAL, CacheFile, CacheFileError, CacheWriter
from confidently.data.cache.origin import Origin
from confidently.data.cache.reading import Cache
from confidently.data.memory.matrix import as_matrix


@pytest.mark.parametrize("module", [confidently, data])
def test_a_name_that_a_module_does_not_have(module):
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'nothing'"):
        _ = module.nothing


@pytest.mark.parametrize(("options", "problem"), [
    ({"format": "none"}, "unknown format 'none'; expected one of"),
    ({"format": "text", "analyzer": "none"}, "unknown analyzer 'none'; expected one of"),
    ({"on_error": -1}, "on_error must be 'stop', 'skip' or a number of rows >= 0, got -1"),
    ({"on_error": "pass"}, "on_error must be"),
])  # fmt: skip
def test_options_that_make_no_sense(tmp_path, options, problem):
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")
    with pytest.raises(ValueError, match=problem):
        open_stream(tmp_path / "rows.svm", **options)


@pytest.mark.parametrize(("rows", "message"), [
    (np.zeros(3), r"X must be two-dimensional \(rows, features\), got an array of shape \(3,\)"),
    (np.zeros((2, 3), complex), "Complex data not supported: features must be real numbers"),
])  # fmt: skip
def test_rows_in_memory_that_are_no_matrix_of_numbers(rows, message):
    with pytest.raises(ValueError, match=message):
        as_matrix(rows, "float64")


def test_parquet_from_a_pipe(tmp_path):
    def write():
        with suppress(BrokenPipeError):  # the reader may have gone
            (tmp_path / "pipe").write_bytes(b"PAR1")

    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(DataError, match="Parquet is read from its end, so it cannot be a pipe; use a file"):
        list(open_stream(tmp_path / "pipe", format="parquet"))
    writer.join()


def test_a_column_that_arrow_cannot_convert(tmp_path):
    words = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"], pa.string_view()))
    table = pa.table({"label": [1], "x": words})
    with ipc.new_file(tmp_path / "rows.feather", table.schema) as file:
        file.write_table(table)
    with pytest.raises(DataError, match="column 'x' cannot be read: "):
        list(open_stream(tmp_path / "rows.feather", text=["x"]))


def test_a_system_without_room_for_a_thread(tmp_path, monkeypatch):
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n")

    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(MemoryError, match="can't start new thread"):
        list(open_stream(tmp_path / "rows.svm"))


def test_what_is_no_cache(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:1\n")
    with pytest.raises(CacheFileError, match=r"rows.svm is not a cache file"):
        Cache(tmp_path / "rows.svm")


def test_a_cache_of_a_later_format(tmp_path):
    CacheWriter(tmp_path / "cache", {"format": 2}).finish({})
    with pytest.raises(CacheFileError, match="is a cache file of format 2; this version of confidently reads format 1"):
        open_stream(tmp_path / "cache")


def test_a_cache_without_rows(tmp_path):
    with CacheBuilder(tmp_path / "cache", ReaderOptions(), Origin(sources=[]), multilabel=False) as builder:
        builder.finish()
    with pytest.raises(DataError, match="cache has no rows"):
        list(open_stream(tmp_path / "cache"))


def test_a_header_that_json_cannot_hold_leaves_no_file(tmp_path):
    with pytest.raises(TypeError, match="not JSON serializable"):
        CacheWriter(tmp_path / "cache", {"keep": {1}})
    assert not (tmp_path / f"cache{PARTIAL}").exists()


@pytest.mark.parametrize(("change", "problem"), [
    (lambda blocks: [blocks[0]._replace(offset=blocks[0].offset + 64)], "the block at .* does not fit"),
    (lambda blocks: [blocks[0]._replace(bytes=blocks[0].bytes + 64)], "the block at .* does not fit"),
    (lambda blocks: [], "blocks are missing"), (lambda blocks: blocks * 2, "the block at .* does not fit"),
])  # fmt: skip
def test_an_index_whose_blocks_are_not_those_of_the_file(tmp_path, change, problem):
    writer = CacheWriter(tmp_path / "cache", {})
    writer.add({"values": np.ones(3)}, {})
    writer.blocks = change(writer.blocks)
    writer.finish({})
    with pytest.raises(CacheFileError, match=f"its index is invalid: {problem}"):
        CacheFile(tmp_path / "cache")
