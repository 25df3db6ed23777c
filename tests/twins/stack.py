"""The stack in plain Python, row by row: naive Bayes and the mixture, as documented. Nothing is shared."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
from scipy.special import expit


class NaiveBayes:
    """Rows are dicts of values by feature."""

    def __init__(self, n_classes):
        self.having = [{} for _ in range(n_classes)]
        self.rows = [0.0] * n_classes

    def score(self, row):
        n, met = len(self.rows), {j for counts in self.having for j in counts}
        length = sqrt(sum(x * x for x in row.values()))
        scores = []
        for counts, rows in zip(self.having, self.rows, strict=True):
            total = log(sum(counts.values()) + max(len(met), 1))
            by_feature = [x / length * (log(counts.get(j, 0.0) + 1) - total) for j, x in row.items() if j in met]
            scores.append(sum(by_feature) + 0.1 * log((rows + 1) / (sum(self.rows) + n)))
        if n == 2:
            return [scores[1] - scores[0]]
        return [score - sum(scores) / n for score in scores]

    def learn(self, row, label, w):
        self.rows[label] += w
        for j in row:
            self.having[label][j] = self.having[label].get(j, 0.0) + w


class Window:
    """Weights of members by a damped Newton method, the linear system solved by NumPy."""

    def __init__(self, members, rows, careful):
        self.careful = careful
        self.weights, self.hessian, self.size = np.full(members, 1 / members), np.zeros((members, members)), rows

    def learn(self, logits, label, w, before):
        """Return the probability of the label before; ``before``: the weight of the rows before."""
        p, scores = probabilities(self.weights, logits), np.clip(logits, -1000, 1000)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        mean = scores @ p
        counted = p >= 1e-5 if logits.shape[1] > 1 else np.full(2, True)
        spread = (scores - mean[:, None])[:, counted] * np.sqrt(p[counted])
        self.hessian *= (1 - 1 / min(before + 2, self.size)) ** w
        self.hessian += w * spread @ spread.T
        step = np.linalg.solve(self.hessian + np.eye(len(mean)) / 0.09, w * (scores[:, label] - mean))
        size = np.abs(step).sum() if self.careful else np.abs(step).max()
        self.weights = self.weights + step * min(1.0, 0.5 / max(size, 1e-300))
        return p[label]


class Mixture:
    """The mean of the weights of three windows, by how well each has predicted of late: fixed share."""

    def __init__(self, members, careful=False, rows=(50, 300, 5000)):
        self.windows = [Window(members, n, careful) for n in rows]
        self.share, self.rows = np.full(len(rows), 1 / len(rows)), 0.0

    @property
    def weights(self):
        return sum(share * window.weights for share, window in zip(self.share, self.windows, strict=True))

    def probabilities(self, logits):
        """``logits``: (members, classes), or (members, 1) of two classes."""
        return probabilities(self.weights, logits)

    def learn(self, logits, label, w):
        """Return the probability of the label before."""
        found = self.probabilities(logits)[label]
        likely = np.array([max(window.learn(logits, label, w, self.rows), 1e-9) for window in self.windows])
        followed = self.share * likely**w
        self.share = 0.998 * followed / followed.sum() + 0.002 / len(followed)
        self.rows += w
        return found


def probabilities(weights, logits):
    mixed = weights @ np.clip(logits, -1000, 1000)
    if len(mixed) == 1:
        mixed = np.array([0.0, mixed[0]])
    e = [exp(score - mixed.max()) for score in mixed]
    return np.array(e) / sum(e)


class LabelMixtures:
    """A mixture per label, the parts of whose steps add up to .5 at most, and the F1 so far."""

    def __init__(self, members, labels):
        self.mixtures = [Mixture(members, careful=True) for _ in range(labels)]
        self.hits, self.chances = np.zeros(labels), np.zeros(labels)

    @property
    def threshold(self):
        return (self.hits.sum() + 0.5) / (self.chances.sum() + 1)

    def scores(self, logits):
        """``logits``: (members, labels)."""
        mixed = zip(self.mixtures, np.clip(logits, -1000, 1000).T, strict=True)
        return np.array([mixture.weights @ own for mixture, own in mixed])

    def learn(self, logits, relevant, w):
        """Return the probability of each label before."""
        p, threshold = expit(self.scores(logits)), self.threshold
        keep = (1 - 1 / 2000) ** w
        self.hits = keep * self.hits + w * ((p > threshold) & relevant)
        self.chances = keep * self.chances + w * ((p > threshold) * 1.0 + relevant)
        for k, mixture in enumerate(self.mixtures):
            mixture.learn(logits[:, [k]], int(relevant[k]), w)
        return p
