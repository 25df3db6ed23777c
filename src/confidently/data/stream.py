"""One door to examples of any format."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import Any

from .advice import warn_of_texts, warn_of_unknown
from .batch import Batch, DataError
from .cache.reading import read_cache, reading_of_caches
from .demands import Demands
from .features import Features
from .formats.codes import infer_codes
from .formats.table import Format, format_of
from .reading import ReaderOptions
from .selection import pass_over
from .sources.background import in_background
from .sources.paths import Paths, expanded
from .sources.source import CHUNK_BYTES

# Rows that decide whether a stream is multilabel: a count of rows, for results must not depend on how bytes arrive.
DECIDING_ROWS = 1000

BATCHES_AHEAD = 2  # how far parsing may run ahead of learning
MAX_SKIPPED_SHOWN = 5


class Stream:
    """An iterator over batches; a context that ends reading, wherever it stands, when it is left.

    Attributes
    ----------
    reading : Reading
        How rows are read.
    multilabel : bool
        Whether rows have lists of labels.
    skipped : int
        Rows passed over so far.
    skipped_examples : list of str
        What was wrong with the first of them, and where.
    """

    def __init__(
        self, source: Generator[Batch], held: list[Batch], reading: ReaderOptions, multilabel: bool,
        most_skipped: float, advise: bool, known: int | None = None,
    ) -> None:  # fmt: skip
        self.source, self.batches, self.reading = source, chain(held, source), reading
        self.multilabel, self.most_skipped, self.advise = multilabel, most_skipped, advise
        self.known = known
        self.skipped, self.skipped_examples = 0, list[str]()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        batch = next(self.batches)
        self._count_skipped(batch)
        if self.advise:
            warn_of_texts(batch)
            self.advise = False
        if self.known is not None:
            warn_of_unknown(batch, self.known)
            self.known = None
        if self.multilabel:
            return batch
        if batch.listed is not None:
            row, place = batch.listed
            assert batch.label_start is not None
            count = batch.label_start[row + 1] - batch.label_start[row]
            raise DataError(
                f"{place}: the row has {count or 'no'} labels, and one is expected; if rows have sets of labels, train "
                "with --multilabel from the start (without it the first 1,000 rows decide)"
            )
        batch.label_start = None
        return batch

    def _count_skipped(self, batch: Batch) -> None:
        self.skipped += batch.skipped
        room = MAX_SKIPPED_SHOWN - len(self.skipped_examples)
        self.skipped_examples += batch.skipped_examples[: max(room, 0)]
        if self.skipped > self.most_skipped:
            raise DataError(
                f"more than {self.most_skipped:,} rows are not as they should be; the first: "
                + "; ".join(self.skipped_examples)
            )


def open_stream(
    paths: Paths,
    reading: ReaderOptions | None = None,
    *,
    format: str | None = None,
    multilabel: bool | None = None,
    ignore_labels: bool = False,
    largest: float = 1e100,
    chunk_bytes: int = CHUNK_BYTES,
    on_error: str | int = "stop",
    classes: Sequence[str] = (),
    keep: Sequence[str] = (),
    features: Features | None = None,
    freeze: bool = False,
    first_row: int = 0,
    parsers: int | None = None,
    **how: Any,
) -> Stream:
    """Read examples as a stream, in memory that does not grow with the file.

    Parameters
    ----------
    paths : path or list of paths
        Files, read one after the other; globs (``*``, ``**``) and folders, whose files are read in sorted order; URIs
        of file systems that pyarrow reaches (``s3://``, ``gs://``, ``hdfs://``, ``file://``); ``"-"`` is standard
        input. Text may be compressed (gzip, zstd, bzip2, lz4, xz), recognised by content. Or binary caches of any
        format (docs/cache-file.md), recognised by content too.
    reading : Reading, optional
        How rows become features; else ``format`` and further keywords, which are :class:`ReaderOptions`'s.
    format : str, optional
        One of ``confidently.data.FORMATS``; by default what the files' suffixes tell, else svmlight.
    multilabel : bool, optional
        Whether rows have sets of labels. By default they have if any of the first 1,000 rows has no label or several.
    ignore_labels : bool
        Leave labels unread, whatever they are: for prediction.
    largest : float
        Values larger in size are refused.
    chunk_bytes : int
        Bytes read at a time, and so the size of batches.
    on_error : "stop", "skip" or int
        What to do about a row that is not as it should be: raise; pass over it; pass over so many and then raise. Rows
        that are passed over are counted in the stream, and have one label each unless ``multilabel`` is true.
    classes : sequence of str
        All labels there may be; empty: any.
    keep : sequence of str
        What to hand on of every row, in ``Batch.kept``: names of columns; "tag" in VW text.
    features : Features, optional
        Features known already, in the order of their columns: a model's.
    freeze : bool
        Whether other features are forgotten after the batch they appear in: for prediction.
    first_row : int
        Rows to leave out at the beginning. Labels and features are numbered, and announced with the first batch, as if
        they were there; a cache is not read up to that row. Needs ``multilabel``.
    parsers : int, optional
        Threads that parse lines, which changes the speed only; by default as many as there are processors, up to 4.
        With 0 nothing is read ahead: all is done in the thread that asks for batches.

    Raises
    ------
    ValueError
        If an argument is not one of the allowed.
    DataError
        When iterating: at the first thing that is not as it should be, saying where. No row of a batch with an error
        is given.
    OSError
        When iterating: if a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".svm") as file:
    ...     _ = file.write("+1 1:0.5 3:2\\n-1 2:1 # a comment\\n")
    ...     file.flush()
    ...     [(len(batch), [label.name for label in batch.new_labels]) for batch in open_stream(file.name)]
    [(2, [1, -1])]
    """
    files = expanded(paths)
    cached = reading_of_caches(files, reading)
    if cached is not None and (format is not None or how):
        raise ValueError("a cache's rows have been read already: leave out how to read them")
    if cached is not None:
        reading = cached
    elif reading is None:
        reading = ReaderOptions(format=format or format_of(files), **how)
    elif format is not None or how:
        reading = replace(reading, format=format or reading.format, **how)
    reading = infer_codes(files, reading)
    skip = on_error != "stop"
    demands = Demands(
        multilabel=False if skip and multilabel is None else multilabel, ignore_labels=ignore_labels, largest=largest,
        chunk_bytes=chunk_bytes, skip_errors=skip, classes=tuple(classes), keep=tuple(keep), features=features,
        freeze=freeze, first_row=first_row, parsers=parsers,
    )  # fmt: skip
    most_skipped = _most_skipped(on_error)
    if cached is not None:
        batches = read_cache(files, reading, demands)
    else:
        batches = _reader_of(reading.file_format)(files, reading, demands)
        batches = pass_over(batches, first_row) if first_row else batches
    source = in_background(batches, demands.ahead(BATCHES_AHEAD))
    known = len(features) if freeze and features is not None else None
    advise = cached is None and reading.file_format.columns and not freeze
    if demands.multilabel is None and not ignore_labels:
        return Stream(source, *_decide(source, reading), most_skipped, advise, known)
    return Stream(source, [], reading, ignore_labels or bool(multilabel), most_skipped, advise, known)


def _reader_of(file_format: Format) -> Callable[..., Iterator[Batch]]:
    """The function that reads a format; its module is imported only now, because pyarrow takes its time to load."""
    module, _, function = file_format.reader.partition(":")
    reader: Callable[..., Iterator[Batch]] = getattr(import_module(f"{__package__}.formats.{module}"), function)
    return reader


def _most_skipped(on_error: str | int) -> float:
    if on_error in ("stop", "skip"):
        return float("inf")
    if type(on_error) is int and on_error >= 0:
        return on_error
    raise ValueError(f"on_error must be 'stop', 'skip' or a number of rows >= 0; got {on_error!r}")


def _decide(batches: Iterator[Batch], reading: ReaderOptions) -> tuple[list[Batch], ReaderOptions, bool]:
    """The first batches, and whether one of the first rows has no label or several."""
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        if batch.listed is not None and rows + batch.listed.row < DECIDING_ROWS:
            return held, reading, True
        rows += len(batch)
        if rows >= DECIDING_ROWS:
            break
    return held, reading, False
