"""Writers of predictions: columns of text, JSON Lines, Parquet.

The text of a batch is one pattern per row, filled with the values of all rows at once: many times faster than a loop.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

import click
import numpy as np

from ... import _core
from ...data.formats.table import BY_SUFFIX
from ...data.selection import in_parts
from ...data.sources.whole_files import new_file, new_text_file
from ...learner.predictor import rows_at_once
from ...printable import printable
from ...spreadsheets import harmless
from ..inputs import open_for, reported
from ..options.predictions import JSON_FORMAT, check_csv_safe
from .predictions import Abstained, Column, Named
from .reporter import reported_batches
from .text import ABSENT

if TYPE_CHECKING:
    from .predictions import Predictions

DEFAULT_FOR_PREDICTIONS = "tsv"
MIN_ROWS_PER_GROUP = 2**16  # of a Parquet file, at least


class Writer(Protocol):
    """Writes the values of columns, batch by batch."""

    def write(self, values: Sequence[Sequence[Any]]) -> None: ...


def write_predictions(predictions: Predictions, data: Sequence[str], options: dict[str, Any], **opening: Any) -> None:
    """Write a model's predictions for data as the options of :mod:`confidently.cli.options.predictions` say.

    ``opening`` goes to :func:`confidently.cli.inputs.open_for`.
    """
    path = options["output_path"]
    kind = options["output_format"] or (JSON_FORMAT if options["as_json"] else format_of(path))
    check_csv_safe(options["csv_safe"], kind)
    with (
        reported(),
        writer(kind, path, predictions.columns, predictions.names, options["csv_safe"]) as file,
        open_for(predictions.model, data, ignore_labels=True, keep=predictions.keep, **opening) as stream,
    ):
        rows = rows_at_once(len(predictions.names))
        for batch in reported_batches(stream, quiet=options["quiet"] or path is None):
            for part in in_parts([batch], rows):
                file.write(predictions.of(part))


class Terminal:
    """Standard output where a person reads it: control characters of data are escaped; pipes and files get them."""

    def __init__(self, file: TextIO) -> None:
        self.file, self.flush = file, file.flush

    def write(self, text: str) -> int:
        return self.file.write(printable(text, keep="\n\t"))


@contextmanager
def output(path: str | None) -> Iterator[TextIO]:
    """Open standard output, or a file that appears under its name when all is written."""
    if path is None:
        yield cast(TextIO, Terminal(sys.stdout)) if sys.stdout.isatty() else sys.stdout
        return
    with new_text_file(path) as file:
        yield file


def format_of(path: str | None) -> str:
    """Return the format that a file's suffix names, if predictions can be written in it."""
    found = BY_SUFFIX.get(Path(path).suffix.lower()) if path else None
    return found.name if found is not None and found.predictions else DEFAULT_FOR_PREDICTIONS


@contextmanager
def writer(
    kind: str, path: str | None, columns: list[Column], names: Sequence[Any], safe: bool = False
) -> Iterator[Writer]:
    """Open a writer to standard output, or to a file that appears when all is written.

    ``names`` are the names of the classes; ``safe``: a spreadsheet computes no text.
    """
    with WRITERS[kind].opened(path, columns, names, safe) as found:
        yield found


class Lines:
    """One line per row."""

    format: str

    def __init__(self, file: TextIO, columns: list[Column], at_once: bool = False, safe: bool = False) -> None:
        self.file, self.columns, self.at_once = file, columns, at_once
        self.plain = _harmless if safe else _plain
        self.memory: dict[Any, str] = {}
        self.pattern = self.line()
        self.header: str | None = None  # written with the first rows: without any row there is an error

    @classmethod
    @contextmanager
    def opened(cls, path: str | None, columns: list[Column], names: Sequence[Any], safe: bool) -> Iterator[Lines]:
        """Open a writer to a file or to standard output."""
        with output(path) as file:
            yield cls(file, columns, path is None, safe)

    def line(self) -> str:
        """Return the pattern of a row, with one placeholder per column."""
        raise NotImplementedError

    def text(self, value: Any) -> str:
        """Return a string, a class or a list of them as it is written."""
        raise NotImplementedError

    def write(self, values: Sequence[Sequence[Any]]) -> None:
        """Write rows; standard output passes them on at once."""
        if self.header is not None:
            self.file.write(self.header)
            self.header = None
        self.file.write(self._text(values))
        if self.at_once:
            self.file.flush()

    def _text(self, values: Sequence[Sequence[Any]]) -> str:
        parts = [self._encoded(column, found) for column, found in zip(self.columns, values, strict=True)]
        return self.pattern * len(parts[0]) % tuple(chain.from_iterable(zip(*parts, strict=True)))

    def _encoded(self, column: Column, values: Sequence[Any]) -> Sequence[Any]:
        if column.kind == "number":
            return cast("np.ndarray", values).tolist()
        if column.kind != "class":
            return [self.text(value) for value in values]
        memory = self.memory
        for name in set(values) - memory.keys():
            memory[name] = self.text(name)
        return [memory[name] for name in values]


class Tsv(Lines):
    """Columns separated by tabs, with a header if there are several. Tabs and line ends in a value become spaces."""

    format = DEFAULT_FOR_PREDICTIONS
    separator = "\t"

    def __init__(self, file: TextIO, columns: list[Column], at_once: bool = False, safe: bool = False) -> None:
        super().__init__(file, columns, at_once, safe)
        if self.has_header():
            self.header = self.separator.join(self.text(column.header) for column in columns) + "\n"

    def has_header(self) -> bool:
        """Return whether the first line names the columns."""
        return len(self.columns) > 1

    def _text(self, values: Sequence[Sequence[Any]]) -> str:
        """Return rows as text: that of classes and numbers, and nothing else, is made by compiled code."""
        parts: list[Any] = []
        for column, found in zip(self.columns, values, strict=True):
            if column.kind == "number":
                parts.append(np.ascontiguousarray(found, np.float64))
            elif isinstance(found, Named):
                names = [self.text(name) for name in found.names]
                if any("\ud800" <= character <= "\udfff" for name in names for character in name):
                    return super()._text(values)  # its error says that they cannot be written as UTF-8
                parts.append((np.ascontiguousarray(found.numbers, "int32"), names))
            else:
                return super()._text(values)
        return _core.table_text(parts, self.separator)

    def line(self) -> str:
        placeholders = ["%.9g" if column.kind == "number" else "%s" for column in self.columns]
        return self.separator.join(placeholders) + "\n"

    def text(self, value: Any) -> str:
        return " ".join(self.plain(value).splitlines()).replace("\t", " ")


class Csv(Tsv):
    """Columns separated by commas, with a header; quoted where necessary (RFC 4180)."""

    format = "csv"
    separator = ","

    def has_header(self) -> bool:
        return True

    def text(self, value: Any) -> str:
        text = self.plain(value)
        return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in ',"\r\n') else text


class JsonLines(Lines):
    """One JSON object per row; numbers of several classes are an object within it."""

    format = JSON_FORMAT

    def line(self) -> str:
        parts: dict[str, str | dict[str, str]] = {}
        for column in self.columns:
            placeholder = "%r" if column.kind == "number" else "%s"
            if column.part is None:
                parts[column.name] = placeholder
            else:
                inner = parts.setdefault(column.name, {})
                if isinstance(inner, str):
                    raise click.UsageError(f"--keep: {column.name!r} is also a column of predictions")
                inner[column.part] = placeholder
        return self._object({name: p if isinstance(p, str) else self._object(p) for name, p in parts.items()}) + "\n"

    @staticmethod
    def _object(parts: dict[str, str]) -> str:
        return "{" + ", ".join(f"{json.dumps(name).replace('%', '%%')}: {part}" for name, part in parts.items()) + "}"

    def _encoded(self, column: Column, values: Sequence[Any]) -> Sequence[Any]:
        found = super()._encoded(column, values)
        if column.kind != "number" or np.isfinite(cast("np.ndarray", values)).all():
            return found
        return [number if math.isfinite(number) else NULL for number in found]

    def text(self, value: Any) -> str:
        return json.dumps(None if isinstance(value, Abstained) else value)


class Null:
    """What JSON has where a number is infinite, as limits of intervals are before a level exists."""

    def __repr__(self) -> str:
        return "null"


NULL = Null()


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_plain, value))
    return ABSENT if value is None else str(value)


def _harmless(value: Any) -> str:
    return _plain(value) if isinstance(value, Abstained) else harmless(_plain(value))


class Parquet:
    """Row groups of a Parquet file. Where the model abstains, the class is null."""

    format = "parquet"

    @staticmethod
    @contextmanager
    def opened(path: str | None, columns: list[Column], names: Sequence[Any], safe: bool) -> Iterator[Parquet]:
        """Open a writer to a file."""
        if path is None:
            raise click.UsageError("--output-format: Parquet cannot be written to standard output; use -o FILE")
        try:
            import pyarrow as pa
            import pyarrow.parquet as parquet
        except ImportError:
            raise click.UsageError("--output-format: pyarrow is not installed; run pip install pyarrow") from None
        name = pa.int64() if all(isinstance(n, int) for n in names if n is not None) else pa.string()
        types = {"string": pa.string(), "class": name, "classes": pa.list_(name), "number": pa.float64()}
        schema = pa.schema([(column.header, types[column.kind]) for column in columns])
        with new_file(path) as temporary, parquet.ParquetWriter(temporary, schema) as file:
            found = Parquet(file, schema)
            yield found
            found.flush()

    def __init__(self, file: Any, schema: Any) -> None:
        self.file, self.schema, self.rows = file, schema, 0
        self.held: list[Any] = []

    def write(self, values: Sequence[Sequence[Any]]) -> None:
        """Hold rows until there are enough for a group."""
        import pyarrow as pa

        fields = zip(self.schema, values, strict=True)
        self.held.append(pa.record_batch([_array(field.type, found) for field, found in fields], schema=self.schema))
        self.rows += len(values[0])
        if self.rows >= MIN_ROWS_PER_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write the rows held."""
        import pyarrow as pa

        if self.held:
            self.file.write_table(pa.Table.from_batches(self.held), row_group_size=self.rows)
        self.held, self.rows = [], 0


def _array(kind: Any, values: Sequence[Any]) -> Any:
    import pyarrow as pa

    convert: Callable[[Any], Any] = str if kind in (pa.string(), pa.list_(pa.string())) else int
    if pa.types.is_floating(kind):
        return pa.array(values, kind)
    if pa.types.is_list(kind):
        return pa.array([[None if v is None else convert(v) for v in row] for row in values], kind)
    return pa.array([None if v is None or isinstance(v, Abstained) else convert(v) for v in values], kind)


WRITERS: dict[str, type[Lines] | type[Parquet]] = {found.format: found for found in (Tsv, Csv, JsonLines, Parquet)}
