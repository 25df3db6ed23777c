"""Options for reading data: how rows become features, and what to do about invalid rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from ...data.formats.table import BY_NAME, FORMATS, WITH_COLUMNS, format_of
from .sections import in_section

if TYPE_CHECKING:
    from ...data import ReaderOptions

NGRAM_OPTIONS = ("analyzer", "ngrams", "counts")
NAME_OPTIONS = ("bits", "vocabulary")
COLUMN_OPTIONS = ("label", "weight", "drop", "category", "text")
READING = (
    "format", "zero_based", "columns", "label", "weight", "drop", "category", "text", "analyzer", "ngrams", "counts",
    "bits", "vocabulary", "normalize",
)  # fmt: skip

# of those that make sense where features are words to be counted
COUNTING = tuple(name for name in READING if name not in ("vocabulary", "normalize"))

_OPTIONS = [
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        help="Format of the data; by default the file's suffix tells, else svmlight.",
    ),
    click.option("--zero-based", is_flag=True, help="svmlight: the first feature has index 0, not 1."),
    click.option(
        "--columns",
        metavar="A,B,...",
        callback=lambda ctx, parameter, value: tuple(value.split(",")) if value else (),
        help="CSV and TSV without a header line: the columns' names.",
    ),
    click.option("--label", metavar="COLUMN", help='Tables: the column of labels. [default: "label"]'),
    click.option("--weight", metavar="COLUMN", help="Tables: a column of the examples' weights."),
    click.option("--drop", metavar="COLUMN", multiple=True, help="Tables: leave this column out. May be repeated."),
    click.option(
        "--category",
        metavar="COLUMN",
        multiple=True,
        help="Tables: take this column's numbers as names. May be repeated.",
    ),
    click.option(
        "--text", metavar="COLUMN", multiple=True, help="Tables: take this column as text, in n-grams. May be repeated."
    ),
    click.option(
        "--analyzer", type=click.Choice(["word", "char"]), help="Text: what n-grams are made of. [default: word]"
    ),
    click.option("--ngrams", metavar="N[-M]", help="Text: n-grams of this length, or of N to M. [default: 1]"),
    click.option(
        "--counts",
        type=click.Choice(["count", "binary"]),
        help="Text: an n-gram counts as often as it occurs, or once. [default: count]",
    ),
    click.option("--bits", type=int, metavar="B", help="Hash features' names into 2^B columns. [default: 22]"),
    click.option("--vocabulary", is_flag=True, help="Keep every feature's name exactly instead of hashing it."),
    click.option(
        "--normalize",
        type=click.Choice(["l2", "none"]),
        help="Whether to scale every row to length 1. [default: none for svmlight, else l2]",
    ),
]

on_error_option = click.option(
    "--on-error",
    metavar="stop|skip|limit=N",
    default="stop",
    show_default=True,
    callback=lambda ctx, parameter, value: _on_error(value),
    help="About a row that is not as it should be: stop; pass over it; pass over at most N.",
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of :func:`chosen_reading` to a command."""
    return _with_options(command, _OPTIONS)


def counting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of :func:`chosen_counting` to a command."""
    return _with_options(command, [option for name, option in zip(READING, _OPTIONS, strict=True) if name in COUNTING])


def _with_options(command: Callable[..., Any], options: Sequence[Any]) -> Callable[..., Any]:
    for option in reversed(in_section("How to read the data", list(options))):
        command = option(command)
    return command


def chosen_reading(options: dict[str, Any], data: Sequence[str]) -> ReaderOptions:
    """Take the options of :func:`reading_options` out of ``options``: how the data are to be read.

    The data may be caches, which know how they were read.
    """
    from ...data import ReaderOptions
    from ...data.cache.reading import reading_of_caches
    from ...data.formats.codes import infer_codes
    from ...data.sources.paths import expanded

    given = {name: options.pop(name) for name in READING}
    given = {name: value for name, value in given.items() if value not in (None, False, ())}
    files = expanded(data)
    cached = reading_of_caches(files, None)
    if cached is not None:
        if given:
            raise click.UsageError(f"a cache's rows have been read already: leave out {_listed(given)}")
        return cached
    try:
        given["format"] = given.get("format") or format_of(files)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    _check_combination(given)
    if "ngrams" in given:
        given["ngrams"] = _ngrams(given["ngrams"])
    try:
        return infer_codes(files, ReaderOptions(**given))
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def chosen_counting(options: dict[str, Any], data: Sequence[str]) -> ReaderOptions:
    """Take the options of :func:`counting_options` out of ``options``: how to read counts of words."""
    bits = options["bits"]
    reading = chosen_reading(options | dict.fromkeys(READING, None) | {n: options.pop(n) for n in COUNTING}, data)
    if not _is_cached(data):
        return replace(reading, normalize="none", vocabulary=reading.named and bits is None)
    if reading.normalize != "none":
        raise click.UsageError(
            "a topic model takes counts, and the cache's rows are scaled to length 1: build it with --normalize none"
        )
    return reading


def _is_cached(data: Sequence[str]) -> bool:
    from ...data.cache.reading import reading_of_caches
    from ...data.sources.paths import expanded

    return reading_of_caches(expanded(data), None) is not None


def _check_combination(given: dict[str, Any]) -> None:
    kind, file_format = given["format"], BY_NAME[given["format"]]
    columns, ngrams = _among(given, COLUMN_OPTIONS), _among(given, NGRAM_OPTIONS)
    if "zero_based" in given and file_format.named:
        raise click.UsageError(f"--zero-based is for numbered features; the features of {kind} have names")
    if columns and not file_format.columns:
        listed = ", ".join(WITH_COLUMNS)
        raise click.UsageError(f"{_listed(columns)} is for formats with named columns ({listed}); {kind} has none")
    if (names := _among(given, NAME_OPTIONS)) and not file_format.named:
        raise click.UsageError(f"{_listed(names)} is for features with names; those of {kind} are numbered")
    if "bits" in given and "vocabulary" in given:
        raise click.UsageError("--bits and --vocabulary are mutually exclusive; use one")
    if ngrams and not file_format.text and "text" not in given:
        remedy = "name the column of text with --text" if file_format.columns else f"{kind} has no text"
        raise click.UsageError(f"{_listed(ngrams)} is for text: {remedy}")
    _check_columns(columns)


def _check_columns(columns: dict[str, Any]) -> None:
    """A column can be one thing only."""
    role: dict[str, str] = {}
    for name, value in columns.items():
        for column in (value,) if isinstance(value, str) else value:
            if column in role:
                raise click.UsageError(
                    f"column {column!r} is given to --{role[column]} and to --{name}: give it to one"
                )
            role[column] = name


def _among(given: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: given[name] for name in names if name in given}


def _listed(names: dict[str, Any]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _ngrams(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"([0-9]+)(?:[-,]([0-9]+))?", text)
    if not found:
        raise click.UsageError(f"--ngrams takes a length or two, as 2 or 1-3; got {text!r}")
    return int(found[1]), int(found[2] or found[1])


def _on_error(text: str) -> str | int:
    if text in ("stop", "skip"):
        return text
    found = re.fullmatch(r"limit=([0-9]+)", text)
    if not found:
        raise click.UsageError(f"--on-error takes stop, skip or limit=N with a number of rows; got {text!r}")
    return int(found[1])
