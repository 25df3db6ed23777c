"""Compressed files: every kind, whole, in pieces, damaged, and larger than memory should ever hold."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pytest

from confidently.data import DataError, open_stream
from confidently.data.sources.source import read_chunks

pyarrow = pytest.importorskip("pyarrow")

TEXT = b"".join(b"%+d %d:1 %d:0.25\n" % ((-1) ** (i % 3), 1 + i % 7, 8 + i * i % 977) for i in range(5000))
PACK = {
    "gzip": lambda data: gzip.compress(data, mtime=0), "bzip2": bz2.compress, "xz": lzma.compress,
    "zstd": lambda data: pyarrow.compress(data, codec="zstd", asbytes=True),
    "lz4": lambda data: pyarrow.compress(data, codec="lz4", asbytes=True),
}  # fmt: skip
CHECKED = ("gzip", "bzip2", "xz")  # kinds that hold a sum of what they pack, whoever wrote them


def content(path, size):
    chunks = list(read_chunks(path, size))
    assert max(len(chunk.data) for chunk in chunks) <= max(size, 6)
    assert chunks[-1].bytes_read <= os.path.getsize(path)
    return b"".join(chunk.data for chunk in chunks)


@pytest.mark.parametrize("kind", PACK)
def test_kinds_are_recognised_by_content_and_may_have_members(tmp_path, kind):
    file = tmp_path / "a"
    padding = b"\0" * 100 if kind == "gzip" else b""  # as tapes have it
    file.write_bytes(PACK[kind](TEXT[:1001]) + PACK[kind](TEXT[1001:]) + padding)
    for size in (7, 1000, 1 << 20):
        assert content(file, size) == TEXT
    rows = [np.diff(batch.start).sum() for batch in open_stream(file)]
    assert sum(rows) == 10000


@pytest.mark.parametrize("kind", PACK)
def test_files_that_end_early_or_are_damaged(tmp_path, kind):
    file, packed = tmp_path / "a", PACK[kind](TEXT)
    for cut in (7, len(packed) // 2, len(packed) - 1):
        file.write_bytes(packed[:cut])
        with pytest.raises(DataError, match=f"^{file} is a truncated {kind} file"):
            content(file, 1000)
    file.write_bytes(packed[: len(packed) // 2] + bytes(100) + packed[len(packed) // 2 + 100 :])
    if kind in CHECKED:
        with pytest.raises(DataError, match=f"{kind} file"):
            content(file, 1000)
    file.write_bytes(packed + b"garbage, and more of it")
    with pytest.raises(DataError, match=f"(damaged|truncated) {kind} file"):
        content(file, 1000)


@pytest.mark.parametrize("kind", PACK)
def test_what_inflates_a_thousandfold_is_inflated_a_chunk_at_a_time(tmp_path, kind):
    file = tmp_path / "a"
    file.write_bytes(PACK[kind](b"1 1:1\n" * (1 << 18)))
    assert file.stat().st_size < 100_000
    total = 0
    for chunk in read_chunks(file, 10_000):
        assert len(chunk.data) <= 10_000
        total += len(chunk.data)
    assert total == 6 << 18


def test_a_frame_to_pass_over_is_told_by_the_suffix(tmp_path):
    for suffix, kind in (("zst", "zstd"), ("lz4", "lz4")):
        file = tmp_path / f"a.{suffix}"
        file.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + PACK[kind](TEXT))
        assert content(file, 1000) == TEXT
