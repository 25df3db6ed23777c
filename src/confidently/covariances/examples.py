"""Rows to train on, divided into blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .. import _core
from ..arrays import row_entries, row_starts
from .settings import Settings


@dataclass(eq=False)  # it holds arrays, of which == is no truth value
class Progressive:
    """What training records of rows before it uses their labels, with a calibration.

    Attributes
    ----------
    log_loss : float64 array of shape (1,), optional
        Incremented by the log-loss of each row's label.
    logits : float64 array of shape (n, columns), optional
        Set to the calibrated scores, in the order of training. The largest of three or more classes is 0.
    evidence : float64 array of shape (n, 1 + columns), optional
        Regression: set to the factor of x x' in the precision that a row adds, and its targets less their offset.
    scores : float64 array, optional
        Set to what groups learn of rows, in the order of training, except for rows of weight 0: the log-odds of their
        class or, row by row, of each of their labels, or the standardized error of each number.
    score_start : int64 array of shape (n + 1,), optional
        Where the scores of each row start, unless each row has one.
    """

    log_loss: np.ndarray | None = None
    logits: np.ndarray | None = None
    evidence: np.ndarray | None = None
    scores: np.ndarray | None = None
    score_start: np.ndarray | None = None

    @classmethod
    def of_scores(cls, log_loss: np.ndarray | None, examples: Examples) -> Progressive:
        """Return what records the scores of examples, which are NaN at first."""
        start = None
        if examples.targets is not None:
            start = row_starts(np.full(len(examples), examples.targets.shape[1]))
        elif examples.label_start is not None:
            _, start = row_entries(examples.label_start, slice(None) if examples.order is None else examples.order)
        n = len(examples) if start is None else int(start[-1])
        return cls(log_loss, scores=np.full(n, np.nan), score_start=start)

    def block(self, first: int, last: int) -> Progressive:
        """Return what is recorded of rows ``first`` to ``last - 1`` in the order of training."""
        logits, evidence = (None if array is None else array[first:last] for array in (self.logits, self.evidence))
        scores, start = self.scores, self.score_start
        if scores is not None and start is not None:
            scores, start = scores[start[first] : start[last]], start[first : last + 1] - start[first]
        elif scores is not None:
            scores = scores[first:last]
        return Progressive(self.log_loss, logits, evidence, scores, start)


@dataclass(eq=False)  # it holds arrays, of which == is no truth value
class Examples:
    """Rows with labels and weights, as in :meth:`confidently.learner.learner.Learner.learn`.

    Rows of a regression have ``targets``, shape (n, numbers per row), and the label 0.
    """

    X: _core.Matrix
    labels: np.ndarray
    label_start: np.ndarray | None = None
    weight: np.ndarray | None = None
    class_weight: np.ndarray | None = None
    order: np.ndarray | None = None
    class_start: np.ndarray | None = None
    targets: np.ndarray | None = None

    def __len__(self) -> int:
        return self.X.shape[0] if self.order is None else len(self.order)

    @property
    def is_one_row(self) -> bool:
        """Whether they are one row of one class or of numbers, in whose weight the class does not count."""
        others = (self.label_start, self.class_weight, self.order, self.class_start)
        return self.X.shape[0] == 1 and not any(one is not None for one in others)

    def compiled(
        self, first: int, last: int, calibrate: bool, progressive: Progressive, block: Block | None = None
    ) -> _core.TrainingRows:
        """Return what the core trains on and records: rows ``first`` to ``last - 1`` in the order of training.

        ``progressive`` is that of all rows; ``block`` is the one whose rows, in its order, these examples are.
        """
        own = progressive.block(first, last)
        seen = None if self.targets is None else self.X  # which the noise depends on
        order, start = (None, 0) if block is None else (block.order, block.first)
        return _core.TrainingRows(
            self.labels, self.label_start, self.weight, self.class_weight, self.order, first, last, self.class_start,
            self.targets, calibrate, own.log_loss, own.logits, own.evidence, own.scores, seen, order,
            0 if order is not None else start,
        )  # fmt: skip

    def part(self, first: int, last: int) -> Examples:
        """Return rows ``first`` to ``last - 1`` in the order of training, as examples of the same matrix."""
        order = np.arange(first, last) if self.order is None else np.ascontiguousarray(self.order[first:last])
        return replace(self, order=order)

    def block(self, first: int, last: int) -> Block:
        """Return rows ``first`` to ``last - 1`` in the order of training."""
        order = None if self.order is None else np.ascontiguousarray(self.order[first:last])
        rows = slice(first, last) if order is None else order
        labels, start = self.labels, None
        if self.label_start is None:
            labels = self.labels[rows]
        else:
            entries, start = row_entries(self.label_start, rows)
            labels = self.labels[entries]
        weight = None if self.weight is None else np.ascontiguousarray(self.weight[rows])
        targets = None if self.targets is None else np.ascontiguousarray(self.targets[rows])
        return Block(self.X, order, first, last - first, labels, start, weight, self.class_weight, targets)


@dataclass(eq=False)  # it holds arrays, of which == is no truth value
class Block:
    """Consecutive rows in the order of training."""

    X: _core.Matrix
    order: np.ndarray | None
    first: int
    n: int
    labels: np.ndarray
    label_start: np.ndarray | None
    weight: np.ndarray | None
    class_weight: np.ndarray | None
    targets: np.ndarray | None

    def compiled(self, calibrate: bool, progressive: Progressive) -> _core.TrainingRows:
        """Return what the core trains on and records: all rows, in their order here."""
        rows = Examples(self.X, self.labels, self.label_start, self.weight, self.class_weight, targets=self.targets)
        return rows.compiled(0, self.n, calibrate, progressive, self)

    def weights(self) -> np.ndarray:
        """Return the weights of the rows, which those of their classes multiply."""
        weights = np.ones(self.n) if self.weight is None else self.weight
        return weights if self.class_weight is None else weights * self.class_weight[self.labels]

    def dense(self, settings: Settings, width: int) -> np.ndarray:
        """Return the rows as a dense array, the intercept first."""
        out = np.empty((self.n, width), dtype=settings.dtype)
        _core.fill_rows(self.X, self.order, self.first, settings.fit_intercept, out)
        return out
