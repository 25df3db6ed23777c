"""Streams of documents: rows of any format as bags of words with weights and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import row_entries, row_numbers, row_starts
from ..data import Batch, DataError
from ..data.classes import ClassTable
from ..data.features import Features
from ..learner.streams import class_number
from ..tasks.task import Task
from .bags import MAX_COUNT, Bags
from .settings import whole_batches

# Documents of a stream that are learned between two checks for an interrupt; rounded up to whole batches.
DOCUMENTS_PER_BLOCK = 64


@dataclass(frozen=True)
class Documents:
    """Bags of words with weights and labels.

    Attributes
    ----------
    bags : Bags
    weights : ndarray of shape (n,)
    labels : ndarray
        Class numbers, document after document.
    label_start : ndarray of shape (n + 1,)
        Where the labels of each document begin.
    """

    bags: Bags
    weights: np.ndarray
    labels: np.ndarray
    label_start: np.ndarray

    def __len__(self) -> int:
        return len(self.bags)

    def rows(self, order: np.ndarray) -> Documents:
        """The documents of these numbers, in this order."""
        entries, start = row_entries(self.label_start, order)
        return Documents(self.bags.rows(order), self.weights[order], self.labels[entries], start)

    @staticmethod
    def joined(parts: list[Documents]) -> Documents:
        """The documents of all parts, in their order."""
        bags = Bags(
            _joined([part.bags.start for part in parts]),
            np.concatenate([part.bags.words for part in parts]),
            np.concatenate([part.bags.counts for part in parts]),
            max(part.bags.n_words for part in parts),
        )
        weights, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("weights", "labels"))
        return Documents(bags, weights, labels, _joined([part.label_start for part in parts]))

    def signs(self, task: Task, n_classes: int) -> np.ndarray:
        """1 where a document has the class or label, otherwise -1: (n, models, classifiers per model)."""
        chosen = np.full((len(self), n_classes), -1, dtype=np.int8)
        chosen[row_numbers(self.label_start), self.labels] = 1
        if task.multilabel:
            return chosen[:, None, :]
        return (chosen[:, 1:2] if task.binary else chosen)[:, :, None]


def _joined(starts: list[np.ndarray]) -> np.ndarray:
    return row_starts(np.concatenate([np.diff(start) for start in starts]))


class DocumentReader:
    """Reader that turns the batches of streams into documents, with the same classes and words for all streams.

    Parameters
    ----------
    classes : ClassTable
    features : Features, optional
        The named words known so far; None where words have no names.
    stop_words : frozenset of str
        Words to leave out; they keep their columns.

    Attributes
    ----------
    n_words : int
        Number of columns so far.
    bytes_read : int
        Bytes of the input read for the documents so far.
    """

    def __init__(
        self, classes: ClassTable, features: Features | None = None, stop_words: frozenset[str] = frozenset()
    ) -> None:
        self.classes, self.features, self.stop_words = classes, features, stop_words
        self.is_stop_word = np.zeros(0, dtype=bool)  # by column
        self.n_words, self.bytes_read = 0, 0
        if features is not None:
            self._add_words(list(features.name_of().values()), len(features))

    def documents(self, batches: Iterable[Batch]) -> Iterator[Documents]:
        """Yield the documents of one stream, batch by batch.

        Raises
        ------
        DataError
            For values that are not counts, or a label outside a closed set of classes.
        """
        class_numbers = np.empty(0, dtype=np.int64)  # of the labels of this stream
        for batch in batches:
            new = [class_number(self.classes, label) for label in batch.new_labels]
            class_numbers = np.append(class_numbers, new).astype(np.int64)
            if self.features is not None and batch.new_features is not None:
                self.features.add(batch.new_features)
                self._add_words(batch.new_features.names, len(self.features))
            self.n_words, self.bytes_read = max(self.n_words, batch.n_columns), batch.bytes_read
            start = np.arange(len(batch) + 1) if batch.label_start is None else batch.label_start
            weights = np.ones(len(batch)) if batch.weights is None else batch.weights
            bags = bags_of_batch(batch, self.n_words, self.is_stop_word)
            yield Documents(bags, weights, class_numbers[batch.labels], start)

    def _add_words(self, names: Iterable[str], n_words: int) -> None:
        self.n_words = max(self.n_words, n_words)
        if self.stop_words:
            new = [bare(name) in self.stop_words for name in names]
            self.is_stop_word = np.append(self.is_stop_word, np.array(new, dtype=bool))


def bare(name: str) -> str:
    """Return a word without its prefix, the column or namespace."""
    return name.rpartition(":")[2].rpartition("^")[2]


def bags_of_batch(batch: Batch, n_words: int, is_stop_word: np.ndarray | None = None) -> Bags:
    """Return rows as bags of the words in columns below ``n_words``; fractional counts are rounded up.

    Raises
    ------
    DataError
        For counts that are negative or too large.
    """
    bad = np.flatnonzero((batch.values < 0) | (batch.values > MAX_COUNT))
    if len(bad):
        raise DataError(
            f"{batch.location}, or soon after it: invalid count of a word, got {batch.values[bad[0]]:g}; use counts "
            f"from 0 to {MAX_COUNT}"
        )
    kept = (batch.values > 0) & (batch.columns < n_words)
    if is_stop_word is not None and is_stop_word.any():
        others = np.zeros(max(n_words - len(is_stop_word), 0), dtype=bool)
        kept &= ~np.append(is_stop_word, others)[np.minimum(batch.columns, n_words - 1)]
    start = np.append(0, np.cumsum(kept))[batch.start].astype(np.int64)
    counts = np.ceil(batch.values[kept]).astype(np.int32)
    return Bags(start, batch.columns[kept].astype(np.int32), counts, n_words)


def block_size(batch_size: int) -> int:
    """Return how many documents of a stream are learned together: whole batches."""
    return whole_batches(DOCUMENTS_PER_BLOCK, batch_size)
