"""The formats that are read: one row per format, with all that the rest of the package needs to know about it.

The command line lists formats before it imports NumPy, so this module imports nothing but the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple


class Format(NamedTuple):
    """A file format.

    Attributes
    ----------
    name : str
        As in ``--format``.
    title : str
        As in messages and documentation.
    suffixes : tuple of str
        Suffixes of its files; no two formats share one.
    syntax, features : str
        What a row looks like and what its features are called, in Markdown, for the documentation.
    reader : str
        The function that reads its files, as ``module:function`` in ``confidently.data.formats``.
    page : str, optional
        The page of the documentation that describes it.
    lines : bool
        Whether it has one row per line, wherever the file is cut.
    named : bool
        Whether features have names rather than numbers.
    columns : bool
        Whether rows have named columns, whose use ``label``, ``weight``, ``category`` and ``text`` choose.
    namespaces : bool
        Whether features are in namespaces, which ``drop`` and ``only`` choose as they choose columns.
    text : bool
        Whether a row is a text, whose n-grams are its features.
    delimiter : str, optional
        Character between cells, in formats whose column names and types are in doubt: names stand in the first row or
        in ``columns``, and whether a column holds numbers or categories is inferred.
    quoted : bool
        Whether cells may be quoted.
    keepable : tuple of str, optional
        What ``keep`` may name; ``None``: any column.
    line_writer : str, optional
        The function of ``confidently.data.writing.lines`` that writes a row.
    table_writer : str, optional
        The function of ``confidently.data.writing.tables`` that opens a writer, for formats that must know all columns
        before the first row: their input is read twice.
    predictions : bool
        Whether predictions can be written in it.
    example : str, optional
        Two rows for the tests of all formats: the first has the label ``a`` and the value 2 for the feature ``x`` (or
        the first feature), the second the label ``b`` and the value 1 for ``y``. ``None``: the format is binary.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    syntax: str
    features: str
    reader: str
    page: str | None = None
    lines: bool = False
    named: bool = True
    columns: bool = False
    text: bool = False
    namespaces: bool = False
    delimiter: str | None = None
    quoted: bool = False
    keepable: tuple[str, ...] | None = None
    line_writer: str | None = None
    table_writer: str | None = None
    predictions: bool = False
    example: str | None = None

    @property
    def binary(self) -> bool:
        """Whether its files are not text."""
        return self.example is None

    @property
    def header(self) -> bool:
        """Whether a file names its columns once, for all rows."""
        return self.columns and not self.lines

    @property
    def writable(self) -> bool:
        """Whether rows can be written in it."""
        return self.line_writer is not None or self.table_writer is not None


TABLE = (
    Format(
        name="svmlight", title="svmlight", page="svmlight.md", suffixes=(".svm", ".svmlight", ".libsvm"),
        syntax="`label index:value ... # comment`", features="numbered",
        reader="lines:read_lines", lines=True, named=False, keepable=(), line_writer="svmlight_line",
        example="a 1:2\nb 2:1\n",
    ),
    Format(
        name="vw", title="VW text", page="vw-text.md", suffixes=(".vw",),
        syntax="`label importance 'tag|namespace name:value ...`", features="`namespace^name`",
        reader="lines:read_lines", lines=True, namespaces=True, keepable=("tag",), line_writer="vw_line",
        example="a | x:2\nb | y\n",
    ),
    Format(
        name="text", title="plain text", suffixes=(".txt",),
        syntax="`label<TAB>text`", features="n-grams",
        reader="lines:read_lines", lines=True, text=True, keepable=("text",),
        example="a\tx x\nb\ty\n",
    ),
    Format(
        name="jsonl", title="JSON lines", page="json-lines.md", suffixes=(".jsonl", ".ndjson", ".json"),
        syntax='`{"label": ..., "key": value, ...}`', features="by key",
        reader="lines:read_lines", lines=True, columns=True, line_writer="json_line", predictions=True,
        example='{"label": "a", "x": 2}\n{"label": "b", "y": 1}\n',
    ),
    Format(
        name="csv", title="CSV", page="tables.md", suffixes=(".csv",),
        syntax="`cell,cell,...`, below a header", features="by column",
        reader="csv_text:read_csv", columns=True, delimiter=",", quoted=True, table_writer="csv_writer",
        predictions=True, example="label,x,y\na,2,\nb,,1\n",
    ),
    Format(
        name="tsv", title="TSV", page="tables.md", suffixes=(".tsv",),
        syntax="`cell<TAB>cell...`, below a header", features="by column",
        reader="csv_text:read_csv", columns=True, delimiter="\t", table_writer="tsv_writer",
        predictions=True, example="label\tx\ty\na\t2\t\nb\t\t1\n",
    ),
    Format(
        name="parquet", title="Parquet", page="tables.md", suffixes=(".parquet", ".pq"),
        syntax="a row of the table", features="by column",
        reader="arrow_tables:read_tables", columns=True, table_writer="parquet_writer", predictions=True,
    ),
    Format(
        name="feather", title="Feather", page="tables.md", suffixes=(".feather", ".arrow", ".ipc"),
        syntax="a row of the table", features="by column",
        reader="arrow_tables:read_tables", columns=True, table_writer="feather_writer",
    ),
)  # fmt: skip

DEFAULT = "svmlight"  # where no suffix names a format
OBJECTS = "jsonl"  # the format whose rows are JSON objects
TEXTS = "text"  # the format whose rows are texts
TYPED = "parquet"  # the format that stands for tables in memory, whose columns declare their types
BY_NAME = {format.name: format for format in TABLE}
BY_SUFFIX = {suffix: format for format in TABLE for suffix in format.suffixes}
FORMATS = tuple(BY_NAME)
TABLES = tuple(format.name for format in TABLE if format.columns and not format.lines)
NAMESPACES = next(format.name for format in TABLE if format.namespaces)  # that of Vowpal Wabbit
WITH_COLUMNS = tuple(format.name for format in TABLE if format.columns)
SELECTABLE = tuple(format.name for format in TABLE if format.columns or format.namespaces)
WRITABLE = tuple(format.name for format in TABLE if format.writable)
FOR_PREDICTIONS = tuple(format.name for format in TABLE if format.predictions)
COMPRESSED = (".gz", ".zst", ".bz2", ".lz4", ".xz")  # may follow any suffix


def format_of(paths: Sequence[str | os.PathLike[str]], default: str = DEFAULT) -> str:
    """Return the format that the suffixes of files name, without those of compression.

    Raises
    ------
    ValueError
        If they name different formats.
    """
    found = {name: os.fspath(path) for path in reversed(paths) if (name := format_of_suffix(path)) is not None}
    if len(found) > 1:
        listed = ", ".join(f"{path} {name}" for name, path in found.items())
        raise ValueError(
            f"the files of a stream must have one format, got {listed}; pass the format, or read them separately"
        )
    return next(iter(found), default)


def format_of_suffix(path: str | os.PathLike[str]) -> str | None:
    """Return the format that a file's suffix names, if any."""
    suffixes = [suffix.lower() for suffix in PurePath(os.fspath(path)).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    found = BY_SUFFIX.get(suffixes[-1]) if suffixes else None
    return None if found is None else found.name
