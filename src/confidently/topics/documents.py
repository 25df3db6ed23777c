"""Streams of documents for a topic model: rows of any format as bags of words, and the labels they come with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..data import Batch, DataError
from ..data.batch import NewLabel
from ..data.classes import ClassTable
from ..data.features import Features
from .learner import MAX_COUNT, Bags

# Documents of a stream that are learned between two looks at the keyboard; rounded up to whole batches.
DOCUMENTS_PER_STRIDE = 64


@dataclass(frozen=True)
class Documents:
    """Bags of words with their weights and labels, by number; those of document d begin at ``label_start[d]``."""

    bags: Bags
    weights: np.ndarray
    labels: np.ndarray
    label_start: np.ndarray

    def __len__(self) -> int:
        return len(self.bags)

    def rows(self, order: np.ndarray) -> Documents:
        """Some of the documents, in this order."""
        size = np.diff(self.label_start)[order]
        start = np.append(0, np.cumsum(size))
        entry = np.arange(start[-1]) + np.repeat(self.label_start[:-1][order] - start[:-1], size)
        return Documents(self.bags.rows(order), self.weights[order], self.labels[entry], start)

    @staticmethod
    def joined(parts: list[Documents]) -> Documents:
        """One after the other."""
        bags = Bags(
            _joined([part.bags.start for part in parts]),
            np.concatenate([part.bags.words for part in parts]),
            np.concatenate([part.bags.counts for part in parts]),
            max(part.bags.n_words for part in parts),
        )
        weights, labels = (np.concatenate([getattr(part, name) for part in parts]) for name in ("weights", "labels"))
        return Documents(bags, weights, labels, _joined([part.label_start for part in parts]))

    def signs(self, task: str, n_classes: int) -> np.ndarray:
        """1 where a document belongs to the class or has the label, else -1: (n, models, classifiers a model)."""
        chosen = np.full((len(self), n_classes), -1, dtype=np.int8)
        chosen[np.repeat(np.arange(len(self)), np.diff(self.label_start)), self.labels] = 1
        if task == "multilabel":
            return chosen[:, None, :]
        return (chosen[:, 1:2] if task == "binary" else chosen)[:, :, None]


def _joined(starts: list[np.ndarray]) -> np.ndarray:
    return np.append(0, np.cumsum(np.concatenate([np.diff(start) for start in starts])))


class DocumentReader:
    """Turns the batches of streams into documents; remembers classes and words from one to the next.

    Parameters
    ----------
    classes : ClassTable
    features : Features, optional
        Where words have names: those known.
    stop_words : frozenset of str
        Words that are left out; they keep their columns.

    Attributes
    ----------
    n_words : int
        Columns so far.
    bytes_read : int
        Of the input, for the documents so far.
    """

    def __init__(
        self, classes: ClassTable, features: Features | None = None, stop_words: frozenset[str] = frozenset()
    ) -> None:
        self.classes, self.features, self.stop_words = classes, features, stop_words
        self.left_out = np.zeros(0, dtype=bool)
        self.n_words, self.bytes_read = 0, 0
        if features is not None:
            self._meet_words(list(features.name_of().values()), len(features))

    def documents(self, batches: Iterable[Batch]) -> Iterator[Documents]:
        """The documents of one stream, as it comes.

        Raises
        ------
        DataError
            For values that are no counts, or a label that is none of a closed set of classes.
        """
        number_of = np.empty(0, dtype=np.int64)
        for batch in batches:
            number_of = np.append(number_of, [self._number(new) for new in batch.new_labels]).astype(np.int64)
            if self.features is not None and batch.new_features is not None:
                self.features.add(batch.new_features)
                self._meet_words(batch.new_features.names, len(self.features))
            self.n_words, self.bytes_read = max(self.n_words, batch.n_columns), batch.bytes_read
            start = np.arange(len(batch) + 1) if batch.label_start is None else batch.label_start
            weights = np.ones(len(batch)) if batch.weights is None else batch.weights
            bags = bags_of_batch(batch, self.n_words, self.left_out)
            yield Documents(bags, weights, number_of[batch.labels], start)

    def _number(self, new: NewLabel) -> int:
        try:
            return self.classes.number(new.name)
        except LookupError as error:
            raise DataError(f"{new.place}: {error}") from None

    def _meet_words(self, names: Iterable[str], n_words: int) -> None:
        self.n_words = max(self.n_words, n_words)
        if self.stop_words:
            new = [bare(name) in self.stop_words for name in names]
            self.left_out = np.append(self.left_out, np.array(new, dtype=bool))


def bare(name: str) -> str:
    """A word without the column or namespace that stands before it."""
    return name.rpartition(":")[2].rpartition("^")[2]


def bags_of_batch(batch: Batch, n_words: int, left_out: np.ndarray | None = None) -> Bags:
    """Rows as bags of words below ``n_words``; counts that are not whole are rounded up.

    Raises
    ------
    DataError
        For counts that are negative or too large.
    """
    bad = np.flatnonzero((batch.values < 0) | (batch.values > MAX_COUNT))
    if len(bad):
        raise DataError(
            f"{batch.place}, or soon after it: a count of {batch.values[bad[0]]:g}; a topic model takes counts of "
            f"words, from 0 to {MAX_COUNT}"
        )
    kept = (batch.values > 0) & (batch.columns < n_words)
    if left_out is not None and left_out.any():
        kept &= ~np.append(left_out, np.zeros(max(n_words - len(left_out), 0), dtype=bool))[
            np.minimum(batch.columns, n_words - 1)
        ]
    start = np.append(0, np.cumsum(kept))[batch.start].astype(np.int64)
    counts = np.ceil(batch.values[kept]).astype(np.int32)
    return Bags(start, batch.columns[kept].astype(np.int32), counts, n_words)


def stride_of(batch_size: int) -> int:
    """Documents learned together: whole batches."""
    return -(-DOCUMENTS_PER_STRIDE // batch_size) * batch_size
