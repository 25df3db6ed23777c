"""Standard output, or an output file that appears under its name only when it is complete."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from ...data.sources.whole_files import new_text_file


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that appears under its name when all is written."""
    if path is None:
        yield sys.stdout
        return
    with new_text_file(path) as file:
        yield file
