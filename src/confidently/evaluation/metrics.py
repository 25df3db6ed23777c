"""Measures of predictions, accumulated batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..data.class_order import sorted_numbers

# Log-loss counts no probability as smaller, so that one certain mistake does not make it infinite.
MIN_SCORED_PROBABILITY = 1e-15
MAX_CROSSED = 1000  # classes up to which rows are counted by true and predicted class


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """Return P(a positive row scores higher than a negative one), ties counting half; ``None`` without either."""
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return None
    _, value, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[value]  # mean rank among equals, from 1
    return float((rank[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def ranking_loss(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """Return the fraction of (relevant, irrelevant) pairs in the wrong order, ties included; 0 without pairs."""
    wrong = np.zeros(len(scores))
    for i, (score, yes) in enumerate(zip(scores, relevant, strict=True)):
        others = np.sort(score[~yes])
        pairs = len(others) * int(yes.sum())
        if pairs:
            wrong[i] = (len(others) - np.searchsorted(others, score[yes], side="left")).sum() / pairs
    return wrong


class ClassMetrics:
    """Measures of rows with one class each. An unknown class, number -1, is always predicted wrongly.

    Attributes
    ----------
    confusion : int array of shape (n_classes, n_classes) or None
        Rows by true and predicted class; None with more than ``MAX_CROSSED`` classes.
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.rows = self.correct = self.unknown = 0
        self.log_loss = 0.0
        crossed = n_classes <= MAX_CROSSED
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64) if crossed else None
        self.true, self.hits, self.predicted = (np.zeros(n_classes, dtype=np.int64) for _ in range(3))

    def add(self, truth: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray) -> None:
        """Add a batch of rows: class numbers, true and predicted, and the probability of each class."""
        known = truth >= 0
        self.rows += len(truth)
        self.unknown += int((~known).sum())
        self.correct += int((truth == predicted).sum())
        self.predicted += np.bincount(predicted, minlength=self.n_classes)
        self.true += np.bincount(truth[known], minlength=self.n_classes)
        self.hits += np.bincount(truth[truth == predicted], minlength=self.n_classes)
        if self.confusion is not None:
            pairs = truth[known] * self.n_classes + predicted[known]
            self.confusion += np.bincount(pairs, minlength=self.n_classes**2).reshape(self.confusion.shape)
        given = np.maximum(probabilities[known, truth[known]], MIN_SCORED_PROBABILITY)
        self.log_loss -= float(np.log(given).sum())

    def result(self) -> dict[str, float | int | None]:
        """Return all measures, as fractions and counts."""
        known = self.rows - self.unknown
        return {
            "rows": self.rows,
            "error": 1 - self.correct / self.rows,
            "accuracy": self.correct / self.rows,
            "log_loss": self.log_loss / known if known else None,
            "macro_f1": _macro_f1(self.hits, self.true, self.predicted),
            "rows_of_unknown_classes": self.unknown,
        }

    def by_class(self) -> list[dict[str, float | int | None]]:
        """Return rows, precision and recall of every class."""
        return [
            {"rows": int(n), "precision": _fraction(hit, p), "recall": _fraction(hit, n)}
            for n, hit, p in zip(self.true, self.hits, self.predicted, strict=True)
        ]


class RegressionMetrics:
    """Measures of predicted numbers and of their intervals.

    Parameters
    ----------
    coverage : float
        The probability of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> metrics = RegressionMetrics(0.9)
    >>> metrics.add(np.array([1.0, 3.0]), np.array([2.0, 3.0]), np.array([[1.5, 2.5], [2.0, 4.0]]))
    >>> found = metrics.result()
    >>> found["rows"], found["mae"], found["r2"], found["interval"]
    (2, 0.5, 0.5, {'probability': 0.9, 'coverage': 0.5, 'mean_width': 1.5})
    """

    def __init__(self, coverage: float) -> None:
        self.coverage = coverage
        self.rows = self.inside = 0
        self.squared = self.absolute = self.width = self.mean = self.around_mean = 0.0

    def add(self, targets: np.ndarray, predicted: np.ndarray, limits: np.ndarray) -> None:
        """Add a batch of rows: targets and predictions, shape (n,), and the limits of the intervals, shape (n, 2)."""
        if not len(targets):
            return
        errors, before, n = predicted - targets, self.rows, len(targets)
        self.rows += n
        self.squared += float(errors @ errors)
        self.absolute += float(np.abs(errors).sum())
        self.inside += int(((limits[:, 0] <= targets) & (targets <= limits[:, 1])).sum())
        self.width += float((limits[:, 1] - limits[:, 0]).sum())
        center = float(targets.mean())
        shift = center - self.mean
        self.around_mean += float(((targets - center) ** 2).sum()) + shift**2 * before * n / self.rows
        self.mean += shift * n / self.rows

    def result(self) -> dict[str, Any]:
        """Return all measures; R2 is ``None`` if all targets are equal, and the mean width if it is infinite."""
        return {
            "rows": self.rows,
            "rmse": (self.squared / self.rows) ** 0.5,
            "mae": self.absolute / self.rows,
            "r2": 1.0 - self.squared / self.around_mean if self.around_mean > 0.0 else None,
            "interval": {
                "probability": self.coverage,
                "coverage": self.inside / self.rows,
                "mean_width": self.width / self.rows if math.isfinite(self.width) else None,
            },
        }


class AbstentionMetrics:
    """Coverage and error where rows are predicted only if their predicted class has at least a given probability."""

    def __init__(self, probability: float) -> None:
        self.probability = probability
        self.rows = self.predicted = self.wrong = 0

    def add(self, correct: np.ndarray, probability: np.ndarray) -> None:
        """Add a batch of rows: whether the predicted class is the true one, and its probability."""
        predicted = probability >= self.probability
        self.rows += len(correct)
        self.predicted += int(predicted.sum())
        self.wrong += int((predicted & ~correct).sum())

    def result(self) -> dict[str, float | int | None]:
        """Return the measures, as fractions and counts; no error if no row is predicted."""
        return {
            "probability": self.probability,
            "rows_predicted": self.predicted,
            "coverage": self.predicted / self.rows,
            "error": _fraction(self.wrong, self.predicted),
        }


class SetMetrics:
    """Coverage and size of sets of classes or of labels.

    A row's true class, or each of its relevant labels, is to be in its set; an unknown one never is. The lowest and the
    highest coverage are those of any 1,000 consecutive rows.

    Parameters
    ----------
    coverage : float
        The probability of the sets.
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> metrics = SetMetrics(0.9, 2)
    >>> metrics.add(np.array([[True, False], [True, True]]), np.array([[False, True], [False, True]]), np.zeros(2, int))
    >>> metrics.result()
    {'probability': 0.9, 'coverage': 0.5, 'lowest': None, 'highest': None, 'mean_size': 1.5}
    """

    window = 1000

    def __init__(self, coverage: float, n_classes: int) -> None:
        self.coverage = coverage
        self.rows = self.size = 0
        self.covered, self.true, self.sizes = (np.zeros(n_classes, dtype=np.int64) for _ in range(3))
        self.unknown = 0
        self.lowest: float | None = None
        self.highest: float | None = None
        self._last = np.zeros((2, 0), dtype=np.int64)  # numbers of classes covered and true, of the last rows

    def add(self, sets: np.ndarray, true: np.ndarray, unknown: np.ndarray) -> None:
        """Add a batch of rows: booleans (rows, classes), and the number of unknown classes of each row."""
        inside, size = sets & true, sets.sum(axis=1)
        self.rows += len(sets)
        self.size += int(size.sum())
        self.covered += inside.sum(axis=0)
        self.true += true.sum(axis=0)
        self.sizes += size @ true
        self.unknown += int(unknown.sum())
        by_row = np.concatenate([self._last, [inside.sum(axis=1), true.sum(axis=1) + unknown]], axis=1)
        before = np.pad(by_row.cumsum(axis=1), ((0, 0), (1, 0)))
        covered, expected = before[:, self.window :] - before[:, : -self.window]
        found = covered[expected > 0] / expected[expected > 0]
        if len(found):
            self.lowest = min(float(found.min()), 1.0 if self.lowest is None else self.lowest)
            self.highest = max(float(found.max()), self.highest or 0.0)
        self._last = by_row[:, -(self.window - 1) :]

    def result(self) -> dict[str, float | None]:
        """Return the measures, as fractions and counts."""
        return {
            "probability": self.coverage,
            "coverage": _fraction(int(self.covered.sum()), int(self.true.sum()) + self.unknown),
            "lowest": self.lowest,
            "highest": self.highest,
            "mean_size": self.size / self.rows,
        }

    def by_class(self) -> list[dict[str, float | None]]:
        """Return the coverage of every class, and the mean size of the sets of its rows."""
        return [
            {"coverage": _fraction(inside, n), "mean_size": _fraction(size, n)}
            for inside, n, size in zip(self.covered, self.true, self.sizes, strict=True)
        ]


class LabelMetrics:
    """Measures of multilabel rows. Unknown labels count as missed."""

    def __init__(self, n_labels: int) -> None:
        self.rows = self.exact = self.unknown = 0
        self.ranking = 0.0
        self.hits, self.relevant, self.predicted = (np.zeros(n_labels, dtype=np.int64) for _ in range(3))

    def add(self, relevant: np.ndarray, unknown: np.ndarray, scores: np.ndarray, predicted: np.ndarray) -> None:
        """Add a batch of rows: booleans (rows, labels), the number of unknown labels of each row, scores, booleans."""
        self.rows += len(scores)
        self.unknown += int(unknown.sum())
        self.exact += int(((predicted == relevant).all(axis=1) & (unknown == 0)).sum())
        self.ranking += float(ranking_loss(scores, relevant).sum())
        self.hits += (predicted & relevant).sum(axis=0)
        self.relevant += relevant.sum(axis=0)
        self.predicted += predicted.sum(axis=0)

    def result(self) -> dict[str, float | int | None]:
        """Return all measures, as fractions and counts."""
        hits, relevant = int(self.hits.sum()), int(self.relevant.sum()) + self.unknown
        predicted, cells = int(self.predicted.sum()), self.rows * len(self.hits) + self.unknown
        return {
            "rows": self.rows,
            "subset_accuracy": self.exact / self.rows,
            "micro_f1": _fraction(2 * hits, predicted + relevant),
            "micro_precision": _fraction(hits, predicted),
            "micro_recall": _fraction(hits, relevant),
            "macro_f1": _macro_f1(self.hits, self.relevant, self.predicted),
            "hamming_loss": _fraction(predicted + relevant - 2 * hits, cells),
            "ranking_loss": self.ranking / self.rows,
            "unknown_labels": self.unknown,
        }

    def by_class(self) -> list[dict[str, float | int | None]]:
        """Return rows, precision and recall of every label."""
        return [
            {"rows": int(n), "precision": _fraction(hit, p), "recall": _fraction(hit, n)}
            for n, hit, p in zip(self.relevant, self.hits, self.predicted, strict=True)
        ]


class GroupMetrics:
    """Measures by the value of a column; rows with other values than the first ``most`` ones are one group.

    Examples
    --------
    >>> metrics = GroupMetrics()
    >>> metrics.add(["north", "south", "north"], {"error": np.array([1, 0, 0])})
    >>> metrics.result()
    [{'value': 'north', 'rows': 2, 'error': 0.5}, {'value': 'south', 'rows': 1, 'error': 0.0}]
    """

    most = 64

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._rows = np.zeros(self.most + 1, dtype=np.int64)
        self._sums: dict[str, np.ndarray] = {}

    def add(
        self, values: Iterable[str], measures: dict[str, np.ndarray], of: dict[str, np.ndarray] | None = None
    ) -> None:
        """Add a batch of rows: their values and measures, and what measures are fractions of if that is not 1."""
        group, of = np.array([self._number(value) for value in values], dtype=np.int64), of or {}
        self._rows += np.bincount(group, minlength=self.most + 1)
        for name, parts in measures.items():
            sums = [np.bincount(group, one, self.most + 1) for one in (parts, of.get(name, np.ones(len(group))))]
            self._sums[name] = self._sums.get(name, 0.0) + np.array(sums)

    def _number(self, value: str) -> int:
        if value not in self._numbers and len(self._numbers) < self.most:
            self._numbers[value] = len(self._numbers)
        return self._numbers.get(value, self.most)

    def result(self) -> list[dict[str, Any]]:
        """Return value, rows and mean measures of each group, numeric values by size; None is for other values."""
        numbers: dict[str | None, int] = {None: self.most} if self._rows[self.most] else {}
        numbers.update(self._numbers)
        values = list(numbers)
        return [
            {"value": value, "rows": int(self._rows[numbers[value]])}
            | {name: _fraction(*sums[:, numbers[value]]) for name, sums in self._sums.items()}
            for value in (values[k] for k in sorted_numbers(values))
        ]


def _macro_f1(hits: np.ndarray, true: np.ndarray, predicted: np.ndarray) -> float | None:
    """Return the mean F1, 2 hits / (true + predicted), of the classes that are true or predicted for some row."""
    found = true + predicted > 0
    return float((2 * hits[found] / (true + predicted)[found]).mean()) if found.any() else None


def _fraction(part: float | np.int64, whole: float | np.int64) -> float | None:
    return float(part / whole) if whole else None
