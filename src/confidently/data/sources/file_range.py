"""A part of a file of lines, so that several readers can share one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from .compression import Chunk


@dataclass(frozen=True)
class FileRange(os.PathLike[str]):
    """The lines of an uncompressed file that begin in its bytes ``first`` to ``last - 1``.

    Ranges that cover a file without overlap have each of its lines exactly once, wherever they are cut. A range may be
    empty.
    """

    path: str
    first: int
    last: int

    def __fspath__(self) -> str:
        return self.path

    def chunks(self, file: IO[bytes] | Any, chunk_bytes: int) -> Iterator[Chunk]:
        """Yield the bytes of its lines from the open, seekable file."""
        position = max(self.first - 1, 0)  # if a line ends there, the next one is ours
        file.seek(position)
        inside = self.first == 0  # of our lines
        if self.first >= self.last:
            return
        while data := file.read(chunk_bytes):
            begin = 0 if inside else data.find(b"\n") + 1
            if not inside and position + (begin or len(data)) >= self.last:
                return
            inside = inside or begin > 0
            if inside:
                end = data.find(b"\n", max(self.last - 1 - position, begin)) + 1  # of the line with the last byte
                yield Chunk(data[begin : end or None], min(position + len(data), self.last) - self.first)
                if end:
                    return
            position += len(data)
