"""The data of a training: read, cached in the first pass, held out in part."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import Batch
from ...data.cache.building import CacheBuilder, Origin, fingerprints
from ...data.cache.file import is_cache
from ...data.cache.reading import Cache
from ...data.memory.matrix import largest_value
from ...data.selection import chosen, joined_features, pass_over
from ...data.sources.whole_files import WINDOWS
from ..common import BadInput, open_data, total_bytes

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from ...data import ReaderOptions, Stream
    from ...data.features import Features
    from ..output.measures import Holdout

CACHE_SUFFIX, HOLDOUT_SUFFIX = ".training-cache", ".training-holdout"


class TrainingData:
    """Files as a training reads them, pass after pass; a context that removes the caches nobody asked for.

    Parameters
    ----------
    paths : sequence of str
    reading : Reading
    dtype : {"float64", "float32"}
    multilabel : bool, optional
        ``None``: the first rows decide.
    on_error : "stop", "skip" or int
    classes : sequence of str
        All labels there may be, if rows with others are to be passed over.
    cache : str, optional
        A cache that is to be there afterwards.
    beside : str, optional
        The model file to be: caches that are not asked for stand beside it, and stay if ``keep`` is set.
    caching : bool
        Whether to have a cache, asked for or not.
    holdout : Holdout, optional
        Which rows are not learned.

    Attributes
    ----------
    skipped : int
    skipped_examples : list of str
        Rows that were passed over in the first pass of this run.
    keep : bool
        Whether the training is to go on later.
    """

    def __init__(
        self,
        paths: Sequence[str],
        reading: ReaderOptions,
        dtype: str,
        multilabel: bool | None,
        *,
        on_error: str | int = "stop",
        classes: Sequence[str] = (),
        cache: str | None = None,
        beside: str | None = None,
        caching: bool = False,
        holdout: Holdout | None = None,
    ) -> None:
        self.paths, self.reading, self.multilabel, self.holdout = list(paths), reading, multilabel, holdout
        self.options: dict[str, Any] = {"on_error": on_error, "classes": list(classes)}
        self.dtype, self.beside, self.keep = dtype, beside, False
        self.skipped, self.skipped_examples = 0, list[str]()
        self.folder: TemporaryDirectory[str] | None = None
        self.origin = Origin(sources=fingerprints(paths), multilabel=multilabel, classes=list(classes))
        cached_already = all(is_cache(path) for path in paths)
        self.cache_asked = cache is not None
        self.cache = cache or (self._beside(CACHE_SUFFIX) if caching and not cached_already else None)
        self.held = self._beside(HOLDOUT_SUFFIX) if holdout else None
        self.cache_ready = self.cache is not None and self._stands(self.cache, self.origin)
        self.held_ready = self.held is not None and self._stands(self.held, self._held_origin())

    def __enter__(self) -> TrainingData:
        return self

    def __exit__(self, *error: object) -> None:
        if self.folder is not None:
            self.folder.cleanup()
        elif not self.keep:
            for path in (None if self.cache_asked else self.cache, self.held):
                if path is not None:
                    Path(path).unlink(missing_ok=True)

    @property
    def total_bytes(self) -> int | None:
        """Bytes of what the next pass will read; ``None`` where they are not known."""
        return total_bytes([str(self.cache)] if self.cache_ready else self.paths)

    @contextmanager
    def one_pass(self, rows: int, features: Features | None) -> Iterator[tuple[Stream, Iterator[Batch]]]:
        """The stream of a pass, and its batches from row ``rows`` on, those held out with weight 0.

        Whatever cache is missing is built meanwhile.
        """
        build_cache = self.cache is not None and not self.cache_ready
        build_held = self.held is not None and not self.held_ready
        first = rows if self.cache_ready and not build_held else 0
        with ExitStack() as stack:
            paths = [str(self.cache)] if self.cache_ready else self.paths
            options = self.options | {"multilabel": self.multilabel, "features": features, "first_row": first}
            stream = stack.enter_context(open_data(paths, self.reading, self.dtype, **options))
            self.multilabel = stream.multilabel

            def builder(path: str | None, origin: Origin) -> CacheBuilder:
                return stack.enter_context(
                    CacheBuilder(str(path), self.reading, origin, stream.multilabel, features=features)
                )

            cache = builder(self.cache, self.origin) if build_cache else None
            held = _HeldOut(builder(self.held, self._held_origin())) if build_held else None
            batches = self._batches(stream, first, cache, held)
            yield stream, pass_over(batches, rows - first) if rows > first else batches

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
        return replace(self.origin, holdout=None if self.holdout is None else str(self.holdout.share))

    def _stands(self, path: str, origin: Origin) -> bool:
        """Whether a file is the cache that would be built, and does not have what would be refused."""
        if not os.path.exists(path):
            return False
        if not is_cache(path):
            raise BadInput(f"{path} is there and no cache file: move it, or name another with --cache")
        with Cache(path) as cache:
            limit = self.options["on_error"]
            most = {"stop": 0, "skip": cache.skipped}.get(limit, limit)
            return bool(
                cache.stands_for(origin, self.reading) and cache.skipped <= most
                and cache.largest <= largest_value(self.dtype)
            )  # fmt: skip

    def _beside(self, suffix: str) -> str:
        if self.beside is not None:
            return self.beside + suffix
        if self.folder is None:
            from tempfile import TemporaryDirectory

            self.folder = TemporaryDirectory(prefix="confidently-", ignore_cleanup_errors=WINDOWS)
        return str(Path(self.folder.name) / suffix)


class _HeldOut:
    """Collects the rows held out in a cache of their own."""

    def __init__(self, builder: CacheBuilder) -> None:
        self.builder = builder
        self.labels: list[Any] = []
        self.features: list[Any] = []

    def add(self, batch: Batch, mask: np.ndarray) -> None:
        """Keep some rows, and what all of them announce."""
        self.labels += [new._replace(row=0) for new in batch.new_labels]
        if batch.new_features is not None:
            self.features.append(batch.new_features._replace(row=np.zeros_like(batch.new_features.row)))
        if mask.any():
            part = chosen(batch, np.flatnonzero(mask))
            part.new_labels, part.new_features = self.labels, joined_features(self.features)
            self.builder.add(part)
            self.labels, self.features = [], []
