"""Training on a stream of batches whose features and classes are not known in advance.

The result does not depend on how the stream is divided into batches: a feature or class exists from its first row on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import _core
from ..data import Batch, DataError
from ..data.advice import warn_if_sorted
from ..data.batch import NewLabel
from ..data.classes import ClassTable
from ..data.column_advice import warn_of_batch_columns
from ..data.features import Features
from ..data.memory.matrix import csr_matrix
from ..data.reading import ReaderOptions
from ..data.selection import first_together
from ..memory import require_memory
from ..views.columns import MARKS, PLAIN, ZERO, Columns

SHUFFLE_STREAM = "shuffle the rows (--shuffle with a buffer of many rows, in Python Stream.shuffle)"


class StreamLearner:
    """A learner that grows with its stream.

    Parameters
    ----------
    learner : Learner or Stack
        With a multilabel task, a multiclass task if the classes are known, or otherwise "binary"; with a task of
        regression if the stream has targets.
    classes : ClassTable
        The learner's classes; of a regression, the number of its output.
    multiclass : {"joint", "one-vs-rest", "softmax"}, optional
        What a binary learner becomes when a third class appears; by default the task of its rule.
    features : Features, optional
        The learner's features, if the features of the stream have names.
    reading : ReaderOptions, optional
        How rows are read, from which a view knows what the columns are.

    Attributes
    ----------
    log_loss : float64 array of shape (1,)
        Sum over all rows of the log-loss of their labels before training on them (:meth:`Learner.learn`).
    """

    def __init__(
        self, learner: Any, classes: ClassTable, multiclass: str | None = None, features: Features | None = None,
        reading: ReaderOptions | None = None,
    ) -> None:  # fmt: skip
        self.learner, self.classes, self.multiclass, self.features = learner, classes, multiclass, features
        self.reading = reading
        self.log_loss = np.zeros((1,))

    def learn(
        self, batches: Iterable[Batch], calibrate: bool = True, advise: bool = True,
        divide: Callable[[Iterator[Batch]], Iterator[Batch]] | None = None, check_order: bool = True,
        gather: bool = True,
    ) -> Iterator[Batch]:  # fmt: skip
        """Train on the batches of one stream; yield each batch after training on it.

        Parameters
        ----------
        batches : iterable of Batch
        calibrate : bool
            Whether this is the first pass, whose margins calibrate the probabilities.
        advise : bool
            Whether to warn, in the first pass, of sorted rows and of columns that may not be features.
        divide : callable, optional
            Yields the same rows in other batches, once the first rows have chosen the members of a stack.
        check_order : bool
            Whether ``advise`` is also about sorted rows.
        gather : bool
            Whether to wait for the first rows, which choose the members of a stack, and yield them together. The result
            is the same without, but these rows may be learned again.

        Raises
        ------
        DataError
            If a label is outside a closed set of classes, or a feature number makes the model too large for the memory.
        """
        number_of = np.zeros((0,), "int32")  # the learner's number of each label of the stream
        same = True  # whether these are the stream's own numbers
        if advise and calibrate:
            if check_order:
                batches = warn_if_sorted(batches, SHUFFLE_STREAM)
            if not self.learner.n_features:  # otherwise training continues and has already warned
                batches = warn_of_batch_columns(batches, self.reading, self.learner.wants_columns)
        prepared = self._prepared(batches, gather=gather)
        for batch in prepared if divide is None else divide(prepared):
            seen = len(number_of)
            if batch.new_labels:
                more = np.zeros((seen + len(batch.new_labels),), "int32")
                more[:seen], number_of = number_of, more
            for part in self.parts(batch):
                class_start = list[int]()
                for label in part.new_labels:
                    known = len(self.classes)
                    number_of[seen] = class_number(self.classes, label)
                    same = same and number_of[seen] == seen
                    if label.row and len(self.classes) > known:  # those of the first row exist from the start
                        class_start.append(label.row)
                    seen += 1
                self._learn(part, part.labels if same else number_of[part.labels], class_start, calibrate)
                self._keep_names(part)
            yield batch

    def learn_again(self, batch: Batch, names: Sequence[Any]) -> None:
        """Train once more on rows of a stream that was learned, without calibrating; ``names`` are those of labels."""
        number_of = np.array([self.classes.number(name) for name in names], np.int32)
        self._learn(batch, number_of[batch.labels] if len(names) else batch.labels, [], False)

    def parts(self, batch: Batch) -> Iterator[Batch]:
        """Yield the parts of a batch that :meth:`learn` trains on at once, each after training on the previous one.

        An error in a part undoes the training on it; the classes and columns that it introduced may stay.
        """
        new_classes, first = self._new_classes(batch), 0
        while first < len(batch):
            last = self._cut(batch, new_classes, first)
            yield batch.rows(first, last) if last - first < len(batch) else batch
            first = last

    def prepare(self, batches: Iterable[Batch], for_good: bool = False) -> Batch | None:
        """Choose the members of a stack by the first rows, without training, and return these rows.

        There is room for their features. ``for_good``: later rows choose no others.
        """
        for batch in self._prepared(batches, for_good):
            self._keep_names(batch)
            return batch
        return None

    def _prepared(self, batches: Iterable[Batch], for_good: bool = False, gather: bool = True) -> Iterator[Batch]:
        """Yield the same rows, after the first of them have chosen the members of a stack."""
        for batch in first_together(batches, self.learner.rows_to_prepare if gather else 0):
            self._make_room(batch)
            known = sum(name is not None for name in self.classes.names)
            new = [label.row for label in batch.new_labels if self.classes.get(label.name) is None]
            targets = None if batch.targets is None else batch.targets.reshape(len(batch), self.learner.n_classes)
            self.learner.prepare(batch.matrix, known, targets, new, for_good, weight=batch.weights)
            yield batch

    def _new_classes(self, batch: Batch) -> list[int]:
        """Return the rows, in order, at which a new class changes the learner.

        The very first label begins the training, and the third class turns a binary learner into a multiclass one.
        The other classes begin during a call, unless training uses matrix products or a view.
        """
        if not batch.new_labels:  # the usual case; counting many classes would take long
            return []
        rows = [new.row for new in batch.new_labels if self.classes.get(new.name) is None]
        if not self.learner.begins_classes:
            return rows
        after = self.learner.task.classes_before_change - sum(name is not None for name in self.classes.names)
        return rows[after : after + 1] if after >= 0 else []

    def _cut(self, batch: Batch, new_classes: list[int], first: int) -> int:
        """Return the row after ``first`` before which training must pause, or the end of the batch.

        A new class may change the learner; ``new_classes`` are the rows that bring them, in order. Excess names of
        features are pruned by weight, and the weights must be those after the row that brings the name, not after the
        batch.
        """
        after = bisect_right(new_classes, first)
        last = new_classes[after] if after < len(new_classes) else len(batch)
        if self.features is not None and batch.new_features is not None:
            before = bisect_left(batch.new_features.row, first)
            last_name = before + self.features.room()
            if last_name < len(batch.new_features.row):
                cut = int(batch.new_features.row[last_name]) + 1
                last = min(last, cut) if cut > first else last
        return last

    def _keep_names(self, part: Batch) -> None:
        if self.features is None or part.new_features is None:
            return
        self.features.add(part.new_features)
        prune_names(self.learner, self.features)

    def _learn(self, part: Batch, labels: np.ndarray, class_start: list[int], calibrate: bool) -> None:
        if len(self.classes) > self.learner.n_classes:
            self.learner.grow(n_classes=len(self.classes), multiclass=self.multiclass)
        if self.learner.n_classes:  # without a label so far there is nothing to train on
            options: dict[str, Any] = {"weight": part.weights, "calibrate": calibrate}
            groups = self.learner.groups
            if groups is not None and groups.column in part.kept:
                options["values"] = list(part.kept[groups.column])
            if part.targets is None:
                options |= {
                    "log_loss": self.log_loss,
                    "class_start": np.array(class_start, np.int64) if class_start else None,
                }
            else:
                options["targets"] = part.targets.reshape(len(part), self.learner.n_classes)
            try:
                self.learner.learn(part.matrix, labels, part.label_start, **options)
            except ValueError as error:  # out of range, or rows that a view cannot take
                raise DataError(f"{part.location}, or soon after it: {error}") from None

    def _make_room(self, batch: Batch) -> None:
        learner = self.learner
        if batch.n_columns <= learner.n_features:
            return
        needed = batch.n_columns * learner.bytes_per_feature
        try:
            require_memory(needed, "it", "hash the features into fewer columns")
            learner.grow(n_features=batch.n_columns, columns=self._new_columns(batch))
        except MemoryError as error:
            raise DataError(
                f"{batch.location}, or soon after it: feature {batch.n_columns - 1} (counted from 0) makes the model "
                f"too large: {error}"
            ) from error  # the memory error shows that the row alone is not to blame
        except ValueError as error:  # of a view
            raise DataError(f"{batch.location}, or soon after it: {error}") from None

    def _new_columns(self, batch: Batch) -> Columns | None:
        """Return what the view needs to know about the new columns of a batch."""
        n = batch.n_columns - self.learner.n_features
        if not self.learner.wants_columns:
            return None
        if batch.new_features is None:
            first = self.learner.n_features + (self.reading.first_index if self.reading else 0)
            return Columns.alike(n, ZERO, range(first, first + n))
        all_names = batch.new_features.names
        names = all_names.part(len(all_names) - n, len(all_names))
        if self.reading is not None and self.reading.file_format.text:
            return Columns.alike(n, PLAIN, names)
        if self.reading is not None and self.reading.file_format.columns:
            return Columns.of_table(names, len(names), names.having(MARKS))
        return Columns.alike(n, ZERO, names)


def prune_names(learner: Any, features: Features) -> None:
    """Keep a bounded number of names of hashed features: those with the largest weights."""
    if features.room() < 0:
        features.prune(learner.sizes())


def class_number(classes: ClassTable, label: NewLabel) -> int:
    """Return the number of a class; a ``DataError`` names the label's position if the classes are closed."""
    try:
        return classes.number(label.name)
    except LookupError as error:
        raise DataError(f"{label.location}: {error}") from None


class StreamPredictor:
    """A learner that predicts a stream, which may have unseen features.

    The weight of an unseen feature is at its prior: mean 0 and the prior variance, independent of all others. So
    unseen features do not change a row's scores. To the variances they contribute the same as a single feature whose
    value is the root of the sum of their squares. One feature is added to the learner to represent them all.

    Parameters
    ----------
    learner : Learner or Stack
    columns : int array, optional
        The columns of the stream, ascending, that the learner's features have; by default the first ones.
    """

    def __init__(self, learner: Any, columns: np.ndarray | None = None) -> None:
        self.learner, self.known, self.columns = learner, learner.n_features, columns

    def matrix(self, batch: Batch) -> _core.Matrix:
        """Return the batch's rows with their unseen features combined into one."""
        if self.columns is None and batch.n_columns <= self.known:
            return batch.matrix
        if self.learner.n_features == self.known:
            self.learner.grow(n_features=self.known + 1)
        return with_unseen_combined(batch, self.known, self.columns)


def with_unseen_combined(batch: Batch, known: int, columns: np.ndarray | None = None) -> _core.Matrix:
    """Return rows of ``known`` columns, the first ones or ``columns``, and one more for all others together."""
    return csr_matrix(*_core.rows_of_known(batch.values, batch.columns, batch.start, known, columns), known + 1)
