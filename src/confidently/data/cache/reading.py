"""Reading binary caches as streams: without parsing, and every block is checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np

from ...arrays import row_numbers
from ...encoders import EncoderInfo
from ...wording import counted
from ..batch import Batch, DataError, NewLabel, RowLocation
from ..features import Features, NewFeatures, Strings
from ..memory.matrix import MAX_COLUMNS
from ..reading import ReaderOptions
from ..request import ReadRequest
from ..selection import joined_features, without_first
from ..sources.json_schema import conform
from .contents import (
    FEATURES,
    Header,
    RowDetails,
    Summary,
    check_features,
    check_kinds,
    check_rows,
    kinds_of_rows,
    largest_of,
    row_details,
)  # fmt: skip
from .file import Arrays, Block, CacheFile, CacheHeader
from .origin import Origin, is_cache


class Part(NamedTuple):
    """A block of rows, the features that appear in it for the first time, and its details."""

    features: Block | None
    rows: Block
    details: RowDetails


class Cache(CacheFile):
    """A cache file and what it declares about its rows.

    Attributes
    ----------
    reading : ReaderOptions
        How its rows were read.
    origin : Origin
        What its rows were read from.
    multilabel : bool
    keep : list of str
    rows, skipped : int
    skipped_examples : list of str
    parts : list of Part
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        try:
            self.contents: Header = conform(self.header, Header, "header")
            self.reading, self.origin = self.contents.reading, self.contents.origin
            self.multilabel, self.keep = self.contents.multilabel, self.contents.keep
            summary: Summary = conform(self.summary, Summary, "index")
            self.rows, self.skipped = summary.rows, summary.skipped
            self.skipped_examples = summary.skipped_examples
            self.parts = list(self._parts())
        except ValueError as error:
            self.file.close()
            raise self.damaged(f"its header or index is invalid: {error}") from None

    def _parts(self) -> Iterator[Part]:
        """Yield the blocks in their order; rows must follow each other, and arrays be of the right types."""
        expected, rows, features = kinds_of_rows(self.contents), 0, None
        for block in self.blocks:
            details = row_details(block.details) if block.details else None
            check_kinds(block.arrays, expected if details else FEATURES)
            if features is not None and details is None:
                raise ValueError(f"the features of its block at {block.offset} have no rows")
            if details is None:
                features = block
                continue
            if details.first_row != rows:
                raise ValueError(f"row {rows:,} is followed by row {details.first_row:,}")
            yield Part(features, block, details)
            rows, features = rows + details.rows, None
        if rows != self.rows or features is not None:
            raise ValueError(f"expected {counted(self.rows, 'row')}, got {rows:,}")

    def matches(self, origin: Origin, reading: ReaderOptions, keep: Sequence[str] = ()) -> bool:
        """Return whether reading the origin with these options would return these rows."""
        same = origin.multilabel in (self.origin.multilabel, self.multilabel)
        return (
            origin.lasting and reading.as_dict() == self.reading.as_dict() and list(keep) == self.keep and same
            and replace(origin, multilabel=None) == replace(self.origin, multilabel=None)
        )  # fmt: skip

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max((part.details.largest for part in self.parts), default=0.0)


def _contents(cache: CacheHeader) -> Header:
    try:
        contents: Header = conform(cache.header, Header, "header")
    except ValueError as error:
        raise cache.damaged(f"its header or index is invalid: {error}") from None
    return contents


def reading_of_caches(paths: Sequence[str | os.PathLike[str]], reading: ReaderOptions | None) -> ReaderOptions | None:
    """Return how the rows of caches were read; ``None`` if the paths are not caches.

    Raises
    ------
    DataError
        If only some paths are caches, their rows were read in different ways, or not as ``reading`` says.
    """
    caches = [path for path in paths if is_cache(path)]
    if not caches:
        return None
    if len(caches) < len(paths):
        other = next(path for path in paths if path not in caches)
        raise DataError(f"{os.fspath(caches[0])} is a cache file and {os.fspath(other)} is not; read them separately")
    for path in caches:
        with CacheHeader(path) as cache:
            there = _contents(cache).reading
            if reading is not None and there != reading:
                found = _difference(there, reading)
                raise DataError(f"{cache.path} is a cache of rows that were read differently: {found}")
            reading = there
    return reading


def _difference(there: ReaderOptions, wanted: ReaderOptions) -> str:
    names = [one.name for one in fields(there) if one.compare]
    left, right = ({name: getattr(reading, name) for name in names} for reading in (there, wanted))
    shown = {name: (_shown(left[name]), _shown(right[name])) for name in names if left[name] != right[name]}
    return "; ".join(f"{name} is {one} there, {other} here" for name, (one, other) in shown.items())


def _shown(value: Any) -> str:
    if isinstance(value, EncoderInfo):
        return str(value)
    return repr(list(value) if isinstance(value, tuple) else value)


def read_cache(
    paths: Sequence[str | os.PathLike[str]], reading: ReaderOptions, request: ReadRequest
) -> Iterator[Batch]:
    """Yield the rows of one cache after the other, their labels as lists.

    The first batch also announces the labels and features of all rows before ``request.first_row``.
    """
    labels: dict[int | str, int] = {}
    columns = _Columns(request.features, reading)
    before, first_row = 0, request.first_row
    for path in paths:
        with Cache(path) as cache:
            if cache.rows == 0:
                raise DataError(f"{cache.path} has no rows")
            columns.begin(cache)
            skipped = cache.skipped, cache.skipped_examples
            for batch in _CacheRows(cache, request, labels, columns).batches(first_row):
                batch.bytes_read += before
                batch.skipped, batch.skipped_examples = skipped
                skipped = 0, []
                yield batch
            first_row = max(first_row - cache.rows, 0)
            before += cache.size
    if first_row:
        raise DataError(f"{os.fspath(paths[-1])} ends {counted(first_row, 'row')} before the first row to read")


class _CacheRows:
    """The rows of one cache as batches of a stream."""

    def __init__(self, cache: Cache, request: ReadRequest, labels: dict[int | str, int], columns: _Columns) -> None:
        self.cache, self.request, self.labels, self.columns = cache, request, labels, columns
        self.number_of = list[int]()
        if not request.ignore_labels and request.targets != cache.origin.targets:
            there, wanted = ("numbers", "classes") if cache.origin.targets else ("classes", "numbers")
            raise DataError(f"{cache.path} is a cache of labels that are {there}, expected {wanted}; rebuild it")
        if missing := [name for name in request.keep if name not in cache.keep]:
            raise DataError(f"{cache.path} does not keep {missing[0]!r}; rebuild it with --keep {missing[0]}")

    def batches(self, first_row: int) -> Iterator[Batch]:
        """Yield the rows from ``first_row`` on, one block at a time."""
        new_labels: list[NewLabel] = []
        new_features: list[NewFeatures] = []
        for features, block, details in self.cache.parts:
            if features is not None:
                new_features.append(self._new_features(features, details.rows))
            new_labels += self._new_labels(details)
            skip = first_row - details.first_row
            if skip >= details.rows:
                new_labels = [new._replace(row=0) for new in new_labels]
                new_features = [new._replace(row=np.zeros_like(new.row)) for new in new_features]
                continue
            batch = self._batch(block, details)
            batch.new_labels, batch.new_features = new_labels, joined_features(new_features)
            yield without_first(batch, skip) if skip > 0 else batch
            new_labels, new_features = [], []

    def _new_features(self, block: Block, rows: int) -> NewFeatures:
        arrays = self.cache.arrays(block)
        with self._damage_of(block):
            check_features(arrays, self.cache.reading, rows)
            return self.columns.add(arrays)

    @contextmanager
    def _damage_of(self, block: Block) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise self.cache.damaged(f"its block at {block.offset} is invalid: {error}") from None

    def _new_labels(self, details: RowDetails) -> list[NewLabel]:
        found = []
        for new in details.new_labels:
            if new.name not in self.labels:
                self.labels[new.name] = len(self.labels)
                found.append(new)
            self.number_of.append(self.labels[new.name])
        return [] if self.request.ignore_labels else found

    def _batch(self, block: Block, details: RowDetails) -> Batch:
        arrays, path, n = self.cache.arrays(block), self.cache.path, details.rows
        with self._damage_of(block):
            check_rows(self.cache.contents, details, arrays, len(self.number_of), self.columns.known_here)
        self._refuse_large(details, arrays)
        labels, label_start = self._numbered(arrays, n)
        targets = None if self.request.ignore_labels else arrays.get("targets")
        values, columns, n_columns = self.columns.renumbered(arrays, details.n_columns)
        multilabel_row = None
        if "label_start" in arrays and (np.diff(label_start) != 1).any() and not self.request.ignore_labels:
            row = int(np.argmax(np.diff(label_start) != 1))
            multilabel_row = RowLocation(row, f"{path}, row {details.first_row + row + 1}")
        return Batch(
            values=values, columns=columns, start=arrays["start"], n_columns=n_columns, labels=labels,
            label_start=label_start, targets=targets, weights=arrays.get("weights"), multilabel_row=multilabel_row,
            location=f"{path}, row {details.first_row + 1}",
            kept={name: _strings(arrays, f"kept.{name}") for name in self.request.keep},
            bytes_read=block.offset + block.bytes,
        )  # fmt: skip

    def _numbered(self, arrays: Arrays, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the label numbers of the stream, and where those of each row start."""
        if self.request.ignore_labels:
            return np.zeros((0,), "int32"), np.zeros((n + 1,), "int64")
        if "targets" in arrays:
            return np.zeros((n,), "int32"), np.arange(0, n + 1, dtype=np.int64)
        labels = arrays["labels"]
        if self.number_of != list(range(len(self.number_of))):
            labels = np.array(self.number_of, np.int32)[labels]
        return labels, arrays["label_start"] if "label_start" in arrays else np.arange(0, n + 1, dtype=np.int64)

    def _refuse_large(self, details: RowDetails, arrays: Arrays) -> None:
        if details.largest <= self.request.largest:
            return
        large = np.flatnonzero(np.abs(arrays["values"].astype(np.float64)) > self.request.largest)
        if len(large):
            row = int(np.searchsorted(arrays["start"], large[0], side="right"))
            raise DataError(
                f"{self.cache.path}, row {details.first_row + row}: a value above {self.request.largest:g} in size; "
                "rescale it"
            )


def _strings(arrays: Arrays, name: str) -> Strings:
    return Strings(arrays[f"{name}.text"], arrays[f"{name}.start"])


class _Columns:
    """The column of the stream that each feature of a cache has, if features have names.

    The numbers of the cache are used as they are if its first features are the known ones in the same order. Otherwise,
    and from the second cache on, features are looked up by name or by its hash.
    """

    def __init__(self, known: Features | None, reading: ReaderOptions) -> None:
        self.named, self.exact = reading.named, reading.vocabulary
        self.known = known if self.named else None
        self.by_feature: dict[Any, int] = {}
        self.number_of: np.ndarray | None = None  # in the stream, by the cache's column; None: the same
        self.here: set[Any] = set()  # features of this cache
        self.files = 0

    @property
    def known_here(self) -> int:
        """The number of columns that rows of the cache may have by now."""
        return len(self.here) if self.named else MAX_COLUMNS

    def begin(self, cache: Cache) -> None:
        """Begin the next cache."""
        self.files, self.here = self.files + 1, set()
        if not self.named:
            return
        there = [self._ids(cache.arrays(part.features)) for part in cache.parts if part.features is not None]
        features = [feature for ids in there for feature in ids]
        if self.files == 1:
            known = self._ids_of_known()
            common = min(len(known), len(features))
            self.by_feature = {feature: column for column, feature in enumerate(known)}
            if known[:common] == features[:common]:
                return
        self.number_of = np.empty(0, dtype=np.int32)

    def add(self, arrays: Arrays) -> NewFeatures:
        """Add the next features of the cache; return those that are new to the stream.

        Raises
        ------
        ValueError
            If the cache has a feature twice.
        """
        new = NewFeatures(arrays["row"], arrays["key"], _strings(arrays, "names"))
        ids = self._ids(arrays)
        before = len(self.here)
        self.here.update(ids)
        if len(self.here) != before + len(ids):
            raise ValueError("it has a feature twice")
        fresh = []
        for position, feature in enumerate(ids):
            if feature not in self.by_feature:
                self.by_feature[feature] = len(self.by_feature)
                fresh.append(position)
        if self.number_of is not None:
            self.number_of = np.append(self.number_of, [self.by_feature[feature] for feature in ids]).astype(np.int32)
        if len(fresh) == len(ids):
            return new
        which = np.array(fresh, dtype=np.int64)
        return NewFeatures(new.row[which], new.key[which], new.names.take(which))

    def renumbered(self, arrays: Arrays, n_columns: int) -> tuple[np.ndarray, np.ndarray, int]:
        """Return values and columns of rows, columns ascending, and one more than the largest column."""
        if self.number_of is None:
            return arrays["values"], arrays["columns"], n_columns
        columns = self.number_of[arrays["columns"]]
        row = row_numbers(arrays["start"])
        order = np.lexsort((columns, row))
        return arrays["values"][order], columns[order], largest_of(columns) + 1

    def _ids(self, arrays: Arrays) -> list[Any]:
        return self._ids_of(arrays["key"], _strings(arrays, "names"))

    def _ids_of_known(self) -> list[Any]:
        return [] if self.known is None else self._ids_of(self.known.key, self.known.names)

    def _ids_of(self, key: np.ndarray, names: Strings) -> list[Any]:
        keys = key.tolist()  # as many as there are names, or the cache is refused when its features are added
        return list(zip(keys, names.encoded(), strict=False)) if self.exact else keys
