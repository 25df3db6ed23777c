"""Arguments and options of most commands."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from typing import Any

import click

from .files import INPUT


class Integer(click.IntRange):
    """Integers in a range and of 64 bits, as checkpoints hold them, shown in help as INTEGER."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if number < 2**63 else self.fail(f"{value} is too large", param, ctx)


class Float(click.FloatRange):
    """Finite numbers in a range, shown in help as FLOAT."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"{value} is not a finite number", param, ctx)


POSITIVE_INTEGER, NONNEGATIVE_INTEGER = Integer(1), Integer(0)
POSITIVE_FLOAT, FRACTION = Float(0, min_open=True), Float(0, 1)
PROBABILITY = Float(0, 1, min_open=True, max_open=True)

model_argument = click.argument("model_path", metavar="MODEL", type=INPUT)
data_argument = click.argument("data", metavar="DATA...", nargs=-1, required=True, type=INPUT)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to standard output.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Do not report progress.")


def names_of(text: str) -> tuple[str, ...]:
    """Return the names in a list with commas; a name with a comma or a quote is quoted as in CSV.

    >>> names_of('a,"b, c",d'), names_of("a")
    (('a', 'b, c', 'd'), ('a',))
    """
    if "," not in text and '"' not in text:
        return (text,)
    try:
        [names] = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise click.BadParameter(f"expected names separated by commas, got {text!r}: {error}") from None
    return tuple(names)


def all_names(ctx: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names of an option that is repeatable and takes lists, as the callback of the option."""
    return tuple(name for text in texts for name in names_of(text))


def is_given(ctx: click.Context, name: str) -> bool:
    """Return whether the command line names an option."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def listed(names: Iterable[str]) -> str:
    """Return options as they are typed, separated by commas."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)
