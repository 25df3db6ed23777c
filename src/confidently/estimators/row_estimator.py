"""Estimators learn rows in memory that are read as those of a file are: frames, dicts and texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..data import Batch, ReaderOptions
from ..data.batch import NewLabel
from ..data.classes import ClassTable
from ..data.memory.labels import example_weights, plain
from ..data.selection import chosen_rows
from ..data.shuffling import shuffled
from ..learner.centering import center, rows_to_center
from ..learner.streams import StreamLearner, class_number
from ..wording import counted
from .groups import kept
from .model_estimator import AnyLearner
from .passing import counted_rows, passes_of
from .rows import NOTHING_SAID, LabelledRows, Labels, labelled, reading_options
from .stream_estimator import StreamEstimator
from .streams import open_to_learn

MAX_SEED = 2**31 - 1


class BegunRows(NamedTuple):
    """Rows that are read as those of a file are, and the learner that is to be trained on them.

    Attributes
    ----------
    learning : StreamLearner
    batches : list of Batch
        All rows.
    labels : Labels
    reading : ReaderOptions, optional
        How the rows are read; ``None``: as those before.
    """

    learning: StreamLearner
    batches: list[Batch]
    labels: Labels
    reading: ReaderOptions | None


class RowEstimator(StreamEstimator[AnyLearner]):
    """Base of the estimators for rows in memory."""

    def _learn_rows(
        self, found: LabelledRows, sample_weight: Any, classes: Any, first: bool, partial: bool, predicted: Any,
        reading: Mapping[str, Any],
    ) -> Self:  # fmt: skip
        """Train on rows that are read as those of a file are."""
        begun = self._begin_rows(found, sample_weight, classes, first, partial, predicted, reading)
        n, labels = found.rows.n_rows, begun.labels
        shape = n, max((batch.n_columns for batch in begun.batches), default=0)
        passes, shuffle = 1 if partial else self._passes(shape), self._shuffles(labels, partial)
        begun.learning.learner.shuffled = shuffle
        begun.learning.learner.pass_rows, begun.learning.learner.passes = math.inf if partial else n, passes
        if not partial:
            begun.learning.learner.follow_no_misses()
        self._run(begun.learning, begun.batches, labels, passes, shuffle, partial)
        if not partial:
            self.learner_.settle(shuffled=shuffle)
            if shuffle and self._centers(labels):
                assert labels.classes is not None
                rows, names = rows_to_center(n), [plain(name) for name in labels.classes]
                second = names.index(begun.learning.classes.names[1])  # classes are numbered as they come
                self._center(chosen_rows(begun.batches, rows).matrix, rows, labels, second)
        self.learner_.shuffled, self.learner_.pass_rows = False, math.inf
        return self._keep(begun.learning, begun.reading)

    def _shuffles(self, labels: Labels, partial: bool) -> bool:
        """Return whether rows are shuffled; otherwise warn of an order that spoils the model."""
        shuffle = bool(self.shuffle) and not partial
        if not shuffle:
            self._advise(labels, partial)
        return shuffle

    def _centers(self, labels: Labels) -> bool:
        """Return whether probabilities are those of two classes, which calibration has an offset for."""
        return self._calibrates and self.learner_.task.binary and labels.n == 2

    def _center(self, X: Any, rows: np.ndarray, labels: Labels, second: int = 1) -> None:
        """Let the mean probability of rows in random order be right, by some of these rows.

        ``second`` is the number in the labels of the learner's second class.
        """
        weight, one = labels.weights(), labels.numbers == second
        weight = np.ones(len(one)) if weight is None else weight
        if weight[rows].any():
            center(self.learner_, X, one[rows], weight[rows], float(weight @ one / weight.sum()))

    def _begin_rows(
        self, found: LabelledRows, sample_weight: Any, classes: Any, first: bool, partial: bool, predicted: Any = None,
        reading: Mapping[str, Any] = NOTHING_SAID,
    ) -> BegunRows:  # fmt: skip
        """Return rows that are read as those of a file are, and a copy of the learner to train on them."""
        if first:
            self.__dict__.pop("feature_names_in_", None)
        self._check_parameters(partial)
        n = found.rows.n_rows
        labels = self._numbered(self._validated_labels(found.y, n), classes, first, partial)
        if predicted is not None:
            labels = labels._replace(predicted=self._late(predicted, n))
        if sample_weight is not None:
            labels.options["weight"] = example_weights(sample_weight, n, partial)
        names = [] if labels.classes is None else [plain(name) for name in labels.classes]
        keep = kept(self.coverage_by)
        if first:
            self._averages = False  # as rows of files
            options = reading_options(reading, found.rows)
            if found.label is not None:
                options["label"] = found.label
            of_rows: dict[str, Any] = {"ignore_labels": True, "keep": keep, "encoder": self._encoder(), **options}
            stream = open_to_learn(found.rows, self.dtype, self._scaled, **of_rows)
            table = self._first_table(labels, [] if not (partial or labels.multilabel) else names)
        else:
            self._follow_parameters()
            stream, table = self._open(found.rows, ignore_labels=True, keep=keep), self._next_table(names)
        with stream:
            rows: Iterator[Batch] = labelled(stream, labels, names)
            if first:
                learning, rows = self._stream_learner(stream, table, rows)
            else:
                learning = self._continued(table, stream.reading)
            batches = list(rows)
        return BegunRows(learning, batches, labels, stream.reading if first else None)

    def _next_table(self, names: list[Any]) -> ClassTable:
        """Return the classes so far and perhaps more."""
        table = self.as_model().class_table()
        for name in names:
            class_number(table, NewLabel(name, 0, "classes"))
        return table

    def _run(self, X: Any, matrix: Any, labels: Labels, passes: int, shuffle: bool, partial: bool) -> None:
        """Make the passes over the batches of a :class:`StreamLearner`, or over rows and their matrix."""
        learning, batches = X, matrix
        generator, n = check_random_state(self.random_state), sum(map(len, batches))
        for number, progress in passes_of(self, lambda: learning.learner.mistakes, n, passes):
            rows: Iterator[Batch] = iter(batches)
            if shuffle:
                rows = shuffled(rows, 2 * n, int(generator.randint(MAX_SEED)))
            for _ in learning.learn(counted_rows(rows, progress), calibrate=number == 0, check_order=False):
                pass
            batches = [replace(batch, new_features=None) for batch in batches]
        self.learner_ = learning.learner

    def _validated_labels(self, y: Any, n_rows: int) -> Any:
        """Return what scikit-learn makes of y without rows."""
        self._check_labels(y)
        y = validate_data(self, y=y, reset=False, **self._validation_of_y)
        if y.shape[0] != n_rows:
            raise ValueError(f"X has {counted(n_rows, 'row')}, y has {y.shape[0]:,}; they must have as many")
        return y
