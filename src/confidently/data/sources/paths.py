"""Expansion of paths: globs, folders and URIs of either, in sorted order."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase

from ..batch import DataError
from ..formats.table import format_of_suffix
from .file_range import FileRange
from .in_memory import InMemory
from .source import bytes_of, file_system, is_uri

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
WILD = frozenset("*?[")


def expand_paths(paths: Paths) -> list[str | os.PathLike[str]]:
    """Return the files of paths, in the given order; those of a glob or of a folder sorted by name.

    A glob may have ``*``, ``?``, ``[...]`` and, for any number of folders, ``**``. A folder stands for all files in it,
    at any depth, whose suffix names a format; names that begin with a dot or an underscore are left out. A path that
    exists is not a glob.

    Raises
    ------
    DataError
        If a glob or a folder has no file.
    """
    files: list[str | os.PathLike[str]] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        if isinstance(path, FileRange | InMemory):
            files.append(path)
        else:
            files += _remote(os.fspath(path)) if is_uri(path) else _local(path)
    return files


def total_bytes(paths: Paths) -> int | None:
    """Return the bytes of all files of paths together; ``None`` if one of them is unknown."""
    return bytes_of(expand_paths(paths))


def _local(path: str | os.PathLike[str]) -> Sequence[str | os.PathLike[str]]:
    name = os.fspath(path)
    if os.path.isdir(path):
        found = [os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files]
        return _data_files(name, found, os.sep)
    if WILD.isdisjoint(name) or os.path.lexists(path):
        return [path]
    found = sorted(file for file in glob.glob(name, recursive=True) if os.path.isfile(file))
    return found or _nothing(name)


def _remote(uri: str) -> list[str]:
    from pyarrow.fs import FileSelector, FileType

    scheme, _, rest = uri.partition("://")
    folder = rest
    while not WILD.isdisjoint(folder):
        folder = folder.rpartition("/")[0]
    system, root = file_system(f"{scheme}://{folder}")
    info = system.get_file_info(root)
    if folder == rest and info.type != FileType.Directory:
        return [uri]
    inside = [
        file.path for file in system.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
        if file.type == FileType.File
    ]  # fmt: skip
    found = [f"{scheme}://{folder}{path.removeprefix(root.rstrip('/'))}" for path in inside]
    if folder == rest:
        return _data_files(uri, found, "/")
    return sorted(file for file in found if _matches(file, uri)) or _nothing(uri)


def _matches(file: str, pattern: str) -> bool:
    """Return whether a path matches a pattern, part by part; ``**`` is any number of parts."""
    return _parts_match(file.split("/"), pattern.split("/"))


def _parts_match(parts: list[str], patterns: list[str]) -> bool:
    if not (parts and patterns):
        return not parts and all(pattern == "**" for pattern in patterns)
    hidden = parts[0].startswith(".") and not patterns[0].startswith(".")
    if patterns[0] == "**":
        return _parts_match(parts, patterns[1:]) or (not hidden and _parts_match(parts[1:], patterns))
    return not hidden and fnmatchcase(parts[0], patterns[0]) and _parts_match(parts[1:], patterns[1:])


def _data_files(folder: str, files: list[str], separator: str) -> list[str]:
    shown = [file for file in files if not _is_hidden(file.removeprefix(folder), separator)]
    found = sorted(file for file in shown if format_of_suffix(file) is not None)
    return found or _nothing(folder)


def _is_hidden(inside: str, separator: str) -> bool:
    return any(part.startswith((".", "_")) for part in inside.split(separator))


def _nothing(what: str) -> list[str]:
    raise DataError(f"{what} has no data files" if WILD.isdisjoint(what) else f"{what} matches no file")
