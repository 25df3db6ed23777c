"""``confidently convert``: data in another format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...data.formats.table import BY_NAME, WRITABLE
from ...data.sources.whole_files import new_file
from ...wording import counted
from ..inputs import open_data, reported
from ..options.arguments import data_argument, json_option
from ..options.command import Command
from ..options.files import OUTPUT
from ..options.predictions import check_csv_safe, csv_safe_option
from ..options.reading import chosen_reading, on_error_option, reading_options
from ..output.text import say

EXAMPLES = (
    "confidently convert messages.jsonl -o messages.svm",
    "confidently convert clicks.csv --label click -o clicks.vw",
)
FIRST = "output_path kind label text drop format as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@click.option("-o", "--output", "output_path", metavar="FILE", required=True, type=OUTPUT, help="Write to FILE.")
@click.option("--to", "kind", type=click.Choice(WRITABLE), help="Format to write.  [default: by the suffix of -o FILE]")
@reading_options
@on_error_option
@click.option("--multilabel", is_flag=True, help="Read multiple labels per row, separated by commas.")
@csv_safe_option
@json_option
def convert(
    data: tuple[str, ...], output_path: str, kind: str | None, csv_safe: bool, as_json: bool, **options: Any
) -> None:
    """Convert data to another format.

    svmlight keeps labels, weights and values, but numbers features instead of naming them. VW text keeps names without
    spaces, colons and bars. JSON Lines keep everything. CSV, TSV, Parquet and Feather have one column per feature, up
    to 10,000 features, and the command reads the data twice. Rows are scaled only with --normalize l2.
    """
    from ...data.writing import format_for, write_rows

    on_error, multilabel = options["on_error"], options["multilabel"] or None
    reading = chosen_reading(options, data)
    normalize = "l2" if options["normalize"] == "l2" else "none"
    reading = replace(reading, normalize=normalize, vocabulary=reading.named)
    keep = reading.file_format.keepable or ()
    with reported():
        kind = kind or format_for(output_path)
        check_csv_safe(csv_safe, kind)
        if BY_NAME[kind].table_writer is not None and "-" in data:
            raise click.UsageError(f"{kind} is written in two passes over the data, got standard input; use a file")
        with new_file(output_path) as temporary:
            rows = write_rows(
                temporary, kind,
                lambda: open_data(data, reading, "float64", multilabel=multilabel, on_error=on_error, keep=keep),
                csv_safe,
            )  # fmt: skip
    result = {"rows": rows, "format": kind, "file": output_path, "bytes": Path(output_path).stat().st_size}
    say(
        json.dumps(result) if as_json else f"{counted(rows, 'row')}, {result['bytes']:,} bytes of {kind}: {output_path}"
    )
