"""Formats with one row per line; the parsers are compiled (core/data/line_reader.hpp)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

from ... import _core
from ..batch import Batch, DataError
from ..reading import DEFAULT_LABEL, ReaderOptions
from ..request import ReadRequest
from ..sources.background import Turn, in_order, processors
from ..sources.compression import Chunk
from ..sources.file_range import FileRange
from ..sources.in_memory import InMemory
from ..sources.source import plain_file, read_chunks
from .files import Path, batches_of_files
from .guess import format_of_content, has_columns_of_words
from .table import format_of_suffix

FIRST_LINES = re.compile("line [12],")
MAX_LINE_BYTES = 64 << 20  # bytes: a file without line ends must not fill the memory
MAX_PARSERS = 4  # one thread of training keeps up with no more parsers
PIECES_AHEAD = 2  # in addition to those that are being parsed


def read_lines(paths: Sequence[Path], reading: ReaderOptions, request: ReadRequest) -> Iterator[Batch]:
    """Yield the rows of one file after the other, their labels as lists."""
    if all(isinstance(path, InMemory) and path.n_bytes <= request.chunk_bytes for path in paths):
        request = request._replace(parsers=0)  # of one piece, for which threads take longer to start
    n = min(MAX_PARSERS, processors() + 1) if request.parsers is None else request.parsers  # one may wait for its turn
    parsers = Parsers(reading, request, max(n, 1))

    def parsed(name: str, path: Path) -> Iterator[tuple[dict[str, Any], int]]:
        try:
            with plain_file(path, reading.encoding) as file:
                if file is None:
                    yield from parsers.rows(pieces(read_chunks(path, request.chunk_bytes, reading.encoding)))
                else:
                    yield from parsers.rows(pieces_of_file(file.fileno(), request.chunk_bytes))
        except DataError:
            raise
        except ValueError as error:
            raise ValueError(f"{error}{_if_unnamed(path, reading, str(error))}") from None

    return batches_of_files(paths, parsed, request.keep)


def _if_unnamed(path: Path, reading: ReaderOptions, error: str) -> str:
    """Return a hint for a file whose suffix names no format, if its first line is not of the one assumed."""
    if isinstance(path, FileRange | InMemory) or not FIRST_LINES.match(error):
        return ""
    if format_of_suffix(path) is not None:
        found = format_of_content(path) if reading.file_format.text else reading.format
        if found is None and has_columns_of_words(path):
            return (
                "; columns between spaces are no format: convert them, such as with tr -s ' ' '\\t' < FILE > FILE.tsv"
            )
        return "" if found in (None, reading.format) else f"; the first lines look like {found}: use --format {found}"
    if PurePath(path).suffix.lower() == ".arff":
        return "; of ARFF, keep the rows below @data, and read them with --format csv --columns NAMES"
    return f"; the file is read as {reading.format}, because its name shows no format: name another with --format"


class Parsers:
    """Compiled parsers that share a stream; the rows do not depend on their number.

    Each numbers features and labels as it sees them; in the order of the stream they get the numbers of the stream.
    """

    def __init__(self, reading: ReaderOptions, request: ReadRequest, n: int) -> None:
        own_columns = reading.named and not request.freeze  # otherwise the columns are known
        self.parsers = [parser_of(reading, request, own_columns) for _ in range(n)]
        self.ahead = request.ahead(n + PIECES_AHEAD)
        self.numbering = _core.Numbering(request.options(reading))
        if (known := request.features) is not None and reading.named:
            features = known.key, known.names.text, known.names.start
            if own_columns:
                self.numbering.restore(*features)
            for parser in [] if own_columns else self.parsers:
                parser.restore(*features, request.freeze)

    def rows(self, pieces: Iterable[Piece | _core.LinePiece]) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the rows of a file, piece by piece, and the bytes of it read by then.

        Raises
        ------
        ValueError
            For the first invalid row, with its line.
        """
        return in_order(pieces, [self._work_of(parser) for parser in self.parsers], self.ahead)

    def _work_of(self, parser: Any) -> Any:
        def work(piece: Piece | _core.LinePiece, turn: Turn) -> tuple[dict[str, Any], int]:
            if isinstance(piece, Piece):
                parser.parse(piece.begun, piece.text, piece.line)
            else:
                parser.parse_piece(piece)
            with turn:
                parser.number(self.numbering)
            return parser.take(), piece.bytes_read

        return work


class Piece(NamedTuple):
    """The lines that end in ``text``; the first of them began before it, with ``begun``.

    The first has the number ``line`` in the file, of which ``bytes_read`` bytes were read.
    """

    begun: bytes
    text: bytes
    line: int
    bytes_read: int


def pieces(chunks: Iterable[Chunk]) -> Iterator[Piece]:
    """Yield lines from bytes cut anywhere; the last line may lack its end."""
    begun, line, done = list[bytes](), 1, 0
    for text, done in chunks:
        first, last = text.find(b"\n"), text.rfind(b"\n") + 1
        if sum(map(len, begun)) + (first if last else len(text)) > MAX_LINE_BYTES:
            raise ValueError(f"line {line} is longer than 64 MiB; is this text with one row per line?")
        if last:
            yield Piece(b"".join(begun), text, line, done)
            line += _core.count_lines(text)
            begun = []
        if last < len(text):
            begun.append(text[last:])
    if begun:
        yield Piece(b"".join(begun), b"\n", line, done)


def pieces_of_file(file: int, piece_bytes: int) -> Iterator[_core.LinePiece]:
    """Yield the lines of an open regular file, which compiled code reads into reused memory."""
    source = _core.LinePieces(file, piece_bytes)
    while (piece := source.next()) is not None:
        yield piece
        del piece  # whose memory is reused


def parser_of(reading: ReaderOptions, request: ReadRequest, own_columns: bool) -> _core.LineReader:
    """Return a compiled parser of a format; ``own_columns``: it numbers features on its own.

    Raises
    ------
    DataError
        If the format cannot keep what is requested.
    """
    keepable = reading.file_format.keepable
    missing = [] if keepable is None else [name for name in request.keep if name not in keepable]
    if missing:
        raise DataError(
            f"{reading.format} has no {missing[0]!r} to keep; expected {' or '.join(keepable or ()) or 'nothing'}"
        )
    return _core.line_reader(
        reading.format, request.options(reading, own_columns), zero_based=reading.zero_based,
        ngrams=reading.ngram_options(), label=reading.label or DEFAULT_LABEL, weight=reading.weight or "",
        drop=reading.drop, category=reading.category, text=reading.text, keep=request.keep,
        only=reading.only, dates=reading.dates, date_format=reading.date_format or "", units=reading.units,
        unit_names=reading.unit_names, numbers=reading.number_format(units=True), cells=reading.numbers,
        mixed=reading.mixed, of_cells=reading.number_format(),
    )  # fmt: skip
