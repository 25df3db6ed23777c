"""Streaming decompression: one chunk in memory, members and frames one after the other."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from ...wording import counted
from ..batch import DataError

MAGIC_BYTES = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
SUFFIXES = {".zst": "zstd", ".lz4": "lz4"}
SKIPPABLE = b"\x2a\x4d\x18"  # after any byte from 0x50 to 0x5f: a frame to skip, of zstd or of lz4


class Chunk(NamedTuple):
    """Decompressed bytes, and the number of stored bytes read by then."""

    data: bytes
    bytes_read: int


class Unpacker(NamedTuple):
    """A function that begins a member of a compressed file, and the error that a damaged one raises."""

    begin: Callable[[], Any]
    error: type[Exception]


def compression_of(head: bytes, name: str) -> str | None:
    """Return the compression of a file, by its first bytes; by its name if they are ambiguous."""
    for magic, kind in MAGIC_BYTES.items():
        if head.startswith(magic):
            return kind
    if head[1:4] == SKIPPABLE and head[0] & 0xF0 == 0x50:
        return next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), "zstd")
    return None


def decompressed(name: str, kind: str, stored: Iterable[Chunk], chunk_bytes: int) -> Iterator[Chunk]:
    """Yield the decompressed bytes, at most ``chunk_bytes`` at a time.

    Raises
    ------
    DataError
        If the stored bytes are damaged, or end in the middle of the data.
    """
    return _members(name, kind, stored, chunk_bytes) if kind in MEMBERS else _frames(name, kind, stored, chunk_bytes)


def _members(name: str, kind: str, stored: Iterable[Chunk], chunk_bytes: int) -> Iterator[Chunk]:
    unpacker, member, done = MEMBERS[kind](), None, 0
    for data, done in stored:
        while True:
            if member is None:
                data = data.lstrip(b"\0")  # padding between and after members
                if not data:
                    break
                if not _begins(data, kind):
                    raise DataError(f"{name} is a damaged {kind} file: other data follow, near byte {done}")
                member = unpacker.begin()
            try:
                text = member.decompress(data, chunk_bytes)
            except (unpacker.error, EOFError, OSError, ValueError) as error:
                raise DataError(f"{name} is a damaged {kind} file, near byte {done} ({error})") from None
            if text:
                yield Chunk(text, done)
            if member.eof:
                data, member = member.unused_data, None
                continue
            data = getattr(member, "unconsumed_tail", b"")
            if not data and getattr(member, "needs_input", True):
                break
    if member is not None:
        raise _truncated(name, kind, done)


def _begins(data: bytes, kind: str) -> bool:
    magic = next(magic for magic, of in MAGIC_BYTES.items() if of == kind)
    return magic.startswith(data[: len(magic)])


def _truncated(name: str, kind: str, done: int) -> DataError:
    return DataError(
        f"{name} is a truncated {kind} file: it ends after {counted(done, 'byte')}, in the middle of the data"
    )


def _gzip() -> Unpacker:
    from isal import isal_zlib

    return Unpacker(partial(isal_zlib.decompressobj, wbits=31), isal_zlib.error)


def _bzip2() -> Unpacker:
    import bz2

    return Unpacker(bz2.BZ2Decompressor, OSError)


def _xz() -> Unpacker:
    import lzma

    return Unpacker(partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), lzma.LZMAError)


MEMBERS = {"gzip": _gzip, "bzip2": _bzip2, "xz": _xz}  # imported only for such a file


class _Stored(io.RawIOBase):
    """Stored bytes as a file for pyarrow that counts the bytes read."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks, self.rest, self.done, self.at_end = iter(chunks), b"", 0, False

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self.rest:
            self.rest, self.done = next(self.chunks, Chunk(b"", self.done))
            self.at_end = not self.rest
        size = min(len(room), len(self.rest))
        room[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _frames(name: str, kind: str, stored: Iterable[Chunk], chunk_bytes: int) -> Iterator[Chunk]:
    import pyarrow

    source = _Stored(stored)
    with pyarrow.CompressedInputStream(pyarrow.PythonFile(source, mode="r"), kind) as file:
        while True:
            try:
                text = file.read(chunk_bytes)
            except (OSError, pyarrow.ArrowException) as error:
                if source.at_end:
                    raise _truncated(name, kind, source.done) from None
                raise DataError(f"{name} is a damaged {kind} file, near byte {source.done} ({error})") from None
            if not text:
                return
            yield Chunk(text, source.done)
