"""``confidently look``: what training would read in data, before it is trained on."""

from __future__ import annotations

import json
import os
import shlex
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ...data.formats.table import COMPRESSED
from ...wording import counted, first_of
from ..inputs import open_data, reported
from ..options.arguments import data_argument, json_option
from ..options.command import Command
from ..options.files import OUTPUT
from ..options.reading import chosen_raw_reading, reading_options
from ..options.regression import seen_task
from ..output.progress import Quiet
from ..output.text import digits, say, shown, table

if TYPE_CHECKING:
    from ...data import Batch, ReaderOptions

MAX_ROWS = 1000  # as many as show train what columns hold
MAX_COLUMNS = 1000  # whose cells are looked at
MAX_EXAMPLES, MAX_COLUMNS_SHOWN, MAX_CLASSES_SHOWN, MAX_WIDTH = 3, 50, 10, 24  # of text
EXAMPLES = ("confidently look messages.jsonl --text text", "confidently look clicks.csv --label click")
FIRST = "label weight drop text category dates format delimiter as_json"


class Rows(NamedTuple):
    """The first rows as training reads them.

    Attributes
    ----------
    n : int
    labels : Counter
        The number of rows of each class, or of each number of a regression.
    multilabel : bool
    features : list of str
        Their names, in the order in which they appear; none if they are numbered.
    width : int
        One more than the largest column.
    complete : bool
        Whether these are all rows.
    """

    n: int
    labels: Counter[Any]
    multilabel: bool
    features: list[str]
    width: int
    complete: bool


@click.command(cls=Command, examples=EXAMPLES, first=FIRST)
@data_argument
@reading_options
@click.option("--save", metavar="FILE", type=OUTPUT, help="Save the schema, what columns mean, for train --schema.")
@json_option
@click.pass_context
def look(ctx: click.Context, /, data: tuple[str, ...], save: str | None, as_json: bool, **options: Any) -> None:
    """Show what train would read in the first 1,000 rows of data, and how to train on them.

    Shows the labels of the first file and, of formats with named columns, the type of every column, its missing and
    its distinct values. Types are those that train infers, with the same options for reading data: numbers, booleans
    (read as 0 and 1), categories, text, and dates. Warnings are those of train. The rows are read twice.
    """
    from ...data import DataError
    from ...data.reading import DEFAULT_LABEL

    if options["encoder"] is not None:
        raise click.UsageError("--encoder: look shows what rows hold, not their vectors; omit it")
    files = _files(data)
    first = files[:1]
    with reported():
        regression = seen_task(options, data, Quiet())
        reading = chosen_raw_reading(options, data)
        reading = replace(reading, vocabulary=reading.named)
        label: str | None = (reading.label or DEFAULT_LABEL) if reading.file_format.columns else None
        try:
            rows = _rows(first, reading, targets=regression)
        except DataError:
            if label is None or options["label"] is not None or _has(first, reading, label):
                raise
            label, rows = None, _rows(first, reading, ignore_labels=True)
        n_columns, columns = _columns(first, reading, rows.features)
        if save is not None:
            _save(save, first[0], reading, columns)
    facts = {
        "files": list(data), "format": reading.format, "delimiter": reading.delimiter, "rows": rows.n,
        "complete": rows.complete and len(files) == 1, "label": _label(reading, label, rows, regression),
        "weight": reading.weight, "missing": list(reading.missing or ()), "n_columns": n_columns, "columns": columns,
        "features": len(rows.features) if reading.named else rows.width,
        "command": _command(ctx, data, reading, label),
    }  # fmt: skip
    say(json.dumps(facts) if as_json else _text(facts, options["label"] is not None))


# --- reading ---------------------------------------------------------------------------------------------------------


def _files(data: Sequence[str]) -> Sequence[str]:
    """Return the files of the data, which can be read twice and are no caches."""
    from ...data.cache.origin import is_cache
    from ...data.sources.paths import expand_paths

    if "-" in data:
        raise click.UsageError("the rows are read twice, got standard input; use a file")
    with reported():
        files = [os.fspath(path) for path in expand_paths(data)]
    if cached := next((file for file in files if is_cache(file)), None):
        raise click.UsageError(f"{cached} is a cache, whose rows are parsed already; use the data it was built of")
    return files


def _rows(files: Sequence[str], reading: ReaderOptions, **how: Any) -> Rows:
    """Return the first rows, with the warnings of training about them."""
    from ...data.column_advice import warn_of_batch_columns

    labels, names, features, n, width, complete = Counter[Any](), list[Any](), list[str](), 0, 0, True
    with open_data(files, reading, "float64", parsers=0, **how) as stream:

        def first() -> Iterator[Batch]:
            nonlocal n, complete
            for batch in stream:
                n, more = min(n + len(batch), MAX_ROWS), n + len(batch) - MAX_ROWS
                complete = more <= 0
                yield batch if complete else batch.rows(0, len(batch) - more)
                if not complete:
                    return

        for batch in first() if how.get("ignore_labels") else warn_of_batch_columns(first(), reading, viewed=True):
            names += [label.name for label in batch.new_labels]
            labels.update(_labels_of(batch, names) if not how.get("ignore_labels") else ())
            features += [] if batch.new_features is None else list(batch.new_features.names)
            width = max(width, batch.n_columns)
        return Rows(n, labels, stream.multilabel, features, width, complete)


def _labels_of(batch: Batch, names: Sequence[Any]) -> list[Any]:
    if batch.targets is not None:
        return batch.targets.tolist()
    return [names[number] for number in batch.labels.tolist()]


def _has(files: Sequence[str], reading: ReaderOptions, column: str) -> bool:
    """Return whether a column is there, whatever is wrong with it."""
    from ...data import DataError

    try:
        _rows(files, reading, ignore_labels=True, keep=(column,))
    except DataError:
        return False
    return True


# --- columns ---------------------------------------------------------------------------------------------------------


def _columns(files: Sequence[str], reading: ReaderOptions, features: Iterable[str]) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of columns of features, and what is in the first of them; none of formats without columns."""
    if not reading.file_format.columns:
        return 0, []
    import numpy as np

    from ...data.formats.first_names import columns_of
    from ...data.warning import DataWarning

    types: dict[str, set[str]] = {column: set() for column in reading.header or ()}
    known = {*types} or {*columns_of(files[0], reading)}
    origins = [_origin(feature, reading, known) for feature in features]
    for column, kind in origins:
        types.setdefault(column, set()).add(kind)
    place = {column: k for k, column in enumerate([*types][:MAX_COLUMNS])}
    column_of = np.array([place.get(column, len(place)) for column, _ in origins], "int64")
    cells: dict[str, list[str]] = {column: [] for column in place}
    filled, n = np.zeros((MAX_ROWS, len(place) + 1), bool), 0
    with (
        warnings.catch_warnings(action="ignore", category=DataWarning),  # which the first reading has issued
        open_data(files, reading, "float64", ignore_labels=True, keep=tuple(place), parsers=0) as stream,
    ):
        for batch in stream:
            part = batch.rows(0, min(len(batch), MAX_ROWS - n))
            for column, kept in part.kept.items():
                cells[column] += kept
            row = n + np.repeat(np.arange(len(part)), np.diff(part.start))
            filled[row, column_of[part.columns]] = True
            if (n := n + len(part)) == MAX_ROWS:
                break
    return len(types), [_column(name, types[name], cells[name], filled[:n, k].tolist()) for name, k in place.items()]


def _origin(feature: str, reading: ReaderOptions, known: Collection[str]) -> tuple[str, str]:
    """Return the column of a feature and its type; ``known`` are the columns of the first rows."""
    from ...data.reading import date_features

    for column in reading.dates:
        if feature in date_features(column):
            return _outermost(column, known), "date"
    for column in reading.text:
        if feature.startswith(f"{column}:"):
            return _outermost(column, known), "text"
    if feature in known:
        return feature, "number"
    parts = feature.split("=")
    before = [_outermost("=".join(parts[:k]), known) for k in range(1, len(parts))]
    found = next((column for column in before if column in known), None)
    return (_outermost(feature, known), "number") if found is None else (found, "category")


def _outermost(path: str, known: Collection[str]) -> str:
    """Return the known column that is or contains what is at a path, such as ``a`` for ``a.0``."""
    parts = path.split(".")
    before = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((column for column in before if column in known), path)


def _column(name: str, types: set[str], cells: list[str], filled: list[bool]) -> dict[str, Any]:
    """Return what the cells of a column are; among numbers, words such as NA are no values, but missing."""
    if types <= {"number", "date"}:
        cells = [cell if has_value else "" for cell, has_value in zip(cells, filled, strict=True)]
    different = Counter(cell for cell in cells if cell)
    if types == {"number"} and different.keys() <= {"true", "false"}:
        types = {"boolean"}
    return {
        "name": name, "type": " and ".join(sorted(types)) or "empty", "missing": cells.count(""),
        "distinct": len(different), "examples": list(different)[:MAX_EXAMPLES],
    }  # fmt: skip


def _label(reading: ReaderOptions, column: str | None, rows: Rows, regression: bool) -> dict[str, Any] | None:
    """Return what the labels are; ``None`` if no column has them."""
    from ...data.class_order import sorted_numbers

    if reading.file_format.columns and column is None:
        return None
    if regression:
        numbers = list(rows.labels)
        return {"column": column, "kind": "numbers", "lowest": min(numbers), "highest": max(numbers)}
    names = list(rows.labels)
    classes = [{"class": names[k], "rows": rows.labels[names[k]]} for k in sorted_numbers(names)]
    return {"column": column, "kind": "labels" if rows.multilabel else "classes", "classes": classes}


def _save(path: str, file: str, reading: ReaderOptions, columns: Sequence[dict[str, Any]]) -> None:
    """Save the schema of a file."""
    from ...data.formats.header import column_names
    from ...data.schema import Schema

    if not reading.file_format.columns:
        raise click.UsageError(f"--save: {reading.format} has no columns, whose meaning a schema says; omit it")
    kinds = [(column["name"], column["type"].replace("boolean", "number")) for column in columns]
    Schema.of(reading, kinds, column_names(file, reading)).save(path)


# --- text ------------------------------------------------------------------------------------------------------------


def _command(ctx: click.Context, data: Sequence[str], reading: ReaderOptions, label: str | None) -> str:
    """Return the command that trains on the data as they were read here."""
    given = [text for text in ctx.find_root().obj[1:] if text != "--json"]
    if (saved := ctx.params["save"]) is not None:
        k = next(k for k, text in enumerate(given) if text.startswith("--save"))
        given[k : k + (2 if given[k] == "--save" else 1)] = []
        given += ["--schema", saved]
    name = PurePath(data[0]).name
    while PurePath(name).suffix in COMPRESSED:
        name = PurePath(name).stem
    missing = " --label NAME" if reading.file_format.columns and label is None else ""
    model = shlex.quote(f"{PurePath(name).stem or 'model'}.cw")
    return f"{shlex.join(['confidently', 'train', *given])}{missing} -o {model}"


def _text(facts: dict[str, Any], is_label_given: bool) -> str:
    mark = "" if facts["delimiter"] in (None, ",") else f", cells separated by {facts['delimiter']!r}"
    rows = counted(facts["rows"], "row") if facts["complete"] else first_of(facts["rows"], "row")
    lines = [
        f"data      {', '.join(map(shown, facts['files']))} ({facts['format']}{mark}), {rows}",
        f"label     {_label_text(facts['label'], is_label_given)}",
        *([f"weight    column {facts['weight']!r} (--weight)"] if facts["weight"] else []),
        *([f"missing   {', '.join(facts['missing'])} (--missing), and words such as NA"] if facts["missing"] else []),
        f"features  {facts['features']:,}",
    ]
    if columns := facts["columns"]:
        cells = [["column", "type", "missing", "distinct", "examples"]]
        for column in columns[:MAX_COLUMNS_SHOWN]:
            examples = ", ".join(map(_short, column["examples"]))
            cells.append(
                [column["name"], column["type"], f"{column['missing']:,}", f"{column['distinct']:,}", examples]
            )
        lines += ["", table(cells, str.ljust)]
        if (more := facts["n_columns"] - MAX_COLUMNS_SHOWN) > 0:
            lines.append(f"and {counted(more, 'more column')}")
    return "\n".join([*lines, "", "to train:", f"  {shown(facts['command'])}"])


def _label_text(label: dict[str, Any] | None, is_given: bool) -> str:
    if label is None:
        return "no column is named 'label'; name the one to predict with --label"
    where = "first in every row"
    if label["column"] is not None:
        where = f"column {label['column']!r} ({'--label' if is_given else 'by its name'})"
    if label["kind"] == "numbers":
        return f"{where}, numbers from {digits(label['lowest'])} to {digits(label['highest'])}: a regression"
    found = label["classes"]
    names = ", ".join(f"{shown(one['class'])} {one['rows']:,}" for one in found[:MAX_CLASSES_SHOWN])
    more = ", ..." if len(found) > MAX_CLASSES_SHOWN else ""
    nouns = ("label", "labels") if label["kind"] == "labels" else ("class", "classes")
    several = "any number of labels per row, " if label["kind"] == "labels" else ""
    return f"{where}, {several}{counted(len(found), *nouns)}: {names}{more}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else text[: MAX_WIDTH - 3] + "..."
