"""Batches whose rows are the vectors of their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..encoders import Encoder, EncoderError
from .batch import Batch, DataError
from .formats.table import TYPED
from .memory.lines import checked_texts
from .reading import DEFAULT_TEXT, ReaderOptions
from .sources.in_memory import InMemory


def kept_text(reading: ReaderOptions) -> str:
    """Return what is kept of a row for the encoder: the column of texts, or the text itself."""
    return reading.text[0] if reading.text else DEFAULT_TEXT


def encoded(batches: Iterable[Batch], column: str, encoder: Encoder, keep: Iterable[str]) -> Iterator[Batch]:
    """Yield batches with the vectors of the texts in a kept column, and with only those columns that are to ``keep``.

    Raises
    ------
    DataError
        If the encoder does not return vectors for them, with their location.
    """
    keep = tuple(keep)
    for batch in batches:
        try:
            vectors = encoder(list(batch.kept[column]))
        except EncoderError as error:
            raise DataError(f"{batch.location}, or soon after it: {error}") from None
        yield replace(with_vectors(batch, vectors), kept={name: batch.kept[name] for name in keep})


def with_vectors(batch: Batch, vectors: np.ndarray) -> Batch:
    """Return the batch with a vector per row, float32, in place of its features."""
    n, d = vectors.shape
    row, columns = np.nonzero(vectors)
    start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=n), out=start[1:])
    return replace(
        batch, values=vectors[row, columns].astype(np.float64), columns=columns.astype(np.int32), start=start,
        n_columns=d, new_features=None,
    )  # fmt: skip


def table_of_texts(texts: Iterable[Any], column: str) -> InMemory:
    """Return texts, of which a missing one is blank, as a table with one column; errors as of :func:`of_texts`."""
    import pyarrow as pa  # loads slowly

    found = [text.encode(errors="replace").decode() for text in checked_texts(texts)]
    return InMemory(TYPED, pa.table({column: pa.array(found, pa.large_string())}), len(found))
