"""Sources of rows that continue: a growing file, a pipe."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from ..problems import Problem

ROWS_PER_REQUEST = 512
PAUSE = 0.2  # seconds, until a file is looked at again


class Some(NamedTuple):
    """Lines of a source, the position behind the last of them, and the place of each, for messages."""

    lines: list[bytes]
    position: int
    places: list[str]


class Source(Protocol):
    """Where rows come from.

    Attributes
    ----------
    name : str
        The name under which the position is stored.
    """

    name: str

    def rows(self, position: int, stopping: threading.Event) -> Iterator[Some]:
        """Yield lines from a position on, until told to stop or the source ends."""
        ...


class FileSource:
    """A file of JSON lines that grows; a last line without its end is not complete yet.

    Parameters
    ----------
    path : path
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.name = f"file:{os.path.abspath(self.path)}"

    def rows(self, position: int, stopping: threading.Event) -> Iterator[Some]:
        """Yield lines from a position on, forever."""
        with open(self.path, "rb") as file:
            if os.fstat(file.fileno()).st_size < position:
                raise Problem(
                    "invalid-body", f"{self.path} is shorter than what was learned of it; give a new file another name"
                )  # fmt: skip
            file.seek(position)
            while not stopping.is_set():
                lines, places = list[bytes](), list[str]()
                while len(lines) < ROWS_PER_REQUEST and (line := file.readline()).endswith(b"\n"):
                    lines.append(line)
                    places.append(f"byte {position:,}")
                    position += len(line)
                if len(lines) < ROWS_PER_REQUEST:
                    file.seek(position)  # before a line that is being written
                if lines:
                    yield Some(lines, position, places)
                else:
                    stopping.wait(PAUSE)


class PipeSource:
    """JSON lines of standard input, whose positions start at 0 in every process."""

    name = "pipe"

    def rows(self, position: int, stopping: threading.Event) -> Iterator[Some]:
        """Yield lines until the pipe ends."""
        position = number = 0
        while not stopping.is_set() and (line := sys.stdin.buffer.readline()):
            position, number = position + len(line), number + 1
            yield Some([line], position, [f"line {number:,}"])
