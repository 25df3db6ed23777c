"""Which files are caches, and the data that a cache was made from, as training without a cache asks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict

from ..sources.in_memory import InMemory
from ..sources.json_schema import Count, FileText
from ..sources.paths import expand_paths
from ..sources.source import display_name, size_of

MAGIC = b"\x89confidently\r\n\x1a\n"  # how a cache begins


def is_cache(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a regular file that begins like a cache."""
    if isinstance(path, InMemory) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


class Source(TypedDict):
    """A file and its state, to detect changes; of a pipe, size and modification time are ``None``."""

    path: FileText
    size: Count | None
    mtime_ns: int | None


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The data that a cache was made from: as long as they are the same, the cache replaces them.

    Attributes
    ----------
    sources : list of Source
        The files, as they were before they were read.
    multilabel : bool, optional
        Whether multilabel rows were requested; ``None``: inferred from the first rows.
    classes : list of str
        All allowed labels; empty: any.
    holdout : str, optional
        The fraction of rows held out, if the cache holds those rows.
    targets : bool
        Whether labels were read as numbers, for regression.
    """

    sources: list[Source]
    multilabel: bool | None = None
    classes: list[str] = field(default_factory=list)
    holdout: str | None = None
    targets: bool = False

    @property
    def lasting(self) -> bool:
        """Whether all sources are files, whose changes can be detected."""
        return all(source["size"] is not None for source in self.sources)


def fingerprints(paths: Sequence[str | os.PathLike[str]]) -> list[Source]:
    """Return path, size and modification time of files, to detect changes; for pipes, sizes are ``None``."""
    found: list[Source] = []
    for path in expand_paths(paths):
        if size_of(path) is None:
            found.append(Source(path=display_name(path), size=None, mtime_ns=None))
        else:
            status = os.stat(path)
            found.append(Source(path=os.path.abspath(path), size=status.st_size, mtime_ns=status.st_mtime_ns))
    return found
