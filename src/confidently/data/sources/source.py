"""Bytes of a file, of standard input or of a URI, decompressed."""

from __future__ import annotations

import codecs
import io
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any, BinaryIO

from ..batch import DataError
from .compression import Chunk, compression_of, decompressed
from .encoding import UTF8, transcoded
from .file_range import FileRange
from .in_memory import InMemory
from .recognition import HEAD_BYTES, MODEL, SIZE_BYTES, binary_title

CHUNK_BYTES = 1 << 20  # large enough that work per batch does not matter
MAX_MAGIC_BYTES = 6
UTF16, UTF16_MARKS = "utf-16", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def display_name(path: str | os.PathLike[str]) -> str:
    """Return the name of an input in messages."""
    if isinstance(path, FileRange):
        return f"{path.path}, counted from the first line at or after byte {path.first:,}" if path.first else path.path
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def is_uri(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URI for pyarrow's file systems, such as ``s3://bucket/key``."""
    return "://" in os.fspath(path)


def size_of(path: str | os.PathLike[str]) -> int | None:
    """Return the bytes of a regular file or of rows in memory, or ``None`` for pipes and the like."""
    if isinstance(path, InMemory):
        return path.n_bytes
    if os.fspath(path) == "-" or not os.path.isfile(path):
        return None
    return os.path.getsize(path)


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file or rows in memory, which can be read several times."""
    return isinstance(path, InMemory) or os.path.isfile(path)


def bytes_of(files: Iterable[str | os.PathLike[str]]) -> int | None:
    """Return the bytes of all files together; ``None`` if one of them is unknown."""
    sizes = [size_of(file) for file in files]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def file_system(uri: str) -> tuple[Any, str]:
    """Return the file system of a URI and the path in it."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    try:
        found: tuple[Any, str] = FileSystem.from_uri(uri)
    except (ArrowException, ValueError) as error:
        raise DataError(f"{uri} cannot be read: {error}") from None
    return found


class _Pipe:
    """A pipe whose first bytes were peeked at and are read again."""

    def __init__(self, file: Any) -> None:
        self.file, self.ahead, self.peeking = file, bytearray(), True
        self.at = 0  # bytes that were peeked at may be peeked at again

    def __enter__(self) -> _Pipe:
        self.at = 0
        return self

    def __exit__(self, *error: object) -> None:
        if not self.peeking:
            self.file.close()
        self.peeking = False

    def read(self, n: int) -> bytes:
        if self.at < len(self.ahead):
            data = bytes(self.ahead[self.at : self.at + n])
            if self.peeking:
                self.at += len(data)
            else:
                del self.ahead[: len(data)]
            return data
        more: bytes = self.file.read(n)
        if self.peeking:
            self.ahead += more
            self.at = len(self.ahead)
        return more


_PEEKED: dict[str, _Pipe] = {}  # pipes, by path, until they are opened again


def peek_chunks(path: str | os.PathLike[str], encoding: str) -> Generator[Chunk]:
    """Yield the first chunks of :func:`read_chunks`, whose next call yields them again."""
    with peeked(path):
        yield from read_chunks(path, encoding=encoding)


@contextmanager
def peeked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let the bytes of a path that are read within the context be read again after it, even from a pipe."""
    if not is_uri(path) and size_of(path) is None:
        key = os.fspath(path)
        if key not in _PEEKED:
            _PEEKED[key] = _Pipe(opened(path))
        _PEEKED[key].peeking = True
    yield


def forget_peeked(path: str | os.PathLike[str]) -> None:
    """Close a pipe that was peeked at, if what comes after will not be read."""
    if (pipe := _PEEKED.pop(os.fspath(path), None)) is not None:
        pipe.file.close()


def _opened_again(path: str | os.PathLike[str]) -> IO[bytes] | BinaryIO | _Pipe:
    """Open a path; a pipe that was peeked at yields the same bytes again."""
    pipe = _PEEKED.get(os.fspath(path))
    if pipe is None:
        return opened(path)
    if not pipe.peeking:
        del _PEEKED[os.fspath(path)]
    return pipe


def opened(path: str | os.PathLike[str]) -> IO[bytes] | BinaryIO:
    """Open a file, standard input, a URI or lines in memory to read bytes."""
    if isinstance(path, InMemory):
        assert isinstance(path.content, bytes)  # tables are not read as bytes
        return io.BytesIO(path.content)
    if is_uri(path):
        system, inside = file_system(os.fspath(path))
        return system.open_input_file(inside)
    standard_input = os.fspath(path) == "-"
    return open(0 if standard_input else path, "rb", buffering=0, closefd=not standard_input)


@contextmanager
def plain_file(path: str | os.PathLike[str], encoding: str) -> Iterator[IO[bytes] | None]:
    """Open a regular file whose bytes are text as they are, which compiled code may read; yield ``None`` for others.

    Raises
    ------
    OSError, DataError
        As :func:`read_chunks`.
    """
    if encoding != UTF8 or isinstance(path, FileRange | InMemory) or is_uri(path) or size_of(path) is None:
        yield None
        return
    with open(path, "rb", buffering=0) as file:
        name, head = display_name(path), file.read(HEAD_BYTES)
        _check_head(name, head)
        file.seek(0)
        yield file if compression_of(head, name) is None and not head.startswith(UTF16_MARKS) else None


def read_chunks(path: str | os.PathLike[str], chunk_bytes: int = CHUNK_BYTES, encoding: str = UTF8) -> Generator[Chunk]:
    """Yield the decompressed bytes of a file, a range of it, standard input (``"-"``) or a URI, as UTF-8 text.

    Text of the default encoding is not decoded here: its bytes stay as they are, unless a byte order mark says that it
    is UTF-16.

    Raises
    ------
    OSError
        If the file is missing, a directory, or not readable.
    DataError
        If it is empty, truncated, damaged, has an unsupported compression, or is not text of the encoding.
    """
    chunks = _decompressed(path, chunk_bytes)
    if encoding == UTF8 and not isinstance(path, FileRange):
        encoding, chunks = _marked(chunks)
    yield from chunks if encoding == UTF8 else transcoded(display_name(path), encoding, chunks)


def _marked(chunks: Iterator[Chunk]) -> tuple[str, Iterator[Chunk]]:
    """Return the encoding that a byte order mark names, and the same chunks."""
    held, begun = list[Chunk](), b""
    while len(begun) < len(codecs.BOM_UTF16) and (chunk := next(chunks, None)) is not None:
        held.append(chunk)
        begun += chunk.data
    return UTF16 if begun.startswith(UTF16_MARKS) else UTF8, chain(held, chunks)


def _decompressed(path: str | os.PathLike[str], chunk_bytes: int) -> Iterator[Chunk]:
    with _opened_again(path) as file:
        name = display_name(path)
        if isinstance(path, FileRange):
            yield from path.chunks(file, chunk_bytes)
            return
        head = file.read(chunk_bytes)
        while head and len(head) < MAX_MAGIC_BYTES and (more := file.read(1)):  # a pipe may give a byte at a time
            head += more
        _check_head(name, head)
        stored = _stored(file, head, chunk_bytes)
        compression = compression_of(head, name)
        yield from stored if compression is None else decompressed(name, compression, stored, chunk_bytes)


def _check_head(name: str, head: bytes) -> None:
    """Raise a ``DataError`` if first bytes are not those of data."""
    if not head:
        raise DataError(f"{name} is empty")
    if head[SIZE_BYTES:].startswith(MODEL):
        raise DataError(f"{name} is a model, expected data; put the model first: predict MODEL DATA")
    if (title := binary_title(name, head)) is not None:
        raise DataError(f"{name} is {title}, expected text; export it as CSV, or name its format with --format")
    if head.startswith(b"PK\x03\x04"):
        raise DataError(f"{name} is zip; use plain text or gzip, zstd, bzip2, lz4 or xz, or pipe it to -")


def _stored(file: IO[bytes] | BinaryIO | _Pipe, head: bytes, chunk_bytes: int) -> Iterator[Chunk]:
    done = len(head)
    yield Chunk(head, done)
    while data := file.read(chunk_bytes):
        done += len(data)
        yield Chunk(data, done)
