"""Reading binary caches as streams: no parsing, and no copy where the columns need no other numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...arrays import row_numbers
from ..batch import Batch, DataError, Listed, NewLabel
from ..demands import Demands
from ..features import Features, NewFeatures, Strings
from ..reading import ReaderOptions
from ..selection import joined_features, without_first
from .building import Origin
from .file import Arrays, Block, CacheFile, is_cache


class Cache(CacheFile):
    """A cache and what its header says.

    Attributes
    ----------
    reading : Reading
        How its rows were read.
    origin : Origin
        What they were read from.
    multilabel : bool
    keep : list of str
    rows, skipped : int
    skipped_examples : list of str
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        try:
            self.reading = ReaderOptions.from_dict(self.header["reading"])
            self.origin, self.multilabel = Origin(**self.header["origin"]), self.header["multilabel"]
            self.keep = self.header["keep"]
            self.rows, self.skipped = self.summary["rows"], self.summary["skipped"]
            self.skipped_examples = self.summary["skipped_examples"]
        except (KeyError, TypeError, ValueError) as error:
            self.file.close()
            raise self.damaged(f"its header makes no sense: {error}") from None

    def stands_for(self, origin: Origin, reading: ReaderOptions, keep: Sequence[str] = ()) -> bool:
        """Whether reading the origin in this way would give these rows."""
        asked = origin.multilabel
        same = asked == self.origin.multilabel or asked == self.multilabel
        return (
            origin.lasting and reading == self.reading and list(keep) == self.keep and same
            and replace(origin, multilabel=None) == replace(self.origin, multilabel=None)
        )  # fmt: skip

    @property
    def largest(self) -> float:
        """The largest size of a value."""
        return max((block.details["largest"] for block in self.blocks if block.details), default=0.0)


def reading_of_caches(paths: Sequence[str | os.PathLike[str]], reading: ReaderOptions | None) -> ReaderOptions | None:
    """How the rows of caches were read; ``None`` if the paths are no caches.

    Raises
    ------
    DataError
        If some are and some are not, they were read in different ways, or not in the way ``reading`` says.
    """
    caches = [path for path in paths if is_cache(path)]
    if not caches:
        return None
    if len(caches) < len(paths):
        other = next(path for path in paths if path not in caches)
        raise DataError(f"{os.fspath(caches[0])} is a cache file and {os.fspath(other)} is not: read them one by one")
    for path in caches:
        with Cache(path) as cache:
            if reading is not None and cache.reading != reading:
                found = _difference(cache.reading, reading)
                raise DataError(f"{cache.path} is a cache of rows that were read in another way: {found}")
            reading = cache.reading
    return reading


def _difference(there: ReaderOptions, wanted: ReaderOptions) -> str:
    left, right = there.as_dict(), wanted.as_dict()
    different = [name for name in left if left[name] != right[name]]
    return "; ".join(f"{name} is {left[name]!r} there, {right[name]!r} here" for name in different)


def read_cache(paths: Sequence[str | os.PathLike[str]], reading: ReaderOptions, demands: Demands) -> Iterator[Batch]:
    """Batches of the rows of one cache after the other, their labels as lists.

    The first batch announces the labels and features of all rows before ``demands.first_row`` too.
    """
    labels: dict[int | str, int] = {}
    columns = _Columns(demands.features, reading)
    before, first_row = 0, demands.first_row
    for path in paths:
        with Cache(path) as cache:
            if cache.rows == 0:
                raise DataError(f"{cache.path} has no rows")
            columns.begin(cache)
            skipped = cache.skipped, cache.skipped_examples
            for batch in _CacheRows(cache, demands, labels, columns).batches(first_row):
                batch.bytes_read += before
                batch.skipped, batch.skipped_examples = skipped
                skipped = 0, []
                yield batch
            first_row = max(first_row - cache.rows, 0)
            before += cache.size
    if first_row:
        raise DataError(f"{os.fspath(paths[-1])} ends {first_row:,} rows before the row to begin with")


class _CacheRows:
    """The rows of one cache as batches of a stream."""

    def __init__(self, cache: Cache, demands: Demands, labels: dict[int | str, int], columns: _Columns) -> None:
        self.cache, self.demands, self.labels, self.columns = cache, demands, labels, columns
        self.number_of = np.empty(0, dtype=np.int32)
        if missing := [name for name in demands.keep if name not in cache.keep]:
            raise DataError(f"{cache.path} does not keep {missing[0]!r}: build it again with --keep {missing[0]}")

    def batches(self, first_row: int) -> Iterator[Batch]:
        """The rows from ``first_row`` on, a block at a time."""
        new_labels: list[NewLabel] = []
        new_features: list[NewFeatures] = []
        for block in self.cache.blocks:
            if not block.details:
                new_features.append(self.columns.add(self.cache.arrays(block)))
                continue
            new_labels += self._new_labels(block)
            skip = first_row - block.details["first_row"]
            if skip >= block.details["rows"]:
                new_labels = [new._replace(row=0) for new in new_labels]
                new_features = [new._replace(row=np.zeros_like(new.row)) for new in new_features]
                continue
            batch = self._batch(block)
            batch.new_labels, batch.new_features = new_labels, joined_features(new_features)
            yield without_first(batch, skip) if skip > 0 else batch
            new_labels, new_features = [], []

    def _new_labels(self, block: Block) -> list[NewLabel]:
        found, numbers = [], []
        for name, row, place in block.details["new_labels"]:
            if name not in self.labels:
                self.labels[name] = len(self.labels)
                found.append(NewLabel(name, row, place))
            numbers.append(self.labels[name])
        self.number_of = np.append(self.number_of, numbers).astype(np.int32)
        return [] if self.demands.ignore_labels else found

    def _batch(self, block: Block) -> Batch:
        details, arrays, path = block.details, self.cache.arrays(block), self.cache.path
        first, n = details["first_row"], details["rows"]
        self._check(block, arrays)
        labels, label_start = self._numbered(arrays, n)
        values, columns, n_columns = self.columns.renumbered(arrays, details["n_columns"])
        listed = None
        if "label_start" in arrays and (np.diff(label_start) != 1).any() and not self.demands.ignore_labels:
            row = int(np.argmax(np.diff(label_start) != 1))
            listed = Listed(row, f"{path}, row {first + row + 1}")
        return Batch(
            values=values, columns=columns, start=arrays["start"], n_columns=n_columns, labels=labels,
            label_start=label_start, weights=arrays.get("weights"), listed=listed, place=f"{path}, row {first + 1}",
            kept={name: _strings(arrays, f"kept.{name}") for name in self.demands.keep},
            bytes_read=block.offset + block.bytes,
        )  # fmt: skip

    def _numbered(self, arrays: Arrays, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels as numbers of the stream, and where each row's begin."""
        if self.demands.ignore_labels:
            return np.empty(0, dtype=np.int32), np.zeros(n + 1, dtype=np.int64)
        labels = arrays["labels"]
        if not np.array_equal(self.number_of, np.arange(len(self.number_of))):
            labels = self.number_of[labels]
        return labels, arrays.get("label_start", np.arange(n + 1))

    def _check(self, block: Block, arrays: Arrays) -> None:
        """What compiled code relies on, for a file whose checksums are right may still have been made by hand."""
        start, columns, labels = arrays["start"], arrays["columns"], arrays["labels"]
        n, listed = block.details["rows"], arrays.get("label_start")
        fits = (
            _is_start(start, n, len(columns)) and len(arrays["values"]) == len(columns)
            and columns.min(initial=0) >= 0 and columns.max(initial=-1) < block.details["n_columns"]
            and labels.min(initial=0) >= 0 and labels.max(initial=-1) < len(self.number_of)
            and (len(labels) == n if listed is None else _is_start(listed, n, len(labels)))
        )  # fmt: skip
        if not fits:
            raise self.cache.damaged(f"its block at {block.offset} makes no sense")
        if block.details["largest"] > self.demands.largest:
            row = int(np.searchsorted(start, np.argmax(np.abs(arrays["values"])), side="right"))
            raise DataError(
                f"{self.cache.path}, row {block.details['first_row'] + row}: a value above {self.demands.largest:g} in "
                "size; rescale it"
            )


def _strings(arrays: Arrays, name: str) -> Strings:
    return Strings(arrays[f"{name}.text"], arrays[f"{name}.start"])


def _is_start(start: np.ndarray, n: int, size: int) -> bool:
    return len(start) == n + 1 and start[0] == 0 and start[-1] == size and bool((np.diff(start) >= 0).all())


class _Columns:
    """Which column of the stream each feature of a cache has, where features have names.

    A cache's own numbers will do if the features that are known are the first it has, in the same order; else, and from
    a second cache on, features are looked up by name, or by the hash of it.
    """

    def __init__(self, known: Features | None, reading: ReaderOptions) -> None:
        self.named, self.exact = reading.named, reading.vocabulary
        self.known = known if self.named else None
        self.n = 0 if self.known is None else len(self.known)
        self.by_feature: dict[Any, int] = {}
        self.number_of: np.ndarray | None = None  # of the cache's column; None: its own
        self.seen = 0  # features of this cache
        self.files = 0

    def begin(self, cache: Cache) -> None:
        """Go on with a cache."""
        self.files, self.seen = self.files + 1, 0
        if not self.named:
            return
        there = [self._ids(cache.arrays(block)) for block in cache.blocks if not block.details]
        features = [feature for ids in there for feature in ids]
        if self.files == 1:
            known = self._ids_of_known()
            common = min(len(known), len(features))
            self.by_feature = {feature: column for column, feature in enumerate(known)}
            if known[:common] == features[:common]:
                return
        self.number_of = np.empty(0, dtype=np.int32)

    def add(self, arrays: Arrays) -> NewFeatures:
        """The next features of the cache; those that are new to the stream."""
        new = NewFeatures(arrays["row"], arrays["key"], _strings(arrays, "names"))
        ids = self._ids(arrays)
        fresh = []
        for place, feature in enumerate(ids):
            if feature not in self.by_feature:
                self.by_feature[feature] = len(self.by_feature)
                fresh.append(place)
        if self.number_of is not None:
            self.number_of = np.append(self.number_of, [self.by_feature[feature] for feature in ids]).astype(np.int32)
        which = np.array(fresh, dtype=np.int64)
        return NewFeatures(new.row[which], new.key[which], new.names.chosen(which))

    def renumbered(self, arrays: Arrays, n_columns: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Values and columns of rows, columns ascending; one more than the largest."""
        if self.number_of is None:
            return arrays["values"], arrays["columns"], n_columns
        columns = self.number_of[arrays["columns"]]
        row = row_numbers(arrays["start"])
        order = np.lexsort((columns, row))
        return arrays["values"][order], columns[order], int(columns.max(initial=-1)) + 1

    def _ids(self, arrays: Arrays) -> list[Any]:
        return list(_strings(arrays, "names")) if self.exact else arrays["key"].tolist()

    def _ids_of_known(self) -> list[Any]:
        if self.known is None:
            return []
        return list(self.known.names) if self.exact else self.known.key.tolist()
