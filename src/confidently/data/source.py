"""Bytes of a file or of standard input, decompressed, read in the background."""

from __future__ import annotations

import os
import queue
import threading
import zlib
from collections.abc import Generator, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from .batch import DataError

CHUNK_BYTES = 1 << 20  # large enough that what is done once a batch does not count
POLL_SECONDS = 0.1  # how often a thread that waits looks whether it is still needed
JOIN_SECONDS = 0.5  # parsing a chunk takes a hundredth of it; only a read that waits for input takes longer
GZIP_MAGIC = b"\x1f\x8b"
OTHER_MAGIC = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}


class Chunk(NamedTuple):
    """Some decompressed bytes, and how many stored bytes were read to get there."""

    data: bytes
    bytes_read: int


def display_name(path: str | os.PathLike[str]) -> str:
    """What messages call an input."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def size_of(path: str | os.PathLike[str]) -> int | None:
    """Bytes of a regular file; ``None`` for pipes and the like."""
    if os.fspath(path) == "-" or not os.path.isfile(path):
        return None
    return os.path.getsize(path)


def read_chunks(path: str | os.PathLike[str], chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The decompressed bytes of a file, or of standard input for ``"-"``.

    Raises
    ------
    OSError
        If the file is missing, a directory, or not ours to read.
    DataError
        If it is empty, a truncated or damaged gzip file, or compressed in another way.
    """
    with _opened(path) as file:
        name = display_name(path)
        head = file.read(chunk_bytes)
        while head and len(head) < len(GZIP_MAGIC) and (more := file.read(1)):  # a pipe may give a byte at a time
            head += more
        if not head:
            raise DataError(f"{name} is empty")
        for magic, kind in OTHER_MAGIC.items():
            if head.startswith(magic):
                raise DataError(f"{name} is {kind}; give plain text (UTF-8) or gzip, or pipe it decompressed to -")
        stored = _stored(file, head, chunk_bytes)
        yield from _inflate(name, stored, chunk_bytes) if head.startswith(GZIP_MAGIC) else stored


def _opened(path: str | os.PathLike[str]) -> BinaryIO:
    standard_input = os.fspath(path) == "-"
    return open(0 if standard_input else path, "rb", buffering=0, closefd=not standard_input)


def _stored(file: BinaryIO, head: bytes, chunk_bytes: int) -> Iterator[Chunk]:
    done = len(head)
    yield Chunk(head, done)
    while data := file.read(chunk_bytes):
        done += len(data)
        yield Chunk(data, done)


def _inflate(name: str, stored: Iterable[Chunk], chunk_bytes: int) -> Iterator[Chunk]:
    """Gzip members one after the other; no more than ``chunk_bytes`` are inflated at a time."""
    member, done = None, 0
    for data, done in stored:
        while data:
            if member is None:
                data = data.lstrip(b"\0")  # padding between and after members
                if not data:
                    break
                member = zlib.decompressobj(wbits=31)
            try:
                text = member.decompress(data, chunk_bytes)
            except zlib.error as error:
                raise DataError(f"{name} is a damaged gzip file, near byte {done} ({error})") from None
            if text:
                yield Chunk(text, done)
            data = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                member = None
    if member is not None:
        raise DataError(f"{name} is a truncated gzip file: it ends after {done} bytes, in the middle of the data")


class _Worker:
    """Makes items in a thread of its own and queues them until it is told to stop."""

    def __init__(self, items: Iterable[Any], ahead: int) -> None:
        self.items = items
        self.ready: queue.Queue[tuple[str, Any]] = queue.Queue(ahead)
        self.stopped = threading.Event()
        # a daemon: a read of standard input that never returns must not keep the program from ending
        self.thread = threading.Thread(target=self._work, name="confidently-reader", daemon=True)

    def _work(self) -> None:
        try:
            for item in self.items:
                self._put("item", item)
                if self.stopped.is_set():
                    return
            self._put("end", None)
        except BaseException as error:
            self._put("error", error)

    def _put(self, kind: str, item: Any) -> None:
        while not self.stopped.is_set():
            try:
                return self.ready.put((kind, item), timeout=POLL_SECONDS)
            except queue.Full:
                continue


def in_background(items: Iterable[Any], ahead: int) -> Generator[Any]:
    """The same items, made in a thread of their own at most ``ahead`` before they are asked for."""
    worker = _Worker(items, ahead)
    worker.thread.start()
    try:
        while True:
            kind, item = worker.ready.get()
            if kind == "error":
                raise item
            if kind == "end":
                return
            yield item
    finally:
        worker.stopped.set()
        worker.thread.join(JOIN_SECONDS)  # so that no compiled code runs on while the interpreter goes down
