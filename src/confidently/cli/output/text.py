"""Numbers, names and tables as people read them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from ...printable import printable

if TYPE_CHECKING:
    from ...models.model import Model
    from ...topics.model import TopicModel

ABSENT = "?"  # the name of a class not seen yet: one of two, of which only the other has appeared
MAX_CLASSES_LISTED = 10


def say(text: str, err: bool = False) -> None:
    """Print text, the one way in which commands do; control characters other than line ends are escaped."""
    # a live bar replaces standard error, to print above itself; click would look for the stream behind it
    above_bar = err and hasattr(sys.stderr, "rich_proxied_file")
    click.echo(printable(text, keep="\n"), file=sys.stderr if above_bar else None, err=err)


def shown(name: Any) -> str:
    """Return a name within a line of text."""
    return printable(class_name(name))


def class_name(name: Any) -> str:
    """Return a class as it is written."""
    return ABSENT if name is None else str(name)


def class_names(model: Model | TopicModel) -> list[str]:
    """Return the classes as they are written, in the order in which they are listed (:func:`sorted_numbers`)."""
    from ...data.class_order import sorted_numbers  # only here, to save start-up time

    return [class_name(model.classes[k]) for k in sorted_numbers(model.classes)]


def classes_text(names: Sequence[str]) -> str:
    """Return the number of classes and the names of the first."""
    listed = ", ".join(map(shown, names[:MAX_CLASSES_LISTED])) + (", ..." if len(names) > MAX_CLASSES_LISTED else "")
    return f"{len(names):,} ({listed})"


def parameters_text(parameters: dict[str, Any]) -> str:
    """Return a rule's parameters that are set, as ``r=0.1``."""
    return ", ".join(f"{name}={value:g}" for name, value in parameters.items() if value is not None)


def digits(x: float) -> str:
    """Return a number with five significant digits, of which none is cut off before the decimal point."""
    return f"{x:,.0f}" if 1e5 <= abs(x) < 1e15 else f"{x:.5g}"


def percent(fraction: float) -> str:
    """Return a fraction as a percentage."""
    return f"{100 * fraction:.2f} %"


def table(rows: Sequence[Sequence[str]], align: Callable[[str, int], str] = str.rjust, lefts: int = 1) -> str:
    """Return rows as aligned columns, the first ``lefts`` of them to the left."""
    rows = [list(map(printable, row)) for row in rows]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    aligned = [str.ljust] * lefts + [align] * (len(widths) - lefts)
    lines = ["  ".join(put(cell, w) for put, cell, w in zip(aligned, row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)
