"""``confidently sample``: made-up data to try the other commands on."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import click

from ... import samples
from ...data.formats.table import BY_NAME
from ...data.sources.whole_files import new_text_file
from ...wording import counted
from ..options.arguments import NONNEGATIVE_INTEGER, POSITIVE_INTEGER, json_option
from ..options.command import Command
from ..options.files import OUTPUT
from ..output.text import say

Rows = Iterator[dict[str, Any]]


def _write_csv(file: TextIO, rows: Rows) -> None:
    first = next(rows)
    writer = csv.DictWriter(file, first, lineterminator="\n")
    writer.writeheader()
    writer.writerow(first)
    writer.writerows(rows)


def _write_json_lines(file: TextIO, rows: Rows) -> None:
    file.writelines(f"{json.dumps(row)}\n" for row in rows)


class Sample(NamedTuple):
    """A sample: its rows, their default number, the name of the format and what writes it."""

    rows: Callable[..., Rows]
    n_rows: int
    format: str
    write: Callable[[TextIO, Rows], None]


SAMPLES = {
    "messages": Sample(samples.messages, 3000, "jsonl", _write_json_lines),
    "clicks": Sample(samples.clicks, 10_000, "csv", _write_csv),
    "routes": Sample(samples.routes, 3000, "jsonl", _write_json_lines),
}


EXAMPLES = (
    "confidently sample messages -o messages.jsonl",
    "confidently sample messages --rows 500 --seed 1 -o new.jsonl",
    "confidently sample clicks -o clicks.csv",
    "confidently sample routes -o routes.jsonl",
)


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("name", metavar="NAME", type=click.Choice(list(SAMPLES)))
@click.option("-o", "--output", "output_path", metavar="FILE", required=True, type=OUTPUT, help="Write to FILE.")
@click.option(
    "--rows", "n_rows", type=POSITIVE_INTEGER,
    help=f"Write this many rows.  [default: {', '.join(f'{s.n_rows:,} {name}' for name, s in SAMPLES.items())}]",
)  # fmt: skip
@click.option("--seed", default=0, type=NONNEGATIVE_INTEGER, help="Seed of the rows; use another for a test file.")
@click.option("--drift", is_flag=True, help="Change the kinds of spam after each third of the messages.")
@json_option
def sample(name: str, output_path: str, n_rows: int | None, seed: int, drift: bool, as_json: bool) -> None:
    """Write made-up data to try the other commands on.

    messages are short mails with the label ham or spam, in JSON Lines. clicks are advertisements with the label click,
    which is 1 or 0, in CSV. routes are decisions among three language models, for train --bandit, in JSON Lines. The
    same seed gives the same rows everywhere.
    """
    chosen = SAMPLES[name]
    suffixes = BY_NAME[chosen.format].suffixes
    if Path(output_path).suffix.lower() not in suffixes:
        raise click.UsageError(
            f"{name} are written as {chosen.format}, got {output_path}; use a name that ends in {suffixes[0]}, and "
            "confidently convert for other formats"
        )
    if drift and name != "messages":
        raise click.UsageError(f"--drift applies to messages, got {name}")
    n_rows = chosen.n_rows if n_rows is None else n_rows
    with new_text_file(output_path) as file:
        chosen.write(file, chosen.rows(n_rows, seed, **({"drift": True} if drift else {})))
    result = {"sample": name, "rows": n_rows, "seed": seed, "file": output_path}
    say(json.dumps(result) if as_json else f"{counted(n_rows, 'row')} of {name}: {output_path}")
