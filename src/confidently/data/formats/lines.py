"""Formats with a row a line; the parsers are compiled (core/data/line_reader.hpp and the formats beside it)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ... import _core
from ..advice import looked_through
from ..batch import Batch, DataError
from ..demands import Demands
from ..reading import DEFAULT_LABEL, ReaderOptions
from ..sources.background import Turn, in_order, processors
from ..sources.compression import Chunk
from ..sources.source import read_chunks
from .files import Path, batches_of_files

LONGEST_LINE = 64 << 20  # bytes: a file without line ends must not fill the memory
MAX_PARSERS = 4  # learning, which is one thread's work, keeps up with no more
PIECES_AHEAD = 2  # beside those that are being parsed


def read_lines(paths: Sequence[Path], reading: ReaderOptions, demands: Demands) -> Iterator[Batch]:
    """Batches of the rows of one file after the other, their labels as lists."""
    n = min(MAX_PARSERS, processors() + 1) if demands.parsers is None else demands.parsers  # one may wait its turn
    parsers = Parsers(reading, demands, max(n, 1))

    def parsed(name: str, path: Path) -> Iterator[tuple[dict[str, Any], int]]:
        chunks: Iterator[Chunk] = read_chunks(path, demands.chunk_bytes)
        if reading.file_format.columns:
            chunks = looked_through(name, chunks, reading, demands)
        return parsers.rows(chunks)

    return batches_of_files(paths, parsed, demands.keep)


class Parsers:
    """Several compiled parsers of one stream; what they find does not depend on their number.

    Each numbers features and labels as it meets them; in the order of the stream these get the numbers they have in it.
    """

    def __init__(self, reading: ReaderOptions, demands: Demands, n: int) -> None:
        own_columns = reading.named and not demands.freeze  # else the columns are known
        self.parsers = [parser_of(reading, demands, own_columns) for _ in range(n)]
        self.ahead = demands.ahead(n + PIECES_AHEAD)
        self.numbering = _core.Numbering(demands.options(reading))
        if (known := demands.features) is not None and reading.named:
            features = known.key, known.names.text, known.names.start
            if own_columns:
                self.numbering.restore(*features)
            for parser in [] if own_columns else self.parsers:
                parser.restore(*features, demands.freeze)

    def rows(self, chunks: Iterable[Chunk]) -> Iterator[tuple[dict[str, Any], int]]:
        """The rows of a file, piece by piece, and the bytes that were read of it by then.

        Raises
        ------
        ValueError
            At what is wrong with the text, saying in which line.
        """
        return in_order(pieces(chunks), [self._work_of(parser) for parser in self.parsers], self.ahead)

    def _work_of(self, parser: Any) -> Any:
        def work(piece: Piece, turn: Turn) -> tuple[dict[str, Any], int]:
            parser.parse(piece.begun, piece.text, piece.line)
            with turn:
                parser.number(self.numbering)
            return parser.take(), piece.bytes_read

        return work


class Piece(NamedTuple):
    """The lines that end in a text, the first of which was begun before it.

    Its number in the file is ``line``; ``bytes_read`` bytes of the file were read.
    """

    begun: bytes
    text: bytes
    line: int
    bytes_read: int


def pieces(chunks: Iterable[Chunk]) -> Iterator[Piece]:
    """Bytes cut anywhere as lines; the last may lack its end."""
    begun, line, done = list[bytes](), 1, 0
    for text, done in chunks:
        first, last = text.find(b"\n"), text.rfind(b"\n") + 1
        if sum(map(len, begun)) + (first if last else len(text)) > LONGEST_LINE:
            raise ValueError(f"line {line} is longer than 64 MiB: this does not look like text with a row a line")
        if last:
            yield Piece(b"".join(begun), text, line, done)
            line += _core.count_lines(text)
            begun = []
        if last < len(text):
            begun.append(text[last:])
    if begun:
        yield Piece(b"".join(begun), b"\n", line, done)


def parser_of(reading: ReaderOptions, demands: Demands, own_columns: bool) -> _core.LineReader:
    """A compiled parser of a format; ``own_columns``: its numbers of features are not those of the stream.

    Raises
    ------
    DataError
        If the format does not have what is to be kept.
    """
    keepable = reading.file_format.keepable
    missing = [] if keepable is None else [name for name in demands.keep if name not in keepable]
    if missing:
        raise DataError(
            f"{reading.format} has no {missing[0]!r} to keep; expected {' or '.join(keepable or ()) or 'nothing'}"
        )
    return _core.line_reader(
        reading.format, demands.options(reading, own_columns), zero_based=reading.zero_based,
        ngrams=reading.ngram_options(), label=reading.label or DEFAULT_LABEL, weight=reading.weight or "",
        drop=reading.drop, category=reading.category, text=reading.text, keep=demands.keep,
    )  # fmt: skip
