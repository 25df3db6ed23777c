"""Part of a file of lines, so that several readers can share one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from .compression import Chunk


@dataclass(frozen=True)
class FileRange(os.PathLike[str]):
    """The lines of an uncompressed file that begin in its bytes ``first`` to ``last - 1``.

    Ranges that cover a file without overlap have each of its lines once, wherever they are cut. A range may have none.
    """

    path: str
    first: int
    last: int

    def __fspath__(self) -> str:
        return self.path

    def chunks(self, file: IO[bytes] | Any, chunk_bytes: int) -> Iterator[Chunk]:
        """The bytes of its lines, out of the file, which is open and can be sought in."""
        position = max(self.first - 1, 0)  # if a line ends there, the next one is ours
        file.seek(position)
        begun = self.first == 0
        while data := file.read(chunk_bytes):
            begin = 0 if begun else data.find(b"\n") + 1
            begun = begun or begin > 0
            if position + (begin if begun else len(data)) >= self.last:
                return
            if begun:
                end = data.find(b"\n", max(self.last - 1 - position, begin)) + 1
                yield Chunk(data[begin : end or None], min(position + len(data), self.last) - self.first)
                if end:
                    return
            position += len(data)
