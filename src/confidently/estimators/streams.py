"""Streams of files for an estimator: opened as its training data were, weighted by class, and learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..data import Batch, ReaderOptions, Stream, open_stream
from ..data.expected_columns import ExpectedColumns
from ..data.features import Features
from ..data.formats.table import format_of
from ..data.memory.matrix import largest_value
from ..data.sources.paths import expand_paths
from ..views.view import View
from .progress import watched


def open_as_before(
    paths: Any, source: dict[str, Any], features: Features | None, dtype: str, strict: bool = False, **options: Any
) -> Stream:
    """Open files that are read as those were that an estimator was trained on, its ``source_``.

    Columns that differ are reported; with ``strict``, they are errors.

    After training on arrays, files are read by their suffix, if they have no names of features.

    Raises
    ------
    ValueError
        If columns of files have names and the estimator knows none.
    """
    reading = ReaderOptions.from_dict(source) if source else ReaderOptions(format=format_of(expand_paths(paths)))
    if reading.named and features is None:
        raise ValueError(
            "the estimator was trained on arrays, which do not define the columns of files; use fit_stream to train "
            "on files"
        )
    if strict and not reading.file_format.columns:
        raise ValueError(f"strict is for formats with named columns; {reading.format} has none")
    if features is not None:
        options["expected"] = ExpectedColumns(reading, features, strict, predicting=options.get("freeze", False))
    return open_stream(paths, reading, features=features, largest=largest_value(dtype), **options)


def check_values_kept(view: View | None, reading: ReaderOptions) -> None:
    """Raise ``ValueError`` if a view takes the values of named columns, which reading has scaled or dropped."""
    if view is not None and view.takes_values and reading.file_format.columns and not reading.zeros:
        raise ValueError(
            f"the view {view.name} needs rows as they are; open the stream with normalize='none', zeros=True"
        )


def check_stream(stream: Any, passes: int) -> None:
    """Raise unless an estimator can be trained on a stream, which is read once."""
    if passes != 1:
        raise ValueError(f"a stream is read once, got passes={passes}; use passes=1 and partial_fit_stream for more")
    if not isinstance(stream, Stream):
        raise TypeError(f"fit_stream: expected a stream of open_stream, got {type(stream).__name__}")


@contextmanager
def batches_of(stream: Stream, progress: bool) -> Iterator[Iterator[Batch]]:
    """Yield the batches of a stream, which is closed at the end. With ``progress`` a bar is shown."""
    with stream:
        yield iter(watched(stream, stream.total_bytes) if progress else stream)


def weighted(batches: Iterable[Batch], class_weight: dict[Any, float] | str | None) -> Iterator[Batch]:
    """Yield the same batches with the weight of each example multiplied by that of its class."""
    if class_weight is None:
        yield from batches
        return
    if isinstance(class_weight, str):
        raise ValueError("class_weight='balanced' needs all labels at once; for a stream, pass a dict of weights")
    factor = np.empty(0)
    for batch in batches:
        if batch.label_start is not None:
            raise ValueError("class_weight needs one class per row, got multilabel data; use class_weight=None")
        factor = np.append(factor, [float(class_weight.get(new.name, 1.0)) for new in batch.new_labels])
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        yield replace(batch, weights=weights * factor[batch.labels])
