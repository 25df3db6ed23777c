"""Learning from a stream of batches whose features and classes are not known beforehand.

The result is that of learning row by row, wherever the batches are cut: a feature or class exists from its first row
on, and not before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from .. import _core
from ..covariances.state import memory_bytes
from ..data import Batch, DataError
from ..data.advice import in_any_order
from ..data.batch import NewLabel
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.memory.matrix import csr_matrix
from .learner import Learner


class StreamLearner:
    """A learner that grows with its stream.

    Parameters
    ----------
    learner : Learner
        Of the task "multilabel", of a multiclass task if the classes are known, else "binary".
    classes : ClassTable
        Classes the learner knows.
    multiclass : {"joint", "one-vs-rest"}
        What a binary learner becomes when a third class appears.
    features : Features, optional
        Where the features of the stream have names: those the learner knows.

    Attributes
    ----------
    log_loss : float64 array of shape (1,)
        Sum over the rows learned of the log-loss of their labels before they were used (:meth:`Learner.learn`).
    """

    def __init__(
        self, learner: Learner, classes: ClassTable, multiclass: str = "joint", features: Features | None = None
    ) -> None:
        self.learner, self.classes, self.multiclass, self.features = learner, classes, multiclass, features
        self.log_loss = np.zeros(1)

    def learn(self, batches: Iterable[Batch], calibrate: bool = True) -> Iterator[Batch]:
        """Learn the batches of one stream as they come; gives each back once it is learned.

        Raises
        ------
        DataError
            If a label is none of a closed set of classes, or a feature's number makes a model too large for the memory.
        """
        number_of = np.empty(0, dtype=np.int32)  # the learner's number of each label of the stream
        for batch in in_any_order(batches) if calibrate else batches:
            known = [self.classes.get(new.name) for new in batch.new_labels]
            self._make_room(batch)
            first = 0
            while first < len(batch):
                last = min(cut for cut in self._cuts(batch, known, first) if cut > first)
                part = batch.rows(first, last) if last - first < len(batch) else batch
                new = [class_number(self.classes, label) for label in part.new_labels]
                number_of = np.append(number_of, new).astype(np.int32)
                self._learn(part, number_of[part.labels], calibrate)
                self._keep_names(part)
                first = last
            yield batch

    def _cuts(self, batch: Batch, known: list[int | None], first: int) -> list[int]:
        """Rows before which something changes, among them the end: a new class changes the learner, and too many names
        of features call for forgetting some, whose weights must be those of a row, not those of a batch."""
        new_class = [new.row for new, number in zip(batch.new_labels, known, strict=True) if number is None]
        cuts = [*new_class, len(batch)]
        if self.features is not None and batch.new_features is not None:
            before = int(np.searchsorted(batch.new_features.row, first))
            last_name = before + self.features.room()
            if last_name < len(batch.new_features.row):
                cuts.append(int(batch.new_features.row[last_name]) + 1)
        return cuts

    def _keep_names(self, part: Batch) -> None:
        if self.features is None or part.new_features is None:
            return
        self.features.add(part.new_features)
        if self.features.room() < 0:
            weights = self.learner.weights[self.learner.settings.fit_intercept :, 0]
            self.features.prune(np.abs(weights).max(axis=1, initial=0.0))

    def _learn(self, part: Batch, labels: np.ndarray, calibrate: bool) -> None:
        self.learner.grow(n_classes=len(self.classes), multiclass=self.multiclass)
        if self.learner.n_classes:  # rows before the first label of all have nothing to teach
            cost = self.log_loss
            self.learner.learn(
                part.matrix, labels, part.label_start, weight=part.weights, calibrate=calibrate, log_loss=cost
            )

    def _make_room(self, batch: Batch) -> None:
        learner = self.learner
        if batch.n_columns <= learner.n_features:
            return
        row_bytes = learner.covariance.bytes_per_feature(learner.state)
        needed, there = batch.n_columns * row_bytes, memory_bytes()
        try:
            if needed > there:
                raise MemoryError(f"{needed:,} bytes, and this machine has {there:,}")
            learner.grow(n_features=batch.n_columns)
        except MemoryError as error:
            raise DataError(
                f"{batch.place}, or soon after it: feature {batch.n_columns - 1} (counted from 0) makes the model too "
                f"large: {error}; hash the features into fewer"
            ) from None


def class_number(classes: ClassTable, label: NewLabel) -> int:
    """Return the number of a class; a ``DataError`` says where its label stands if the classes are closed."""
    try:
        return classes.number(label.name)
    except LookupError as error:
        raise DataError(f"{label.place}: {error}") from None


class Answering:
    """A learner that is asked about a stream, which may have features beyond those it knows.

    Such a feature's weight still stands at its prior: mean 0 and the prior's variance, independent of all others. So
    the unknown features of a row add nothing to its scores, and to their variances what one feature adds whose value
    is the root of the sum of their squares. One feature is added to the learner to stand for all of them.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner, self.known = learner, learner.n_features

    def matrix(self, batch: Batch) -> _core.Matrix:
        """The batch with its unknown features folded into one, for the learner to answer about."""
        if batch.n_columns <= self.known:
            return batch.matrix
        if self.learner.n_features == self.known:
            self.learner.grow(n_features=self.known + 1)
        unknown = batch.columns >= self.known  # the last of their row: columns ascend
        row = np.repeat(np.arange(len(batch)), np.diff(batch.start))
        values = batch.values.astype(np.float64)  # a copy, and those of a cache may be of 32 bits
        size = np.sqrt(np.bincount(row[unknown], values[unknown] ** 2, minlength=len(batch)))
        first = unknown & np.append(True, ~unknown[:-1] | (np.diff(row) > 0))
        columns = np.minimum(batch.columns, self.known)
        values[first] = size[row[first]]
        kept = ~unknown | first
        start = np.append(0, np.cumsum(kept))[batch.start]
        return csr_matrix(values[kept], columns[kept], start, self.known + 1)
