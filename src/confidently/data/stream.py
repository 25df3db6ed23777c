"""Streams of examples of any format: :func:`open_stream`."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np

from ..encoders import encoder_of
from ..wording import counted
from .advice import (
    warn_if_featureless,
    warn_if_ids,
    warn_if_table,
    warn_if_unknown,
    warn_of_categories,
    warn_of_odd_cells,
    warn_of_odd_labels,
)
from .batch import Batch, DataError
from .cache.origin import is_cache
from .encoded import encoded, kept_text
from .expected_columns import ExpectedColumns
from .features import Features
from .formats.first_names import check_requested_names
from .formats.guess import format_of_files
from .formats.inference import infer_columns
from .formats.table import Format
from .memory.rows import in_memory
from .reading import ReaderOptions
from .request import ReadRequest
from .selection import skip_rows
from .shuffling import DEFAULT_BUFFER, shuffled
from .sources.background import in_background
from .sources.paths import Paths, expand_paths
from .sources.source import CHUNK_BYTES, bytes_of, display_name

# Rows that show whether a stream is multilabel: a number of rows, because results must not depend on how bytes arrive.
ROWS_TO_INFER = 1000

BATCHES_AHEAD = 2  # how far parsing may run ahead of learning
MAX_SKIPPED_SHOWN = 5


class Stream:
    """An iterator over batches, and a context manager that stops reading when it is left.

    Attributes
    ----------
    reading : ReaderOptions
        How rows are read.
    multilabel : bool
        Whether rows have any number of labels.
    targets : bool
        Whether rows have numbers instead of labels, for regression.
    skipped : int
        Number of invalid rows skipped so far.
    skipped_examples : list of str
        Location and error of the first of them.
    files : sequence of path
        The files that are read, in order.
    """

    files: Sequence[str | os.PathLike[str]] = ()

    def __init__(
        self, source: Generator[Batch], held: list[Batch], reading: ReaderOptions, multilabel: bool,
        max_skipped: float, advise: bool, known: int | None = None, expected: ExpectedColumns | None = None,
        targets: bool = False,
    ) -> None:  # fmt: skip
        self.source, self.reading = source, reading
        self.batches: Iterator[Batch] = chain(held, source)
        self.multilabel, self.max_skipped, self.advise = multilabel, max_skipped, advise
        self.targets = targets
        self.known, self.frozen, self.begun, self.expected = known, known is not None, False, expected
        self.closed = False  # whether only certain labels are allowed
        self.is_told = False  # whether the caller said that rows have one label
        self.skipped, self.skipped_examples = 0, list[str]()
        self._odd = set[str]()  # columns with cells of another kind
        self._shuffled: Iterator[Batch] | None = None

    @property
    def is_shuffled(self) -> bool:
        """Whether rows come in random order (:meth:`shuffle`)."""
        return self._shuffled is not None

    def shuffle(self, buffer: int = DEFAULT_BUFFER, seed: int = 0) -> Stream:
        """Return the stream with its rows in random order, for data that come sorted.

        Every row is drawn from a buffer, whose rows are in memory. So rows that are more than a few buffers apart keep
        their order; a buffer for all rows shuffles them completely.

        Parameters
        ----------
        buffer : int
            Number of rows, at least 2.
        seed : int
            Of the random numbers; the order does not depend on anything else.

        Raises
        ------
        ValueError
            If the buffer is too small, or rows were read already.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".svm") as file:
        ...     _ = file.write("a 1:1\\n" * 4 + "b 2:1\\n" * 4)
        ...     file.flush()
        ...     [batch] = open_stream(file.name).shuffle(seed=1)
        >>> "".join(batch.new_labels[k].name for k in batch.labels)
        'baababab'
        """
        if self.begun or self._shuffled is not None:
            raise ValueError("shuffle: the stream was read or shuffled already; open it again")
        self._shuffled = shuffled(iter(self._next, None), buffer, seed)
        return self

    def first(self) -> Batch | None:
        """Return the first batch in the order of the data, and keep it for reading; ``None`` if there is no row."""
        batch = next(self.batches, None)
        if batch is not None:
            self.batches = chain([batch], self.batches)
        return batch

    @property
    def total_bytes(self) -> int | None:
        """Bytes of all files, of which ``Batch.bytes_read`` have been read; ``None`` if they are unknown."""
        return bytes_of(self.files)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._shuffled is not None:
            return next(self._shuffled)
        if (batch := self._next()) is None:
            raise StopIteration
        return batch

    def _next(self) -> Batch | None:
        """Return the next batch in the order of the data; ``None`` at the end."""
        batch = next(self.batches, None)
        if batch is None:
            return None
        self._count_skipped(batch)
        if self.advise:
            warn_of_categories(batch, self.reading)
            if self.reading.file_format.text:
                warn_if_table(self.files[0], self.reading)
            self.advise = False
        if not self.begun and not self.known:
            warn_if_featureless(batch, self.reading)
        if self.expected is not None:
            self.expected.check_rows(batch)
            self.expected = None
        if self.known is not None:
            warn_if_unknown(batch, self.known)
            self.known = None
        if batch.odd and not self.frozen:
            warn_of_odd_cells(batch, self.reading, self._odd)
        if not (self.frozen or self.closed):
            warn_of_odd_labels(batch, self.reading, self.reading.whole_labels and not (self.multilabel or self.is_told))
        is_first, self.begun = not self.begun, True
        if self.multilabel:
            return batch
        if is_first and not self.frozen:
            warn_if_ids(batch)
        if batch.multilabel_row is not None:
            row, location = batch.multilabel_row
            assert batch.label_start is not None
            count = batch.label_start[row + 1] - batch.label_start[row]
            skip = "" if count else "; to leave out rows without a label, use --missing-label skip"
            raise DataError(
                f"{location}: the row has {counted(count, 'label') if count else 'no label'}, expected one{skip}; if "
                "rows are multilabel, train with --multilabel (otherwise this is inferred from the first "
                f"{ROWS_TO_INFER:,} rows)"
            )
        batch.label_start = None
        return batch

    def _count_skipped(self, batch: Batch) -> None:
        self.skipped += batch.skipped
        room = MAX_SKIPPED_SHOWN - len(self.skipped_examples)
        self.skipped_examples += batch.skipped_examples[: max(room, 0)]
        if self.skipped > self.max_skipped:
            raise DataError(
                f"more than {counted(int(self.max_skipped), 'invalid row')}; the first: "
                + "; ".join(self.skipped_examples)
            )


def open_stream(
    paths: Paths | Any,
    reading: ReaderOptions | None = None,
    *,
    format: str | None = None,
    multilabel: bool | None = None,
    ignore_labels: bool = False,
    targets: bool = False,
    largest: float = 1e100,
    chunk_bytes: int = CHUNK_BYTES,
    on_error: str | int = "stop",
    classes: Sequence[str] = (),
    keep: Sequence[str] = (),
    features: Features | None = None,
    freeze: bool = False,
    first_row: int = 0,
    expected: ExpectedColumns | None = None,
    parsers: int | None = None,
    encoder: Any = None,
    **how: Any,
) -> Stream:
    """Open a stream of examples, in memory that does not grow with the files.

    Parameters
    ----------
    paths : path or list of paths, data frame, or list of dicts
        Files, read one after the other; globs (``*``, ``**``) and folders, whose files are read in sorted order; URIs
        of file systems that pyarrow supports (``s3://``, ``gs://``, ``hdfs://``, ``file://``); ``"-"`` is standard
        input. Text may be compressed (gzip, zstd, bzip2, lz4, xz). Paths may also be binary caches of any format
        (docs/cache-file.md). Compression and caches are recognized by content. Data frames of pandas and Polars and
        tables of Arrow are read as Parquet files are, and lists of dicts as JSON lines are.
    reading : ReaderOptions, optional
        How rows become features; otherwise ``format`` and other keywords of :class:`ReaderOptions`.
    format : str, optional
        One of ``confidently.data.FORMATS``; by default inferred from the files' suffixes, otherwise svmlight.
    multilabel : bool, optional
        Whether rows have any number of labels. By default they do if one of the first 1,000 rows has several. A row
        without a label then has none of them; otherwise it is an error.
    ignore_labels : bool
        Do not read labels, for prediction.
    targets : bool
        For regression: the label of a row is any finite number, which ``Batch.targets`` has.
    largest : float
        Largest absolute value that is allowed.
    chunk_bytes : int
        Bytes read at a time, which determine the size of batches.
    on_error : "stop", "skip" or int
        Action on an invalid row: raise, skip it, or skip at most that many rows and then raise. The stream counts
        skipped rows. With "skip" or a number, rows have one label each unless ``multilabel`` is true.
    classes : sequence of str
        All allowed labels; empty: any.
    keep : sequence of str
        What to return of every row in ``Batch.kept``: names of columns; "tag" in VW text.
    features : Features, optional
        Known features in the order of their columns, as of a model.
    freeze : bool
        Forget unknown features after the batch in which they appear, for prediction.
    first_row : int
        Number of rows to leave out at the beginning. Their labels and features are numbered, and announced with the
        first batch; a cache is not read up to that row. Needs ``multilabel``.
    expected : ExpectedColumns, optional
        The columns that a model knows, to which those of the files are compared.
    parsers : int, optional
        Threads that parse lines, which change the speed only; by default one per processor, up to 4. With 0 nothing is
        read ahead: everything happens in the calling thread.
    encoder : str, object or callable, optional
        What makes a vector of the text of a row, as :class:`confidently.AutoClassifier` has it; of named columns,
        ``text`` has the one with the text, by default "text".

    Raises
    ------
    ValueError
        If an argument is invalid.
    DataError
        While iterating, for the first invalid row, with its location. No row of its batch is returned.
    OSError
        While iterating, if a file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".svm") as file:
    ...     _ = file.write("+1 1:0.5 3:2\\n-1 2:1 # a comment\\n")
    ...     file.flush()
    ...     [(len(batch), [label.name for label in batch.new_labels]) for batch in open_stream(file.name)]
    [(2, [1, -1])]
    """
    if targets and (multilabel or classes):
        raise ValueError("targets are numbers, not labels; leave out multilabel and classes")
    rows = in_memory(paths)
    if rows is not None and format not in (None, rows.format):
        raise ValueError(f"format: rows in memory are read as {rows.format}, got {format!r}; leave it out")
    files = expand_paths(paths if rows is None else rows)
    cached = cached_reading(files, reading)
    if cached is not None and (format is not None or how):
        raise ValueError("the rows of a cache are parsed already; leave out the options of reading")
    if cached is not None:
        reading = cached
    elif reading is None:
        reading = ReaderOptions(format=format or (format_of_files(files) if rows is None else rows.format), **how)
    elif format is not None or how:
        reading = replace(reading, format=format or reading.format, **how)
    if encoder is not None and reading.encoder is None:
        if cached is not None:
            raise DataError(f"{display_name(files[0])} is a cache of rows that no encoder has read; build it with one")
        reading = replace(reading, encoder=encoder_of(encoder).info, normalize=None)
    if cached is None:
        reading = infer_columns(files, reading, training=not freeze)
    taken: tuple[str, ...] = ()  # of every row, for the encoder
    rows_as = reading
    if reading.encoder is not None and cached is None:
        encoder = encoder_of(reading.encoder.name if encoder is None else encoder)
        encoder.check(reading.encoder)
        rows_as, features, taken = reading.of_texts(), Features(), (kept_text(reading),)
    skip = on_error != "stop"
    request = ReadRequest(
        multilabel=False if targets or (skip and multilabel is None) else multilabel, targets=targets,
        ignore_labels=ignore_labels, largest=largest, chunk_bytes=chunk_bytes, skip_errors=skip, classes=tuple(classes),
        keep=tuple(dict.fromkeys((*keep, *taken))), features=features, freeze=freeze or bool(taken),
        first_row=first_row, expected=expected, parsers=parsers,
    )  # fmt: skip
    most = max_skipped(on_error)
    if cached is None and reading.file_format.lines:
        check_requested_names(files[0], rows_as, request)
    if expected is not None and not reading.file_format.columns:
        expected = None
    if cached is not None:
        if expected is not None and reading.header:
            expected.check_header(display_name(files[0]), reading.header, keep)
        from .cache.reading import read_cache  # imported here to save start-up time

        batches = read_cache(files, reading, request)
    else:
        batches = _reader_of(reading.file_format)(files, rows_as, request)
        batches = skip_rows(batches, first_row) if first_row else batches
        if taken:
            batches = encoded(batches, taken[0], encoder, keep)
    has_threads = cached is None and reading.file_format.lines  # of its own, which parse
    source = in_background(batches, 0 if has_threads else request.ahead(BATCHES_AHEAD))
    known = len(features) if freeze and features is not None and not taken else None
    by_rows = None if reading.file_format.header else expected
    advise = cached is None and (reading.file_format.columns or reading.file_format.text) and not freeze
    if request.multilabel is None and not ignore_labels:
        stream = Stream(source, *_infer_multilabel(source, reading), most, advise, known, by_rows)
    else:
        several, numbers = ignore_labels or bool(multilabel), targets and not ignore_labels
        stream = Stream(source, [], reading, several, most, advise, known, by_rows, numbers)
    stream.files, stream.closed, stream.is_told = files, bool(classes), multilabel is False
    return stream


def cached_reading(paths: Sequence[str | os.PathLike[str]], reading: ReaderOptions | None) -> ReaderOptions | None:
    """Return how the rows of caches were read; ``None`` if the paths are not caches.

    Raises
    ------
    DataError
        If only some paths are caches, their rows were read in different ways, or not as ``reading`` says.
    """
    if not any(map(is_cache, paths)):
        return None
    from .cache.reading import reading_of_caches  # imported here to save start-up time

    return reading_of_caches(paths, reading)


def _reader_of(file_format: Format) -> Callable[..., Iterator[Batch]]:
    """The function that reads a format; its module is imported only now, because pyarrow loads slowly."""
    module, _, function = file_format.reader.partition(":")
    return getattr(import_module(f"{__package__}.formats.{module}"), function)


def max_skipped(on_error: str | int) -> float:
    """Return how many invalid rows may be skipped; ``ValueError``: it is no such option."""
    if on_error in ("stop", "skip"):
        return float("inf")
    if type(on_error) is int and on_error >= 0:
        return on_error
    raise ValueError(f"on_error must be 'stop', 'skip' or a number of rows >= 0, got {on_error!r}")


def _infer_multilabel(batches: Iterator[Batch], reading: ReaderOptions) -> tuple[list[Batch], ReaderOptions, bool]:
    """Return the first batches, the options, and whether one of the first rows has several labels."""
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        if batch.multilabel_row is not None and batch.label_start is not None:
            counts = np.diff(batch.label_start[: ROWS_TO_INFER - rows + 1])
            if counts.max(initial=0) > 1:
                return held, reading, True
        rows += len(batch)
        if rows >= ROWS_TO_INFER:
            break
    return held, reading, False
