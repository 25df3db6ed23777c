"""Files that commands read and write: the types of their options, and the check of all of them before any work.

An option that names a file says so by its type. So the check covers every option of every command, and a test finds an
option without a type. A file that is written must be neither an input nor written by another option; links are
followed, and files that a command writes beside another count too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from ...data.sources.whole_files import PARTIAL, probe
from ..inputs import reported

CHECKPOINT, BEST_CHECKPOINT = ".checkpoint", ".checkpoint.best"
TRAINING_CACHE, TRAINING_HOLDOUT = ".training-cache", ".training-holdout"
STANDARD_INPUT = "-"


class Reads:
    """The type of an option that names inputs."""


class Writes:
    """The type of an option that names an output; ``beside`` are the suffixes of files that belong to it."""

    beside: tuple[str, ...] = ()


class FileName(click.types.StringParamType):
    """A name that is not empty."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value else self.fail("expected the name of a file, got ''", param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[Any]]:
        return [CompletionItem(incomplete, type="file")]


class InputFile(Reads, FileName):
    """A file that is read, or a glob, a folder, a URI, or ``-``."""


class OneFile(Reads, FileName):
    """One file that is read, by its name."""


class InputFolder(Reads, click.Path):
    """A folder that is read."""

    def __init__(self) -> None:
        super().__init__(exists=True, file_okay=False, path_type=Path)


class OutputFile(Writes, FileName):
    """A file that is written."""

    def __init__(self, *beside: str) -> None:
        self.beside = beside


class OutputFolder(Writes, click.Path):
    """A folder in which files are written; it is created if it does not exist."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)


INPUT, OUTPUT, CACHE_OUTPUT = InputFile(), OutputFile(), OutputFile(PARTIAL)
MODEL_OUTPUT = OutputFile(
    CHECKPOINT, BEST_CHECKPOINT, *(cache + end for cache in (TRAINING_CACHE, TRAINING_HOLDOUT) for end in ("", PARTIAL))
)  # of a command that trains

Identity = tuple[int, int] | str  # of an existing file, its device and number; of a missing one, its path


class Written(NamedTuple):
    """A path that a command writes, and the option that says so."""

    path: str
    option: str


def check_files(ctx: click.Context) -> None:
    """Reject, before any work, an output that cannot be written, is an input or is written twice.

    Raises
    ------
    click.UsageError
        The message names the file and the option.
    """
    written: dict[Identity, Written] = {}
    for parameter in ctx.command.params:
        if isinstance(parameter.type, Writes):
            for path in _given(ctx, parameter):
                for file in (path, *(path + suffix for suffix in parameter.type.beside)):
                    _check_writable(file, isinstance(parameter.type, OutputFolder), _typed(parameter))
                    _add(written, Written(file, _typed(parameter)))
    if not written:
        return
    for parameter in ctx.command.params:
        if isinstance(parameter.type, Reads):
            for name in _given(ctx, parameter):
                for identity in _identities(name, isinstance(parameter.type, (InputFolder, OneFile))):
                    if identity in written:
                        path, option = written[identity]
                        raise click.UsageError(f"{path} is also an input; pass another file name to {option}")


def _given(ctx: click.Context, parameter: click.Parameter) -> Iterator[str]:
    """Yield the paths that a parameter has."""
    value = ctx.params.get(str(parameter.name))
    for path in value if isinstance(value, tuple) else () if value is None else (value,):
        yield os.fspath(path)


def _typed(parameter: click.Parameter) -> str:
    return min(parameter.opts, key=len)


def _add(written: dict[Identity, Written], new: Written) -> None:
    identity = _identity(new.path)
    if (other := written.setdefault(identity, new)) is not new:
        raise click.UsageError(
            f"{new.path} is also written by {other.option}; pass different files to {other.option} and {new.option}"
        )


def _check_writable(path: str, folder: bool, option: str) -> None:
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        status = None
    except OSError as error:
        raise click.UsageError(f"{path} cannot be written: {error.strerror}; pass another file to {option}") from None
    if not folder and status is not None:
        if Path(path).is_dir():
            raise click.UsageError(f"{path} is a directory; pass a file name to {option}")
        if not Path(path).is_file():
            raise click.UsageError(f"{path} is not a regular file; pass a file name to {option}")
        if not os.access(path, os.W_OK):
            raise click.UsageError(f"{path} is read-only; pass another file name to {option}")
    parent = Path(path).resolve().parent
    if folder:
        parent = next(above for above in (Path(path).resolve(), *Path(path).resolve().parents) if above.exists())
    elif not parent.is_dir():
        raise click.UsageError(f"{path} cannot be written: directory {Path(path).parent} does not exist")
    try:
        probe(parent / "x" if folder else path)
    except OSError as error:
        shown = parent if folder else Path(path).parent
        reason = f"directory {shown} is not writable" if isinstance(error, PermissionError) else error.strerror
        raise click.UsageError(f"{path} cannot be written: {reason}; pass another file to {option}") from None


def _identities(name: str, folder: bool) -> Iterable[Identity]:
    """Return the files that an input stands for."""
    if name == STANDARD_INPUT:
        return _standard_input()
    if "://" in name:
        from urllib.parse import unquote, urlsplit  # imported here to save start-up time

        uri = urlsplit(name)
        return [_identity(unquote(uri.path))] if uri.scheme == "file" else []
    if folder or os.path.isfile(name):
        return [_identity(name)]
    from ...data.sources.paths import expand_paths

    with reported():
        return [_identity(name), *(_identity(os.fspath(path)) for path in expand_paths(name))]


def _standard_input() -> list[Identity]:
    try:
        status = os.fstat(0)
    except OSError:  # closed
        return []
    return [(status.st_dev, status.st_ino)]


def _identity(path: str) -> Identity:
    try:
        status = os.stat(path)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    return status.st_dev, status.st_ino
