"""How a model reads the same columns in files of another format than its training data had."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from ..expected_columns import columns_of_features
from ..features import Features
from ..reading import ReaderOptions
from ..sources.in_memory import InMemory
from .delimiters import with_delimiter
from .files import Path
from .guess import format_of_files
from .header import column_names
from .table import BY_NAME


def in_format_of(
    paths: Sequence[Path], reading: ReaderOptions, features: Features | None, format: str | None = None
) -> ReaderOptions:
    """Return the options with which files have the columns of training, whatever format they have.

    Parameters
    ----------
    paths : sequence of path
    reading : ReaderOptions
        How the model reads rows.
    features : Features, optional
        The features that it knows.
    format : str, optional
        Of the files, by default by their names, or else by their first lines. A file of lines without columns is read
        as the training data were.

    Raises
    ------
    ValueError
        If rows of one of the formats have columns, and those of the other, which ``format`` names, have none.
    """
    if any(isinstance(path, InMemory) for path in paths):
        return reading
    found = format
    if found is None and reading.file_format.columns:
        with suppress(ValueError):  # of several formats
            found = format_of_files(paths)
    if found is None or found == reading.format:
        return reading
    both = BY_NAME[found].columns and reading.file_format.columns
    if not both and format is None:
        return reading
    if not both:
        raise ValueError(f"the model was trained on {reading.file_format.title}, which is not read as {found}")
    target = BY_NAME[found]
    if target.delimiter is None:
        return reading.of_objects() if target.lines else replace(reading.of_table(), format=found)
    if reading.file_format.delimiter is not None:
        return _delimited(paths, replace(reading, format=found, delimiter=None, columns=()))
    as_text = _delimited(paths, replace(reading, format=found, codes=()))
    columns = columns_of_features(() if features is None else features.names, column_names(paths[0], as_text))
    own = {*reading.dates, *reading.text, *reading.category, *reading.units}
    numbers = tuple(column for column, is_number in columns.items() if is_number and column not in own)
    codes = tuple(column for column in columns if column not in (*numbers, *own))
    return replace(as_text, codes=codes, numbers=numbers, mixed=numbers)


def _delimited(paths: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
    with suppress(OSError, ValueError):  # raised again when the rows are read
        return with_delimiter(paths[0], reading)
    return reading
