"""Arguments and options of most commands, and the check of an output file before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click


class Integer(click.IntRange):
    """Integers in a range, shown in help as INTEGER."""

    name = "integer"


class Float(click.FloatRange):
    """Numbers in a range, shown in help as FLOAT."""

    name = "float"


POSITIVE_INTEGER, NONNEGATIVE_INTEGER = Integer(1), Integer(0)
POSITIVE_FLOAT, FRACTION = Float(0, min_open=True), Float(0, 1)

model_argument = click.argument("model_path", metavar="MODEL")
data_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Do not report progress.")


def add_options(command: Any, options: Iterable[Any]) -> Any:
    """Add options to a command; its help lists them in this order."""
    for option in reversed(list(options)):
        command = option(command)
    return command


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the command line names an option."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def listed(names: Iterable[str]) -> str:
    """Return options as they are typed, separated by commas."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def check_output(path: str | None, inputs: Sequence[str], option: str = "-o") -> None:
    """Reject, before any work, an output that cannot be written or would overwrite an input."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise click.UsageError(f"{path} is a directory; pass a file name to {option}")
    if target.exists() and not target.is_file():
        raise click.UsageError(f"{path} is not a regular file; pass a file name to {option}")
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"{path} cannot be written: directory {target.parent} does not exist")
    if not os.access(target.absolute().parent, os.W_OK):
        raise click.UsageError(f"{path} cannot be written: directory {target.parent} is not writable")
    if any(name != "-" and os.path.exists(name) and target.exists() and target.samefile(name) for name in inputs):
        raise click.UsageError(f"{path} is also an input; pass another file name to {option}")
