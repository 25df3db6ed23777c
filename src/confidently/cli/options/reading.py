"""Options for reading data: how rows become features, and what to do about invalid rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ...data.formats.table import BY_NAME, FORMATS, SELECTABLE, WITH_COLUMNS
from .arguments import all_names, listed, names_of
from .files import INPUT
from .sections import Decorator, adding

if TYPE_CHECKING:
    from ...data import ReaderOptions
    from ...views.view import View

NGRAM_OPTIONS = ("analyzer", "ngrams", "counts")
NAME_OPTIONS = ("bits", "vocabulary")
COLUMN_OPTIONS = ("label", "weight", "category", "numbers", "text", "dates")
UNIT_COLUMNS = ("units", "category", "text", "dates", "drop")
SELECTION = ("drop", "only")  # of columns or namespaces
OF_OTHER_FEATURES = (
    *SELECTION, *NGRAM_OPTIONS, *NAME_OPTIONS, "zero_based", "category", "dates", "units", "normalize", "zeros"
)  # fmt: skip
READING = (
    "schema", "format", "zero_based", "columns", "delimiter", "label", "missing", "missing_label", "weight", "drop",
    "only", "category", "numbers", "text", "encoder", "dates", "date_format", "decimal", "thousands", "units",
    "analyzer", "ngrams", "counts", "bits",
    "vocabulary", "encoding", "normalize", "zeros",
)  # fmt: skip

NEW_DATA = ("strict", "encoding", "delimiter", "missing_label", "format", "label")  # of data for a trained model
NEEDS_ROWS = "--view {} needs rows as they are; build the cache with confidently cache --normalize none"
NEEDS_ROWS_STACK = (
    "several learners (--auto) need rows as they are; build the cache with confidently cache --normalize none, or "
    "train a single learner, such as --rule arow"
)
COUNTING = tuple(
    name for name in READING if name not in ("encoder", "vocabulary", "normalize", "zeros")
)  # for words to be counted


def _only(*names: str) -> Any:
    return click.option(
        *names,
        "only",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: read no features but those of these columns. VW text: of these namespaces. Repeatable.",
    )


def _normalize(default: str) -> Any:
    return click.option(
        "--normalize",
        type=click.Choice(["l2", "none"]),
        help=f"Scale every row to unit L2 norm, or leave it.  [default: {default}]",
    )


def delimiter_option(default: str) -> Any:
    """Return the option that names the character between the cells of CSV."""
    return click.option(
        "--delimiter",
        metavar="CHARACTER",
        callback=lambda ctx, parameter, value: "\t" if value in ("tab", "\\t") else value,
        help=f"CSV, TSV: separate cells at one of , ; | : ^ ~ or tab.  [default: {default}]",
    )


def missing_label_option(default: str) -> Decorator:
    """Return the option about rows without a label."""
    return click.option(
        "--missing-label",
        type=click.Choice(["error", "skip"]),
        help=f"Action on a row without a label: stop, or leave it out.  [default: {default}]",
    )


_OPTIONS = [
    click.option(
        "--schema",
        metavar="FILE",
        type=INPUT,
        help="Tables: read columns as this file says, which look --save wrote; other options come before it.",
    ),
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of the data.  [default: by the file's suffix, otherwise by its first lines]",
    ),
    click.option("--zero-based", is_flag=True, help="svmlight: number features from 0 instead of 1."),
    click.option(
        "--columns",
        metavar="NAMES",
        callback=lambda ctx, parameter, value: names_of(value) if value else (),
        help="CSV and TSV without a header: name the columns, separated by commas.",
    ),
    delimiter_option("inferred"),
    click.option(
        "--label",
        metavar="NAME",
        help="Tables: read labels from this column.  [default: label; otherwise target, class or y, first or last]",
    ),
    click.option(
        "--missing",
        metavar="MARKS",
        multiple=True,
        callback=all_names,
        help="Tables: read these cells as missing values, such as -999,n.d.; none: only words such as NA. Repeatable.  "
        "[default: inferred]",
    ),
    missing_label_option("error"),
    click.option(
        "--weight", metavar="NAME", help="Tables: read the examples' weights from this column.  [default: 1 per row]"
    ),
    click.option(
        "--drop",
        "--ignore",
        "drop",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: leave out these columns. VW text: leave out these namespaces. Repeatable.",
    ),
    _only("--only", "--keep"),
    click.option(
        "--category",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: read the numbers of these columns as categories. Repeatable.",
    ),
    click.option(
        "--numbers",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="CSV, TSV: read these columns as numbers, even if they look like codes. Repeatable.  [default: inferred]",
    ),
    click.option(
        "--text",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: read these columns as text, in n-grams. Repeatable.",
    ),
    click.option(
        "--encoder",
        metavar="NAME",
        help="Text, or tables with a column --text: learn the vectors of an encoder instead of n-grams; wordllama.",
    ),
    click.option(
        "--dates",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: read these columns as dates and times, as numbers. Repeatable.  [default: inferred]",
    ),
    click.option(
        "--date-format",
        metavar="FORMAT",
        help="Tables: columns of dates write them like this, such as %d/%m/%Y or %d.%m.%y %H:%M.  [default: inferred]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="CSV, TSV and --units: the decimal mark of numbers.  [default: .]",
    ),
    click.option(
        "--thousands",
        metavar="CHARACTER",
        help="CSV, TSV and --units: the separator of groups of three digits: , . ' _ or a space.  [default: none]",
    ),
    click.option(
        "--units",
        metavar="NAMES",
        multiple=True,
        callback=all_names,
        help="Tables: read these columns as numbers with a unit, a currency or %, which is left out. Repeatable.",
    ),
    click.option(
        "--analyzer",
        type=click.Choice(["word", "char"]),
        help="Text: make n-grams of words or of characters.  [default: word]",
    ),
    click.option("--ngrams", metavar="N[-M]", help="Text: use n-grams of length N, or N to M.  [default: 1]"),
    click.option(
        "--counts",
        type=click.Choice(["count", "binary"]),
        help="Text: count every occurrence of an n-gram, or only the first.  [default: count]",
    ),
    click.option("--bits", type=int, help="Hash the names of features into 2^INTEGER columns.  [default: 22]"),
    click.option("--vocabulary", is_flag=True, help="Keep the exact name of every feature instead of hashing it."),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Text: read files in this encoding, such as latin-1, cp1252 or utf-16.  [default: utf-8]",
    ),
    _normalize("l2; svmlight and several learners: none"),
    click.option(
        "--zeros", is_flag=True, help="Tables: keep numbers that are 0, which views can tell from missing ones."
    ),
]

on_error_option = click.option(
    "--on-error",
    metavar="stop|skip|limit=N",
    default="stop",
    callback=lambda ctx, parameter, value: _on_error(value),
    help="Action on an invalid row: stop, skip it, or skip at most N.",
)
_NEW_DATA_OPTIONS = [
    click.option(
        "--format",
        metavar="FORMAT",
        type=click.Choice(FORMATS),
        help="Format of the data, any with the columns of the training data.  [default: by the suffix or first lines]",
    ),
    click.option("--label", metavar="NAME", help="Tables: the column of labels.  [default: that of training]"),
    click.option(
        "--strict", is_flag=True, help="Tables: stop if columns are missing or new, instead of warning of them."
    ),
    click.option(
        "--encoding", metavar="NAME", help="Text: read files in this encoding.  [default: that of the training data]"
    ),
    delimiter_option("as in training"),
]
new_missing_label_option = missing_label_option("as in training")
targets_option = click.option("--regression", "targets", is_flag=True, help="Read labels as numbers, for regression.")
multilabel_option = click.option(
    "--multilabel",
    is_flag=True,
    help="Read multiple labels per row, separated by commas.  [default: inferred from the first 1,000 rows]",
)
_NAMED = dict(zip(READING, _OPTIONS, strict=True))
reading_options = adding(_OPTIONS, "Reading data")
_OF_CACHES = {"only": _only("--only"), "normalize": _normalize("none")}  # of which --keep is another option
caching_options = adding((_NAMED | _OF_CACHES).values(), "Reading data")
counting_options = adding([_NAMED[name] for name in COUNTING], "Reading data")
new_data_options = adding(_NEW_DATA_OPTIONS)  # of a command that reads data for a trained model


def opening_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return how to open data for a trained model, as :func:`confidently.cli.inputs.open_for` takes it."""
    return {name: options.get(name) for name in NEW_DATA}


def chosen_reading(
    options: dict[str, Any], data: Sequence[str], view: View | None = None, infer: bool = True, stack: bool = False
) -> ReaderOptions:
    """Return how to read the data by the options of :func:`reading_options`, for a view if any.

    Caches store how they were read. Without ``infer``, what columns hold is left open. Of a ``stack``, ``view`` is one
    of several.
    """
    from ...data import ReaderOptions
    from ...data.formats.guess import format_of_files
    from ...data.formats.inference import infer_columns
    from ...data.sources.paths import expand_paths
    from ...data.stream import cached_reading

    given = {name: options[name] for name in READING if options[name] not in (None, False, ())}
    files = expand_paths(data)
    cached = cached_reading(files, None)
    if cached is not None:
        if given:
            raise click.UsageError(f"a cache stores how its rows were read; omit {listed(given)}")
        in_columns = cached.file_format.columns and cached.encoder is None
        if view is not None and view.takes_values and in_columns and not cached.zeros:
            raise click.UsageError(NEEDS_ROWS_STACK if stack else NEEDS_ROWS.format(view.name))
        return cached
    try:
        given["format"] = given.get("format") or format_of_files(files)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    schema, schema_path = None, given.pop("schema", None)
    _check_combination(given)
    if schema_path is not None:
        from ...data.schema import Schema

        if not BY_NAME[given["format"]].columns:
            raise click.UsageError(f"--schema is for formats with named columns; {given['format']} has none")
        schema = Schema.load(schema_path)
        given = schema.options(given["format"]) | given
    if "encoder" in given:
        from ...encoders import encoder_of

        given["encoder"] = encoder_of(given["encoder"]).info
    elif view is not None and view.takes_values and BY_NAME[given["format"]].columns:
        given = dict[str, Any](normalize="none", zeros=True) | given
    if "ngrams" in given:
        given["ngrams"] = _ngrams(given["ngrams"])
    try:
        reading = ReaderOptions(**given)
        if schema is not None and infer:
            schema.check(files[0], reading, schema_path)
        return infer_columns(files, reading) if infer else reading
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def chosen_raw_reading(options: dict[str, Any], data: Sequence[str]) -> ReaderOptions:
    """Return how to read rows as they are by the options of :func:`reading_options`, for a stack.

    Every member's view scales rows itself; ``--normalize`` does it before, if it is given.
    """
    from ...views.standard import Standard

    if not _is_cached(data) and options["normalize"] is None and options["encoder"] is None:
        options = options | {"normalize": "none"}
    return chosen_reading(options, data, Standard(), stack=True)


def chosen_counting(options: dict[str, Any], data: Sequence[str]) -> ReaderOptions:
    """Return how to read counts of words by the options of :func:`counting_options`."""
    bits = options["bits"]
    reading = chosen_reading(dict.fromkeys(READING, None) | options, data)
    if not _is_cached(data):
        return replace(reading, normalize="none", vocabulary=reading.named and bits is None)
    if reading.normalize != "none":
        raise click.UsageError(
            "a topic model needs counts, got a cache of rows scaled to unit L2 norm; build it with --normalize none"
        )
    return reading


def _is_cached(data: Sequence[str]) -> bool:
    from ...data.cache.origin import is_cache
    from ...data.sources.paths import expand_paths

    return any(map(is_cache, expand_paths(data)))


def _check_combination(given: dict[str, Any]) -> None:
    kind, file_format = given["format"], BY_NAME[given["format"]]
    if "encoder" in given and (others := _among(given, OF_OTHER_FEATURES)):
        raise click.UsageError(f"--encoder makes features of the text only; omit {listed(others)}")
    columns, ngrams = _among(given, COLUMN_OPTIONS), _among(given, NGRAM_OPTIONS)
    if "zero_based" in given and file_format.named:
        raise click.UsageError(f"--zero-based is for numbered features; features of {kind} have names")
    if (columns or "zeros" in given) and not file_format.columns:
        formats = ", ".join(WITH_COLUMNS)
        raise click.UsageError(
            f"{listed(columns or ['zeros'])} is for formats with named columns ({formats}); {kind} has none"
        )
    if (chosen := _among(given, SELECTION)) and kind not in SELECTABLE:
        formats = ", ".join(SELECTABLE)
        raise click.UsageError(f"{listed(chosen)} is for named columns and namespaces ({formats}); {kind} has neither")
    if (names := _among(given, NAME_OPTIONS)) and not file_format.named:
        raise click.UsageError(f"{listed(names)} is for named features; features of {kind} are numbers")
    if "bits" in given and "vocabulary" in given:
        raise click.UsageError("--bits and --vocabulary are mutually exclusive; use one")
    if ngrams and not file_format.text and "text" not in given:
        remedy = "name the text column with --text" if file_format.columns else f"{kind} has no text"
        raise click.UsageError(f"{listed(ngrams)} is for text; {remedy}")
    _check_columns(columns | _among(given, ("drop",)))
    _check_columns(_among(given, UNIT_COLUMNS))


def _check_columns(columns: dict[str, Any]) -> None:
    """Reject a column with two roles."""
    role: dict[str, str] = {}
    for name, value in columns.items():
        for column in (value,) if isinstance(value, str) else value:
            if column in role:
                raise click.UsageError(f"column {column!r} is passed to --{role[column]} and --{name}; use one")
            role[column] = name


def _among(given: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _ngrams(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]+)(?:[-,]([0-9]+))?", text)
    if not found:
        raise click.UsageError(f"--ngrams: expected one or two lengths, got {text!r}; use 2 or 1-3")
    return int(found[1]), int(found[2] or found[1])


def _on_error(text: str) -> str | int:
    if text in ("stop", "skip"):
        return text
    found = re.fullmatch(r"limit=([0-9]+)", text)
    if not found:
        raise click.UsageError(f"--on-error: expected stop, skip or limit=N with a number of rows, got {text!r}")
    return int(found[1])
