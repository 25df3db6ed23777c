"""Standard output, or an output file that appears under its name only when it is complete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO, cast

from ...data.sources.whole_files import new_text_file
from ...printable import printable


class Terminal:
    """Standard output where a person reads it: control characters of data are escaped; pipes and files get them."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.flush = file, file.flush

    def write(self, text: str) -> int:
        return self.file.write(printable(text, keep="\n\t"))


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that appears under its name when all is written."""
    if path is None:
        yield cast(TextIO, Terminal(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    with new_text_file(path) as file:
        yield file
