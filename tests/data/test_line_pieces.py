"""Files that compiled code reads itself give the rows, messages and positions of those that Python reads."""

import gzip
import os
import random

import pytest
from numpy.testing import assert_array_equal

from confidently.data import DataError, open_stream
from confidently.data.formats import lines
from confidently.data.formats.lines import pieces_of_file
from confidently.data.selection import joined


def same_rows(ours, theirs):
    ours, theirs = joined(ours), joined(theirs)
    for name in ("values", "columns", "start", "labels", "n_columns"):
        assert_array_equal(getattr(ours, name), getattr(theirs, name))
    assert [(new.name, new.row) for new in ours.new_labels] == [(new.name, new.row) for new in theirs.new_labels]


@pytest.fixture
def large(tmp_path):
    chance = random.Random(0)
    path = tmp_path / "rows.svm"
    rows = (
        f"{chance.choice('ab')} " + " ".join(f"{k}:{chance.random():.4f}" for k in range(1, chance.randrange(2, 90)))
        for _ in range(1000)
    )
    path.write_text("\n".join(rows))  # the last line lacks its end
    return path


@pytest.mark.parametrize("text", ["a 1:1\nb 2:1\n", "a 1:1\nb 2:1", "\n", "a", "a\r\n\r\nb\n\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pieces_are_whole_lines_with_their_numbers(tmp_path, text, size):
    path = tmp_path / "rows"
    path.write_bytes(text.encode())
    with open(path, "rb") as file:
        found = [(piece.line, piece.bytes_read) for piece in pieces_of_file(file.fileno(), size)]
    lines, read = zip(*found, strict=True)
    assert lines[0] == 1 and list(lines) == sorted(set(lines)) and lines[-1] <= text.count("\n") + 1
    assert list(read) == sorted(read) and read[-1] == len(text)
    if size == 1:
        assert len(found) == len(text.splitlines())
    if size == 100:
        assert len(found) == 1 + (not text.endswith("\n") and "\n" in text)


@pytest.mark.long("a large file in chunks of 17 bytes")
@pytest.mark.few(1)
@pytest.mark.parametrize("chunk_bytes", [1 << 20, 1000, 17])
@pytest.mark.parametrize("parsers", [None, 0, 1])
def test_rows_are_those_of_chunks_that_python_reads(large, monkeypatch, chunk_bytes, parsers):
    how = {"chunk_bytes": chunk_bytes, "parsers": parsers}
    ours = list(open_stream(large, **how))
    packed = large.with_suffix(".svm.gz")
    packed.write_bytes(gzip.compress(large.read_bytes()))
    monkeypatch.setattr(lines, "pieces_of_file", None)  # which compressed files do not need
    same_rows(ours, list(open_stream(packed, **how)))


@pytest.mark.parametrize("chunk_bytes", [1 << 20, 300, 1])
@pytest.mark.parametrize("end", ["\n", ""])
def test_errors_are_those_of_chunks_that_python_reads(tmp_path, chunk_bytes, end):
    text = "\n".join(["a 1:1", "b 2:1"] * 400 + ["a 1:x"]) + end
    path, packed = tmp_path / "rows.svm", tmp_path / "rows.svm.gz"
    path.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    said = []
    for file in (path, packed):
        with pytest.raises(DataError) as error:
            list(open_stream(file, chunk_bytes=chunk_bytes))
        said.append(str(error.value).removeprefix(os.fspath(file)))
    assert said[0] == said[1] and said[0].startswith(", line 801, column 3: feature '1:x'")


def test_a_long_line_is_read_whole_and_a_longer_one_refused(tmp_path):
    path = tmp_path / "rows.svm"
    features = " ".join(f"{k}:1" for k in range(1, 200_000))
    path.write_text(f"a 1:1\nb {features}\na 2:1\n")
    sizes = [n for batch in open_stream(path, chunk_bytes=1000) for n in (batch.start[1:] - batch.start[:-1]).tolist()]
    assert sizes == [1, 199_999, 1]
    with open(path, "wb") as file:
        file.write(b"a 1:1\n")
        file.truncate(100 << 20)
    with pytest.raises(DataError, match=r"rows.svm, line 2 is longer than 64 MiB; is this text with one row per line"):
        list(open_stream(path))


def test_the_memory_of_pieces_and_rows_serves_again(large):
    """What a caller keeps is not written to."""
    kept, copies, places = [], [], set()
    for k, batch in enumerate(open_stream(large, chunk_bytes=1000, parsers=1, multilabel=False)):
        places.add(batch.values.ctypes.data)
        if k % 7 == 0:
            kept.append(batch)
            copies.append((batch.values.copy(), batch.columns.copy(), batch.labels.copy()))
    assert len(places) < 60 + 2 * len(kept) < k  # blocks have several sizes
    for batch, (values, columns, labels) in zip(kept, copies, strict=True):
        assert (batch.values == values).all() and (batch.columns == columns).all() and (batch.labels == labels).all()


def test_an_error_of_the_system_is_one_of_its_kind(tmp_path):
    with open(tmp_path / "rows", "wb") as file, pytest.raises(OSError, match="Bad file descriptor"):
        next(pieces_of_file(file.fileno(), 100))  # not open for reading
