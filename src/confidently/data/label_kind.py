"""Whether labels are classes or numbers to predict, by the first rows."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, NamedTuple

from .batch import Batch
from .cache.origin import is_cache
from .formats.decimals import with_decimal_of
from .formats.delimiters import with_delimiter
from .formats.files import Path
from .formats.header import with_label
from .reading import DEFAULT_LABEL, ReaderOptions
from .sources.source import peeked, size_of
from .stream import Stream, open_stream
from .warning import DataWarning

ROWS_TO_INFER, MIN_ROWS, ROWS_TO_SAMPLE = 1000, 30, 100
CHUNK_BYTES = 1 << 16  # as few rows as show it


class LabelKind(NamedTuple):
    """What the labels of the first rows are.

    Attributes
    ----------
    fraction : float, optional
        The first label that is not an integer, if all are numbers.
    integers : int
        How many different integers there are, if all labels are integers.
    rows : int
        How many rows were looked at.
    """

    fraction: float | None = None
    integers: int = 0
    rows: int = 0

    @property
    def are_numbers(self) -> bool:
        """Whether no learner of classes could learn them: they have fractions, or most rows an integer of their own."""
        return self.fraction is not None or (self.rows >= MIN_ROWS and self.integers > self.rows / 2)


def label_kind(paths: Sequence[Path], reading: ReaderOptions) -> LabelKind:
    """Return what the labels of the first 1,000 rows of the first file are.

    A class is an integer or a string, so numbers that are not integers can only be targets of a regression. A file of
    integers may hold classes or counts; only if most rows have one of their own, it shows which.
    """
    path = paths[0]
    if is_cache(path):
        from .cache.reading import Cache  # only here, to save start-up time

        with suppress(OSError, ValueError), Cache(path) as cache:  # raised again when it is read
            return LabelKind(fraction=math.nan if cache.origin.targets else None)
    if reading.file_format.binary and size_of(path) is None:
        return LabelKind()  # a pipe, of which the format cannot read a part twice
    with suppress(OSError, ValueError), warnings.catch_warnings(action="ignore", category=DataWarning):
        reading = with_label(path, with_delimiter(path, reading))
    reading = _labels_only(reading)
    found = _seen(path, reading)
    if found is None and (marked := _with_decimal(path, reading)) != reading:
        found = _seen(path, marked)
    return found or LabelKind()


def _seen(path: Path, reading: ReaderOptions) -> LabelKind | None:
    """Return what the labels of the first rows are; ``None`` if one is no number."""
    with suppress(OSError, ValueError), _first(path, reading, targets=True) as stream:
        return _kind_of(stream)
    return None


@contextmanager
def _first(path: Path, reading: ReaderOptions, **how: Any) -> Iterator[Stream]:
    """Open the first rows of a file, to be read again."""
    with (
        warnings.catch_warnings(action="ignore", category=DataWarning),
        peeked(path),
        open_stream(path, reading, parsers=0, chunk_bytes=CHUNK_BYTES, **how) as stream,
    ):
        yield stream


def _with_decimal(path: Path, reading: ReaderOptions) -> ReaderOptions:
    """Return the options with the decimal mark of the labels, if they are numbers in a form of their own."""
    label, texts = reading.label or DEFAULT_LABEL, list[str]()
    if reading.file_format.delimiter is None:
        return reading
    with suppress(OSError, ValueError), _first(path, reading, ignore_labels=True, keep=(label,)) as stream:
        texts = [text for text in next(iter(stream)).kept[label] if text][:ROWS_TO_SAMPLE]
    return with_decimal_of(texts, reading)


def _labels_only(reading: ReaderOptions) -> ReaderOptions:
    """Return how to read the same labels, with as few features as the format can leave out."""
    reading = replace(reading, encoder=None)
    if not reading.file_format.columns:
        return replace(reading, analyzer="word", ngrams=(1, 1))
    label = reading.label or DEFAULT_LABEL
    units = (label,) if label in reading.units else ()
    marks: dict[str, Any] = {} if units or reading.file_format.delimiter else {"decimal": ".", "thousands": ""}
    return replace(
        reading, only=(label,), drop=(), weight=None, category=(), text=(), dates=(), codes=(), numbers=(), header=(),
        units=units, date_format=None, missing_label="skip", **marks,
    )  # fmt: skip


def _kind_of(batches: Iterable[Batch]) -> LabelKind:
    rows, integers = 0, set[float]()
    for batch in batches:
        if batch.targets is None:  # no row of it has a label; reading reports that
            continue
        first = batch.targets[: ROWS_TO_INFER - rows]
        numbers = first.tolist()
        fractions = [number for number in numbers if not (number.is_integer() or math.isinf(number))]
        if fractions:
            return LabelKind(fraction=fractions[0])
        integers.update(numbers)
        if (rows := rows + len(batch)) >= ROWS_TO_INFER:
            break
    return LabelKind(integers=len(integers), rows=min(rows, ROWS_TO_INFER))
