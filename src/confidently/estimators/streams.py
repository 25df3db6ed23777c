"""Streams of files for an estimator: opened as its training data were, weighted by class, and learned."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from ..data import Batch, ReaderOptions, Stream, open_stream
from ..data.cache.origin import is_cache
from ..data.expected_columns import ExpectedColumns
from ..data.features import Features
from ..data.formats.files import Path
from ..data.formats.guess import format_of_files
from ..data.formats.inference import infer_columns
from ..data.formats.other_formats import in_format_of
from ..data.memory.frames import is_frame
from ..data.memory.lines import are_dicts
from ..data.memory.matrix import largest_value
from ..data.memory.rows import in_memory
from ..data.sources.paths import expand_paths
from ..data.stream import cached_reading
from ..encoders import Encoder, EncoderError
from ..views.view import View
from .progress import watched
from .rows import column_of_texts, read_as

OF_READING = tuple(field.name for field in fields(ReaderOptions))
OF_SCALING = frozenset(("reading", "normalize", "zeros"))  # options about how rows are scaled, in place of the learner


def open_as_before(
    paths: Any, source: dict[str, Any], features: Features | None, dtype: str, strict: bool = False,
    encoder: Encoder | None = None, **options: Any,
) -> Stream:  # fmt: skip
    """Open files that are read as those were that an estimator was trained on, its ``source_``.

    Columns that differ are reported; with ``strict``, they are errors.

    After training on arrays, files are read by their suffix, if they have no names of features.

    Raises
    ------
    ValueError
        If columns of files have names and the estimator knows none.
    """
    rows = in_memory(paths)
    if source:
        reading = ReaderOptions.from_dict(source)
        if rows is not None:
            reading = read_as(rows, reading)
        elif not any(map(is_cache, named := expand_paths(paths))):
            reading = in_format_of(named, reading, features)
    else:
        reading = ReaderOptions(format=format_of_files(expand_paths(paths)) if rows is None else rows.format)
    if reading.named and features is None:
        raise ValueError(
            "the estimator was trained on arrays, which do not define the columns of files; use fit_stream to train "
            "on files"
        )
    if strict and not reading.file_format.columns:
        raise ValueError(f"strict is for formats with named columns; {reading.format} has none")
    if features is not None:
        options["expected"] = ExpectedColumns(reading, features, strict, predicting=options.get("freeze", False))
    files = paths if rows is None else rows
    if encoder is not None and reading.encoder is None:
        raise EncoderError("the estimator was trained without an encoder; call fit to train from scratch")
    if reading.encoder is not None and encoder is None:
        raise EncoderError(
            f"the estimator has learned vectors of the encoder {reading.encoder}; pass it: set_params(encoder=...)"
        )
    return open_stream(files, reading, features=features, largest=largest_value(dtype), encoder=encoder, **options)


def open_to_learn(
    data: Any, dtype: str, scaled: Callable[[Sequence[Path], ReaderOptions], ReaderOptions],
    encoder: Encoder | None = None, **options: Any,
) -> Stream:  # fmt: skip
    """Open data to train an estimator on them from scratch.

    Parameters
    ----------
    data : path or list of paths, data frame, list of dicts, or InMemory
    dtype : {"float64", "float32"}
        Of the state.
    scaled : callable
        Takes files and the options of reading them; returns the options, with the scaling of rows that suits the
        learner. It is not asked if the options name one, for a cache, or with an encoder.
    encoder : Encoder, optional
    options
        As for :func:`confidently.data.open_stream`.
    """
    rows = in_memory(data)
    files = expand_paths(data if rows is None else rows)
    largest = largest_value(dtype)
    if "reading" in options or cached_reading(files, None) is not None:
        return open_stream(files, largest=largest, encoder=encoder, **options)
    given = {name: options.pop(name) for name in OF_READING if name in options}
    given = {"format": format_of_files(files) if rows is None else rows.format, **given}
    if encoder is not None:
        if rows is not None and "text" not in given:
            given["text"] = column_of_texts(rows, others=(str(given.get("label")), *options.get("keep", ())))
        return open_stream(
            files, ReaderOptions(**given, encoder=encoder.info), largest=largest, encoder=encoder, **options
        )
    reading = ReaderOptions(**given)
    reading = infer_columns(files, reading)
    if OF_SCALING.isdisjoint(given):
        reading = scaled(files, reading)
    return open_stream(files, reading, largest=largest, **options)


def check_values_kept(view: View | None, reading: ReaderOptions) -> None:
    """Raise ``ValueError`` if a view takes the values of named columns, which reading has scaled or dropped."""
    in_columns = reading.file_format.columns and reading.encoder is None
    if view is not None and view.takes_values and in_columns and not reading.zeros:
        raise ValueError(
            f"the view {view.name} needs rows as they are; open the stream with normalize='none', zeros=True"
        )


def check_stream(stream: Any, passes: int, options: dict[str, Any]) -> None:
    """Raise unless an estimator can be trained on a stream, or on data to open as one, which is read once."""
    if passes != 1:
        raise ValueError(f"a stream is read once, got passes={passes}; use passes=1 and partial_fit_stream for more")
    is_list = isinstance(stream, list | tuple) and all(isinstance(path, str | os.PathLike) for path in stream)
    if not (isinstance(stream, Stream | str | os.PathLike) or is_list or is_frame(stream) or are_dicts(stream)):
        raise TypeError(
            f"fit_stream: expected a stream of open_stream, paths, a data frame or dicts, got {type(stream).__name__}"
        )
    if options and isinstance(stream, Stream):
        raise TypeError(f"fit_stream: the stream is open already; pass {', '.join(options)} to open_stream")


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
