"""The data of a training: read in passes, cached in the first pass, partly held out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...data import Batch
from ...data.cache.origin import Origin, fingerprints, is_cache
from ...data.memory.matrix import largest_value
from ...data.selection import chosen_rows, joined_features, select_rows, skip_rows
from ...data.shuffling import DEFAULT_BUFFER, MIN_BUFFER, shuffled
from ...data.sources.whole_files import WINDOWS
from ...learner.centering import rows_to_center
from ..inputs import BadInput, open_data
from ..options.files import TRAINING_CACHE, TRAINING_HOLDOUT

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from ...data import ReaderOptions, Stream
    from ...data.cache.building import CacheBuilder
    from ...data.expected_columns import ExpectedColumns
    from ...data.features import Features


MAX_BYTES = 1 << 28  # of files that are shuffled in memory by default


class Holdout:
    """Chooses the held-out rows: the last of every 1/fraction rows, by their number in the data."""

    def __init__(self, fraction: str) -> None:
        from fractions import Fraction  # imported here to save start-up time

        self.fraction = Fraction(fraction)

    def mask(self, first: int, n: int) -> np.ndarray:
        """Return booleans for rows ``first`` to ``first + n - 1``."""
        rows = np.arange(first, first + n + 1, dtype=object if first + n > 2**40 else np.int64)
        return (np.diff(rows * self.fraction.numerator // self.fraction.denominator) > 0).astype(bool)


class Shuffle(NamedTuple):
    """A buffer of rows, and the seed of the order in which they leave it; ``asked``: otherwise only if all rows fit."""

    buffer: int
    seed: int
    asked: bool


class Sample(NamedTuple):
    """Some of the rows that are shuffled in memory, and what is known of all of them.

    Attributes
    ----------
    n, n_columns : int
        All rows, and their columns.
    rows : Batch
        Some, at even distances.
    names : list of str or int
        The labels by their numbers.
    weights : array of shape (labels,)
        Of all rows with each label; of rows with several labels, nothing.
    """

    n: int
    n_columns: int
    rows: Batch
    names: list[str | int]
    weights: np.ndarray

    @classmethod
    def of(cls, batches: Sequence[Batch], n: int) -> Sample:
        names = [label.name for batch in batches for label in batch.new_labels]
        weights = np.zeros(len(names))
        for batch in batches if batches[0].label_start is None and batches[0].targets is None else ():
            weights += np.bincount(batch.labels, batch.weights, len(names))
        n_columns = max(batch.n_columns for batch in batches)
        return cls(n, n_columns, chosen_rows(batches, rows_to_center(n)), names, weights)


class TrainingData:
    """Files as a training reads them, pass after pass; a context that removes temporary caches.

    Parameters
    ----------
    paths : sequence of str
    reading : ReaderOptions
    dtype : {"float64", "float32"}
    multilabel : bool, optional
        ``None``: inferred from the first rows.
    options : dict
        Of the command: ``on_error``, ``passes``, and ``output_path``, the model file, beside which temporary caches are
        files that stay if ``keep`` is set. Where the command has them, ``cache``, a cache to build or to reuse and to
        keep; ``holdout``, the fraction of the rows to hold out of training; ``shuffle``, ``shuffle_buffer``, ``seed``.
    classes : sequence
        All labels, if there may be no others.
    caching : bool
        Whether several passes read a temporary cache.
    expected : ExpectedColumns, optional
        The columns that the model knows when training continues.
    targets : bool
        Whether labels are numbers, for regression.
    keep : sequence of str
        Columns whose values training needs besides features.

    Attributes
    ----------
    skipped : int
    skipped_examples : list of str
        Rows skipped in the first pass of this run.
    keep : bool
        Whether training will resume later.
    sample : Sample or None
        Of the rows that are shuffled in memory.
    is_shuffled : bool
        Whether the rows of the pass that is open come in random order.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reading: ReaderOptions,
        dtype: str,
        multilabel: bool | None,
        options: dict[str, Any],
        classes: Sequence[Any] = (),
        *,
        caching: bool = True,
        expected: ExpectedColumns | None = None,
        targets: bool = False,
        keep: Sequence[str] = (),
    ) -> None:
        on_error, holdout = options["on_error"], options.get("holdout")
        classes = [] if on_error == "stop" else [str(name) for name in classes]
        self.paths, self.reading, self.multilabel = list(paths), reading, multilabel
        self.options: dict[str, Any] = {
            "on_error": on_error, "classes": classes, "expected": expected, "targets": targets, "keep": keep,
        }  # fmt: skip
        self.dtype, self.keep = dtype, False
        self.beside: str | None = options["output_path"]
        self.holdout = Holdout(holdout) if holdout else None
        self.shuffle, self.is_shuffled = _shuffle(paths, options), False
        self.sample: Sample | None = None
        self.skipped, self.skipped_examples = 0, list[str]()
        self.folder: TemporaryDirectory[str] | None = None
        sources = fingerprints(paths)
        self.origin = Origin(sources=sources, multilabel=multilabel, classes=classes, targets=targets)
        caching = caching and options["passes"] > 1 and not all(is_cache(path) for path in paths)
        self.keeps_cache = options.get("cache") is not None
        self.cache = options.get("cache") or (self._beside(TRAINING_CACHE) if caching else None)
        self.held = self._beside(TRAINING_HOLDOUT) if self.holdout else None
        self.cache_ready = self.cache is not None and self._is_current(self.cache, self.origin)
        self.held_ready = self.held is not None and self._is_current(self.held, self._held_origin())

    def __enter__(self) -> TrainingData:
        return self

    def __exit__(self, *error: object) -> None:
        if self.folder is not None:
            self.folder.cleanup()
        elif not self.keep:
            for path in (None if self.keeps_cache else self.cache, self.held):
                if path is not None:
                    Path(path).unlink(missing_ok=True)

    @property
    def total_bytes(self) -> int | None:
        """Bytes that the next pass will read; ``None`` if unknown."""
        from ...data.sources.paths import total_bytes

        return total_bytes([str(self.cache)] if self.cache_ready else self.paths)

    @contextmanager
    def one_pass(
        self, rows: int, features: Features | None, passes: int = 0
    ) -> Iterator[tuple[Stream, Iterator[Batch]]]:
        """Open the stream of a pass and its batches from row ``rows`` on; held-out rows have weight 0.

        A missing cache is built along the way. ``passes`` are completed, and rows are shuffled again.
        """
        build_cache = self.cache is not None and not self.cache_ready
        build_held = self.held is not None and not self.held_ready
        first = rows if self.cache_ready and not build_held and self.shuffle is None else 0
        with ExitStack() as stack:
            paths = [str(self.cache)] if self.cache_ready else self.paths
            options = self.options | {"multilabel": self.multilabel, "features": features, "first_row": first}
            stream = stack.enter_context(open_data(paths, self.reading, self.dtype, **options))
            self.multilabel = stream.multilabel

            def builder(path: str | None, origin: Origin) -> CacheBuilder:
                from ...data.cache.building import CacheBuilder  # imported here to save start-up time

                return stack.enter_context(
                    CacheBuilder(
                        str(path), self.reading, origin, stream.multilabel, self.options["keep"], features=features
                    )
                )

            cache = builder(self.cache, self.origin) if build_cache else None
            held = _HeldOut(builder(self.held, self._held_origin())) if build_held else None
            batches = self._batches(stream, first, cache, held)
            batches = self._in_order(batches, passes)
            yield stream, skip_rows(batches, rows - first) if rows > first else batches

    def _in_order(self, batches: Iterator[Batch], passes: int) -> Iterator[Batch]:
        """Return the rows of a pass in the order of training."""
        if self.shuffle is None:
            return batches
        buffer, rows = self.shuffle.buffer, 0
        if not self.shuffle.asked:
            held = list[Batch]()
            for batch in batches:
                held.append(batch)
                if (rows := rows + len(batch)) > buffer:
                    self.shuffle = None
                    return chain(held, batches)
            buffer, batches = max(2 * rows, MIN_BUFFER), iter(held)  # all rows at once
            self.sample = Sample.of(held, rows) if rows else None
        self.is_shuffled = True
        return shuffled(batches, buffer, (self.shuffle.seed, passes))

    def _batches(self, stream: Stream, row: int, cache: CacheBuilder | None, held: _HeldOut | None) -> Iterator[Batch]:
        for batch in stream:
            if cache is not None:
                cache.add(batch)
            if self.holdout is not None:
                mask = self.holdout.mask(row, len(batch))
                if held is not None:
                    held.add(batch, mask)
                batch = replace(batch, weights=np.where(mask, 0.0, 1.0 if batch.weights is None else batch.weights))
            row += len(batch)
            yield batch
        if cache is not None:
            cache.finish()
            self.cache_ready = True
        if held is not None:
            held.builder.finish()
            self.held_ready = True
        self.skipped, self.skipped_examples = stream.skipped, stream.skipped_examples

    def _held_origin(self) -> Origin:
        return replace(self.origin, holdout=None if self.holdout is None else str(self.holdout.fraction))

    def _is_current(self, path: str, origin: Origin) -> bool:
        """Return whether a file is the cache that would be built, without rows that would be rejected."""
        if not os.path.exists(path):
            return False
        if not is_cache(path):
            raise BadInput(f"{path} exists and is not a cache; move it, or pass another file to --cache")
        from ...data.cache.reading import Cache  # imported here to save start-up time

        with Cache(path) as cache:
            limit = self.options["on_error"]
            max_skipped = {"stop": 0, "skip": cache.skipped}.get(limit, limit)
            return bool(
                cache.matches(origin, self.reading, self.options["keep"]) and cache.skipped <= max_skipped
                and cache.largest <= largest_value(self.dtype)
            )  # fmt: skip

    def _beside(self, suffix: str) -> str:
        if self.beside is not None:
            return self.beside + suffix
        if self.folder is None:
            from tempfile import TemporaryDirectory

            self.folder = TemporaryDirectory(prefix="confidently-", ignore_cleanup_errors=WINDOWS)
        return str(Path(self.folder.name) / suffix)


def _shuffle(paths: Sequence[str], options: dict[str, Any]) -> Shuffle | None:
    """Return how options shuffle rows: by default, those of files of few bytes from which a model begins.

    What forgets is in the order of time.
    """
    asked = options.get("shuffle", False)
    if asked is False:
        return None
    if asked is None:
        from ...data.sources.paths import total_bytes

        if options["init_model"] or options.get("forget") or (total_bytes(paths) or MAX_BYTES) >= MAX_BYTES:
            return None
    return Shuffle(options["shuffle_buffer"] or DEFAULT_BUFFER, options["seed"], bool(asked))


class _HeldOut:
    """Collects the held-out rows in a cache of their own."""

    def __init__(self, builder: CacheBuilder) -> None:
        self.builder = builder
        self.labels: list[Any] = []
        self.features: list[Any] = []

    def add(self, batch: Batch, mask: np.ndarray) -> None:
        """Keep the held-out rows, with the labels and features that all rows introduce."""
        self.labels += [new._replace(row=0) for new in batch.new_labels]
        if batch.new_features is not None:
            self.features.append(batch.new_features._replace(row=np.zeros_like(batch.new_features.row)))
        if mask.any():
            part = select_rows(batch, np.flatnonzero(mask))
            part.new_labels, part.new_features = self.labels, joined_features(self.features)
            self.builder.add(part)
            self.labels, self.features = [], []
