"""``confidently sample``: made-up data to try the other commands on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import click

from ... import samples
from ...data.sources.whole_files import new_text_file
from ..options.arguments import NONNEGATIVE_INTEGER, POSITIVE_INTEGER, json_option
from ..options.command import Command
from ..options.files import OUTPUT
from ..output.text import counted, say

Rows = Iterator[dict[str, Any]]
SAMPLES: dict[str, Callable[..., Rows]] = {"messages": samples.messages, "clicks": samples.clicks}
ROWS = {"messages": 3000, "clicks": 10_000}


@click.command(cls=Command)
@click.argument("name", metavar="NAME", type=click.Choice(list(SAMPLES)))
@click.option("-o", "--output", "output_path", metavar="FILE", required=True, type=OUTPUT, help="Write to FILE.")
@click.option(
    "--rows", "n_rows", type=POSITIVE_INTEGER,
    help=f"Write this many rows.  [default: {ROWS['messages']:,} messages, {ROWS['clicks']:,} clicks]",
)  # fmt: skip
@click.option(
    "--seed", default=0, type=NONNEGATIVE_INTEGER, help="Make rows with this seed; use another for a test file."
)
@click.option("--drift", is_flag=True, help="Change the kinds of spam after each third of the messages.")
@json_option
def sample(name: str, output_path: str, n_rows: int | None, seed: int, drift: bool, as_json: bool) -> None:
    """Write made-up data to try the other commands on.

    messages are short mails with the label ham or spam. clicks are advertisements with the label click, 1 or 0. The
    same seed gives the same rows everywhere. A FILE with the suffix .csv has a header and one column per key; any other
    FILE has one JSON object per line.
    """
    if drift and name != "messages":
        raise click.UsageError(f"--drift applies to messages, got {name}")
    n_rows = ROWS[name] if n_rows is None else n_rows
    rows = SAMPLES[name](n_rows, seed, **({"drift": True} if drift else {}))
    with new_text_file(output_path) as file:
        (_write_csv if output_path.endswith(".csv") else _write_json_lines)(file, rows)
    result = {"sample": name, "rows": n_rows, "seed": seed, "file": output_path}
    say(json.dumps(result) if as_json else f"{counted(n_rows, 'row')} of {name}: {output_path}")


def _write_csv(file: TextIO, rows: Rows) -> None:
    first = next(rows)
    writer = csv.DictWriter(file, first, lineterminator="\n")
    writer.writeheader()
    writer.writerow(first)
    writer.writerows(rows)


def _write_json_lines(file: TextIO, rows: Rows) -> None:
    file.writelines(f"{json.dumps(row)}\n" for row in rows)
