"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

WINDOWS = os.name == "nt"  # which cannot rename or remove an open file
PARTIAL = ".partial"  # suffix of a cache that is being written


@contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the name of a temporary file beside ``path``, which replaces it when the block ends without an error.

    The block writes the file, which exists and is empty, and closes it. If ``path`` is a symbolic link, its target is
    replaced. The new file has the mode of the one that it replaces.

    Raises
    ------
    OSError
        If the file cannot be written; of the user's names, not of the temporary file.
    """
    target = Path(path).resolve()
    _check_folder(path, target.parent)
    temporary = _temporary(target)
    try:
        with naming(path):
            _create(temporary, target)
            yield os.fspath(temporary)
            commit(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _check_folder(path: str | os.PathLike[str], folder: Path) -> None:
    """Raise an ``OSError`` that names the folder of a new file, unless there is one."""
    named = Path(path).parent if not Path(path).is_symlink() else folder
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, f"the folder {named} does not exist; create it first", os.fspath(path))
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{named} is not a folder", os.fspath(path))


def probe(path: str | os.PathLike[str]) -> None:
    """Raise the ``OSError`` that :func:`new_file` would raise when it begins, if any; leave nothing behind."""
    target = Path(path).resolve()
    temporary = _temporary(target)
    _create(temporary, target)
    temporary.unlink()


@contextmanager
def new_text_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """Open a text file, in UTF-8 with plain line ends, that appears when the block ends without an error."""
    with new_file(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        yield file


def commit(temporary: Path, path: Path) -> None:
    """Sync a complete file to disk, then rename it: after a power cut ``path`` is the old file or the new one."""
    with naming(path):
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        mode = _mode(path)
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
        sync_directory(path.parent)


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
    """Add the file's name to errors where the system leaves it out, or names a temporary file."""
    try:
        yield
    except BrokenPipeError:  # of an output that is not a file
        raise
    except OSError as error:
        beside = f".{Path(path).resolve().name}."
        if error.filename is None or Path(os.fsdecode(error.filename)).name.startswith(beside):
            error.strerror, error.filename = error.strerror or str(error), os.fspath(path)
            del error.filename2
        raise


def _temporary(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")


def _create(temporary: Path, target: Path) -> None:
    """Create an empty file that can be read only by those who may read the file that it will replace."""
    mode = _mode(target)
    os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode))


def _mode(path: Path) -> int | None:
    """Return the mode of a file, or ``None`` if it does not exist."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return None


def sync_directory(directory: Path) -> None:
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
