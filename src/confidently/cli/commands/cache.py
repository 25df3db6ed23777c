"""``confidently cache``: a binary cache of parsed data."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import click

from ..inputs import open_data, reported
from ..options.arguments import all_names, data_argument, json_option, quiet_option
from ..options.command import Command
from ..options.files import CACHE_OUTPUT
from ..options.reading import (
    caching_options,
    chosen_raw_reading,
    chosen_reading,
    multilabel_option,
    on_error_option,
    targets_option,
)
from ..output.text import say
from ..output.training_summaries import skipped_lines

EXAMPLES = (
    "confidently cache messages.jsonl -o messages.cache",
    "confidently train messages.cache --passes 5 -o five.cw",
)
FIRST = "output_path label text drop format keep quiet as_json"


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@caching_options
@on_error_option
@multilabel_option
@targets_option
@click.option(
    "--keep", metavar="NAMES", multiple=True, callback=all_names,
    help="Keep these columns unchanged for predict --keep; tag is the tag of VW text. Repeatable.",
)  # fmt: skip
@click.option(
    "-o", "--output", "output_path", metavar="FILE", required=True, type=CACHE_OUTPUT, help="Write the cache to FILE."
)
@quiet_option
@json_option
def cache(
    data: tuple[str, ...], multilabel: bool, targets: bool, on_error: str | int, keep: tuple[str, ...],
    output_path: str, quiet: bool, as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Parse data once into a binary cache.

    train, predict, evaluate and compare read a cache like any other file, with the same results. DATA are files, or -
    for standard input. A cache has checksums: a damaged one is rejected. Rows are cached as they are; models that a
    single learner has trained on files of text or categories predict from a cache built with --normalize l2.
    """
    if multilabel and targets:
        raise click.UsageError("--multilabel and --regression are mutually exclusive; use one")
    began = time.monotonic()
    with reported():
        result = _build(data, options, on_error, multilabel or None, targets, keep, output_path, quiet)
    result |= {
        "cache": output_path,
        "bytes": os.path.getsize(output_path),
        "seconds": round(time.monotonic() - began, 6),
    }
    say(json.dumps(result) if as_json else _text(result))


def _build(
    data: tuple[str, ...], options: dict[str, Any], on_error: str | int, multilabel: bool | None,
    targets: bool, keep: tuple[str, ...], path: str, quiet: bool,
) -> dict[str, Any]:  # fmt: skip
    from ...data.cache.building import CacheBuilder
    from ...data.cache.origin import Origin, fingerprints
    from ..output.reporter import reported_batches

    origin = Origin(sources=fingerprints(data), multilabel=False if targets else multilabel, targets=targets)
    chosen = chosen_reading if options["normalize"] == "l2" else chosen_raw_reading
    reading, kinds = chosen(options, data), {"multilabel": multilabel, "targets": targets}
    with (
        open_data(data, reading, "float64", **kinds, on_error=on_error, keep=keep) as stream,
        CacheBuilder(path, reading, origin, stream.multilabel, keep) as builder,
    ):
        entries = columns = 0
        for batch in reported_batches(stream, quiet):
            builder.add(batch)
            entries, columns = entries + len(batch.values), max(columns, batch.n_columns)
        builder.finish()
    skipped = {"skipped": stream.skipped, "skipped_examples": stream.skipped_examples}
    if on_error == "stop" and not stream.skipped:
        skipped = {}
    return {"rows": builder.done, "features": columns, "entries": entries, **skipped}


def _text(result: dict[str, Any]) -> str:
    rate = result["rows"] / max(result["seconds"], 1e-9)
    lines = [
        f"rows       {result['rows']:,}",
        f"features   {result['features']:,}, {result['entries']:,} entries",
        f"seconds    {result['seconds']:.2f} ({rate:,.0f} rows/s)",
        *skipped_lines(result),
        f"cache      {result['cache']} ({result['bytes']:,} bytes)",
    ]
    return "\n".join(lines)
