"""How good predictions are, added up batch by batch; NumPy only."""

from __future__ import annotations

import numpy as np

MIN_PROBABILITY = (
    1e-15  # log-loss counts no probability as smaller, so that one certain mistake does not make it infinite
)


def area_under_curve(scores: np.ndarray, positive: np.ndarray) -> float | None:
    """P(a positive row scores higher than a negative one), ties counting half; ``None`` without one of the two."""
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        return None
    _, value, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[value]  # mean rank among equals, from 1
    return float((rank[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def ranking_loss(scores: np.ndarray, relevant: np.ndarray) -> np.ndarray:
    """A row's share of (relevant, irrelevant) pairs in the wrong order, ties included; 0 for rows without pairs."""
    wrong = np.zeros(len(scores))
    for i, (score, yes) in enumerate(zip(scores, relevant, strict=True)):
        others = np.sort(score[~yes])
        pairs = len(others) * int(yes.sum())
        if pairs:
            wrong[i] = (len(others) - np.searchsorted(others, score[yes], side="left")).sum() / pairs
    return wrong


class ClassMetrics:
    """Rows of one class each. A class that is not known, number -1, is always predicted wrongly."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.rows = self.correct = self.unknown = 0
        self.log_loss = 0.0
        self.confusion = np.zeros((n_classes, n_classes), dtype=np.int64)  # true class, predicted class
        self.predicted = np.zeros(n_classes, dtype=np.int64)
        self.scores: list[np.ndarray] = []

    def add(self, truth: np.ndarray, predicted: np.ndarray, probabilities: np.ndarray) -> None:
        """A batch of rows: numbers of classes, and the probability of each class."""
        known = truth >= 0
        self.rows += len(truth)
        self.unknown += int((~known).sum())
        self.correct += int((truth == predicted).sum())
        self.predicted += np.bincount(predicted, minlength=self.n_classes)
        pairs = truth[known] * self.n_classes + predicted[known]
        self.confusion += np.bincount(pairs, minlength=self.n_classes**2).reshape(self.confusion.shape)
        given = np.maximum(probabilities[known, truth[known]], MIN_PROBABILITY)
        self.log_loss -= float(np.log(given).sum())

    def result(self) -> dict[str, float | int | None]:
        """All of it as shares and counts."""
        known = self.rows - self.unknown
        return {
            "rows": self.rows,
            "error": 1 - self.correct / self.rows,
            "accuracy": self.correct / self.rows,
            "log_loss": self.log_loss / known if known else None,
            "rows_of_unknown_classes": self.unknown,
        }

    def by_class(self) -> list[dict[str, float | int | None]]:
        """Rows, precision and recall of every class."""
        rows, hits = self.confusion.sum(axis=1), self.confusion.diagonal()
        return [
            {"rows": int(n), "precision": _share(hit, p), "recall": _share(hit, n)}
            for n, hit, p in zip(rows, hits, self.predicted, strict=True)
        ]


class LabelMetrics:
    """Rows with sets of labels. Labels that are not known are missed."""

    def __init__(self, n_labels: int) -> None:
        self.rows = self.exact = self.unknown = 0
        self.ranking = 0.0
        self.hits, self.relevant, self.predicted = (np.zeros(n_labels, dtype=np.int64) for _ in range(3))

    def add(self, relevant: np.ndarray, unknown: np.ndarray, scores: np.ndarray) -> None:
        """A batch of rows: booleans (rows, labels), how many unknown labels each row has, and scores."""
        predicted = scores > 0
        self.rows += len(scores)
        self.unknown += int(unknown.sum())
        self.exact += int(((predicted == relevant).all(axis=1) & (unknown == 0)).sum())
        self.ranking += float(ranking_loss(scores, relevant).sum())
        self.hits += (predicted & relevant).sum(axis=0)
        self.relevant += relevant.sum(axis=0)
        self.predicted += predicted.sum(axis=0)

    def result(self) -> dict[str, float | int | None]:
        """All of it as shares and counts."""
        hits, relevant = int(self.hits.sum()), int(self.relevant.sum()) + self.unknown
        predicted, cells = int(self.predicted.sum()), self.rows * len(self.hits) + self.unknown
        return {
            "rows": self.rows,
            "subset_accuracy": self.exact / self.rows,
            "micro_f1": _share(2 * hits, predicted + relevant),
            "micro_precision": _share(hits, predicted),
            "micro_recall": _share(hits, relevant),
            "hamming_loss": _share(predicted + relevant - 2 * hits, cells),
            "ranking_loss": self.ranking / self.rows,
            "unknown_labels": self.unknown,
        }

    def by_class(self) -> list[dict[str, float | int | None]]:
        """Rows, precision and recall of every label."""
        return [
            {"rows": int(n), "precision": _share(hit, p), "recall": _share(hit, n)}
            for n, hit, p in zip(self.relevant, self.hits, self.predicted, strict=True)
        ]


def _share(part: float | np.int64, whole: float | np.int64) -> float | None:
    return float(part / whole) if whole else None
