"""One door to examples of any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import chain

from .batch import Batch, DataError
from .source import CHUNK_BYTES, in_background
from .svmlight import read_svmlight

FORMATS: dict[str, Callable[..., Iterator[Batch]]] = {"svmlight": read_svmlight}

# Rows that decide whether a stream is multilabel: a count of rows, for results must not depend on how bytes arrive.
DECIDING_ROWS = 1000

BATCHES_AHEAD = 2  # how far parsing may run ahead of learning


class Stream:
    """An iterator over batches; a context that ends reading, wherever it stands, when it is left.

    Attributes
    ----------
    multilabel : bool
        Whether rows have lists of labels.
    """

    def __init__(self, source: Generator[Batch], held: list[Batch], multilabel: bool) -> None:
        self.source, self.batches, self.multilabel = source, chain(held, source), multilabel

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *error: object) -> None:
        self.source.close()

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        batch = next(self.batches)
        if self.multilabel:
            return batch
        if batch.listed is not None:
            row, place = batch.listed
            count = batch.label_start[row + 1] - batch.label_start[row]
            raise DataError(
                f"{place}: the row has {count or 'no'} labels, and one is expected; if rows have sets of labels, train "
                "with --multilabel from the start (without it the first 1,000 rows decide)"
            )
        batch.label_start = None
        return batch


def open_stream(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str = "svmlight",
    zero_based: bool = False,
    multilabel: bool | None = None,
    ignore_labels: bool = False,
    largest: float = 1e100,
    chunk_bytes: int = CHUNK_BYTES,
) -> Stream:
    """Read examples as a stream, in memory that does not grow with the file.

    Parameters
    ----------
    paths : path or list of paths
        Files, read one after the other; ``"-"`` is standard input. Plain or gzip, recognised by content.
    format : {"svmlight"}
    zero_based : bool
        Whether the first feature has index 0 rather than 1.
    multilabel : bool, optional
        Whether rows have sets of labels. By default they have if any of the first 1,000 rows has no label or several.
    ignore_labels : bool
        Leave labels unread, whatever they are: for prediction.
    largest : float
        Values larger in size are refused.
    chunk_bytes : int
        Bytes read at a time, and so the size of batches.

    Raises
    ------
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
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    one = isinstance(paths, (str, os.PathLike))
    source = in_background(
        FORMATS[format](
            [paths] if one else list(paths),
            zero_based=zero_based,
            ignore_labels=ignore_labels,
            largest=largest,
            chunk_bytes=chunk_bytes,
        ),
        BATCHES_AHEAD,
    )
    if multilabel is None and not ignore_labels:
        return Stream(source, *_decide(source))
    return Stream(source, [], multilabel=ignore_labels or bool(multilabel))


def _decide(batches: Iterator[Batch]) -> tuple[list[Batch], bool]:
    """The first batches, and whether one of the first rows has no label or several."""
    held: list[Batch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        if batch.listed is not None and rows + batch.listed.row < DECIDING_ROWS:
            return held, True
        rows += len(batch)
        if rows >= DECIDING_ROWS:
            break
    return held, False
