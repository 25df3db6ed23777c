"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

DISK_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
WINDOWS = os.name == "nt"  # which cannot rename or remove an open file


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the name of a temporary file beside ``path``, which replaces it when the block ends without an error.

    The block creates the file and closes it. If ``path`` is a symbolic link, its target is replaced.
    """
    target = Path(path).resolve()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with naming(path):
            yield os.fspath(temporary)
        commit(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def new_text_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file, in UTF-8 with plain line ends, that appears when the block ends without an error."""
    with new_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        yield file


def commit(temporary: Path, path: Path) -> None:
    """Sync a complete file to disk, then rename it: after a power cut ``path`` is the old file or the new one."""
    with naming(path), open(temporary, "rb+") as file:
        os.fsync(file.fileno())
    os.replace(temporary, path)
    _sync_directory(path.parent)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the temporary files of processes that were killed inside :func:`new_file` of this path."""
    target = Path(path).resolve()
    for leftover in target.parent.glob(f".{glob.escape(target.name)}.*"):
        found = re.fullmatch(r"([0-9]+)\.[0-9a-f]{8}", leftover.name.removeprefix(f".{target.name}."))
        if found and not _is_alive(int(found[1])):
            with suppress(PermissionError):
                leftover.unlink(missing_ok=True)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to errors of a full disk, where the system leaves it out."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in DISK_FULL:
            error.filename = os.fspath(path)
        raise


def _sync_directory(directory: Path) -> None:
    """Make a rename in a directory survive a power cut, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_alive(process: int) -> bool:
    if WINDOWS:  # there is no signal 0; the file that a living process writes is open, so it cannot be removed
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
