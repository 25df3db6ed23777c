"""The character between the cells of CSV, by the header and the first rows."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from operator import itemgetter

from ..reading import DEFAULT_LABEL, ReaderOptions
from ..sources.compression import Chunk
from ..sources.source import display_name, peek_chunks
from ..warning import warn
from .files import Path

QUOTED = "csv"  # the format whose cells may be quoted
MARKS = ",;\t|"  # in the order of preference
ROWS_TO_READ = 50
MAX_BYTES = 1 << 16
MIN_FRACTION, MIN_MOST = 0.9, 0.5  # of the rows must have as many cells as the header; if nothing fits so many
MIN_QUOTED = 2  # cells of a column of TSV
COMMENT = b"#"
NUMBER_CELL = re.compile(rb"(^|[,;\t|])\s*[-+]?[0-9.]+\s*(?=[,;\t|\r]|$)")
DELIMITER_HINT = re.compile("sep=([,;\t|])\r?")  # a line above the header, for Excel


def with_delimiter(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the mark between the cells of CSV, unless they name it; quoted TSV is CSV with tabs."""
    if reading.file_format.delimiter is None or reading.delimiter is not None:
        return reading
    if reading.file_format.quoted:
        return replace(reading, delimiter=delimiter_of(path, reading))
    rows = cut(first_lines(path, reading.encoding), "\t", quoted=False)
    header = [] if reading.columns else rows[0] if rows else []
    if len(header) > 1 and all(map(_is_quoted, header)):
        what = "the names of its columns"
    elif any(map(_are_quoted, zip(*rows[not reading.columns :], strict=False))):
        what = "the cells of some columns"
    else:
        return reading
    warn(f"{display_name(path)} is read as {QUOTED} with tabs, because {what} are quoted")
    return replace(reading, format=QUOTED, delimiter="\t")


def _is_quoted(cell: str) -> bool:
    text = cell.strip()
    return len(text) > 1 and text[0] == text[-1] == '"'


def _are_quoted(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell.strip()]
    return len(filled) >= MIN_QUOTED and all(map(_is_quoted, filled))


def delimiter_of(path: Path, reading: ReaderOptions) -> str:
    """Return the mark between cells.

    It is one that gives the header several cells, one of them the label if possible, and nine in ten rows as many, of
    which those that begin with ``#`` may be none, or otherwise most rows. Of several it is the comma, or otherwise the
    one with the most cells; if there is none, it is the comma.
    """
    lines = first_lines(path, reading.encoding)
    if hint := DELIMITER_HINT.fullmatch(lines[0]):
        return hint[1]
    comment = COMMENT.decode()
    header = next((k for k, line in enumerate(lines) if line.strip()), 0)
    plain = [*lines[: header + 1], *(line for line in lines[header + 1 :] if not line.startswith(comment))]
    ways = ((lines, MIN_FRACTION), (plain, MIN_FRACTION), (plain, MIN_MOST))
    return next((mark for some, least in ways if (mark := _fitting(some, reading, least))), MARKS[0])


def _fitting(lines: list[str], reading: ReaderOptions, least: float) -> str | None:
    label, found, with_label = reading.label or DEFAULT_LABEL, dict[str, int](), dict[str, int]()
    for mark in MARKS:
        if rows := _rows(lines, mark, reading.columns, least):
            found[mark] = len(rows[0])
            if reading.columns or label in map(str.strip, rows[0]):
                with_label[mark] = len(rows[0])
        if "," in with_label:  # as in most files
            return ","
    among = with_label or found
    return "," if "," in among else max(among, key=lambda mark: among[mark], default=None)


def first_rows(path: Path, reading: ReaderOptions, mark: str) -> list[list[str]]:
    """Return the first rows under a mark, with the header."""
    lines = first_lines(path, reading.encoding)
    return cut(lines[1:] if DELIMITER_HINT.fullmatch(lines[0]) else lines, mark, reading.file_format.quoted)


def without_comments(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the same text with blank lines in place of those above the header that begin with ``#``.

    If the last of them has as many cells as the first row, which has a number, it is the header.
    """
    begun, done, rest = b"", 0, iter(chunks)
    for data, done in rest:
        begun += data
        if (text := _without_comments(begun, last=False)) is not None:
            yield Chunk(text, done)
            break
    else:
        if begun:
            yield Chunk(_without_comments(begun, last=True) or begun, done)
    yield from rest


def _without_comments(text: bytes, last: bool) -> bytes | None:
    """Return text without the comments at its beginning; ``None`` if what follows them is not there yet."""
    if not text.removeprefix(codecs.BOM_UTF8).startswith(COMMENT):
        return text
    lines = text.split(b"\n")
    n = next((k for k, line in enumerate(lines) if not line.startswith(COMMENT)), len(lines))
    if n >= len(lines) - 1 and not last:
        return None
    header, row = lines[n - 1], lines[n] if n < len(lines) else b""
    name = header.lstrip(b"# ")
    counts = {mark: [_n_cells(line, mark) for line in (header, row)] for mark in MARKS}
    cells = [mark.encode() for mark, (names, values) in counts.items() if 1 < names == values]
    is_header = bool(cells) and NUMBER_CELL.search(row) and not NUMBER_CELL.search(name) and name[:1] not in cells
    kept = [name if is_header else header if cells and name[:1] in cells else b""]
    return b"\n".join([b""] * (n - 1) + kept + lines[n:])


def _n_cells(line: bytes, mark: str) -> int:
    return max(map(len, cut([line.decode(errors="replace")], mark)), default=0)


def usual_cells(rows: Sequence[Sequence[str]]) -> int:
    """Return how many cells most rows have; 0 if they differ too much, or there are none."""
    n, count = max(Counter(map(len, rows)).items(), key=itemgetter(1), default=(0, 0))
    return n if count >= MIN_FRACTION * len(rows) else 0


def first_lines(path: Path, encoding: str) -> list[str]:
    """Return the first lines of a file, blank ones in place of comments above the header."""
    begun = b""
    with closing(peek_chunks(path, encoding)) as chunks:
        for data, _ in without_comments(chunks):
            begun += data
            if len(begun) > MAX_BYTES:
                begun = begun[: begun.rfind(b"\n", 0, MAX_BYTES) + 1] or begun[:MAX_BYTES]
                break
    return begun.decode("utf-8-sig", errors="replace").split("\n")


def _rows(lines: list[str], mark: str, columns: tuple[str, ...], least: float) -> list[list[str]]:
    """Return the first rows under a mark; none if it does not separate cells."""
    rows = cut(lines, mark)
    n = len(columns or (rows[0] if rows else ()))
    fits = sum(len(row) == n for row in rows)
    return rows if n > 1 and fits >= least * len(rows) else []


def cut(lines: Sequence[str], mark: str, quoted: bool = True) -> list[list[str]]:
    """Return lines as rows of cells under a mark, without blank ones."""
    rows, text = list[list[str]](), (line + "\n" for line in lines)
    try:
        for row in csv.reader(
            text, delimiter=mark, skipinitialspace=mark != "\t", quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        ):
            if len(row) > 1 or any(map(str.strip, row)):
                rows.append(row)
            if len(rows) > ROWS_TO_READ:
                break
    except csv.Error:  # a cell that is too long
        return []
    return rows
