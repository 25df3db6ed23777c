"""Rows in memory, which readers take in place of a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class InMemory(os.PathLike[str]):
    """A table of Arrow, or lines of text.

    Attributes
    ----------
    format : str
        Of the rows, one of ``confidently.data.FORMATS``; tables are read as Parquet files are.
    content : pyarrow.Table or bytes
    n_rows : int
    dates : tuple of str
        Keys of JSON lines that hold dates and times.
    """

    format: str
    content: pa.Table | bytes
    n_rows: int
    dates: tuple[str, ...] = ()

    def __fspath__(self) -> str:
        return "X"  # as messages call it

    @property
    def n_bytes(self) -> int:
        """Bytes of the rows."""
        return len(self.content) if isinstance(self.content, bytes) else int(self.content.nbytes)
