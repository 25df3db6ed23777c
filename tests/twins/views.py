"""The views in plain Python, row by row: what core/views/ computes, as docs/views.md has it. Nothing is shared with it.

A row is a dict of values by column. ``see`` returns the row that a learner sees, and ``learn`` counts a row in.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import cos, floor, log, pi, sqrt

import numpy as np
from scipy.special import ndtri
from sklearn.ensemble import HistGradientBoostingClassifier


def unit(row, wanted=True):
    if not wanted:
        return {j: x for j, x in row.items() if x}
    length = sqrt(sum(x * x for x in row.values()))
    return {j: x / length for j, x in row.items() if x} if length else {}


class Unit:
    def see(self, row):
        return unit(row)

    def learn(self, row, labels, w):
        pass


class Standard:
    """Exact moments in fractions; ``kinds`` says of every column whether it is 0 where it is absent."""

    def __init__(self, kinds, unit_norm=True):
        self.kinds, self.values = kinds, {j: [] for j, kind in kinds.items() if kind != "plain"}
        self.unit_norm, self.limit = unit_norm, 1e3 if unit_norm else 5.0

    def whole(self, row):
        absent = {j: 0.0 for j, kind in self.kinds.items() if kind == "zero" and j not in row}
        return row | absent

    def see(self, row):
        seen = {}
        for j, x in self.whole(row).items():
            seen[j] = self.standardized(j, x) if j in self.values else x
        return unit(seen, self.unit_norm)

    def standardized(self, j, x):
        total = sum(w for w, _ in self.values[j])
        if not total:
            return 0.0
        mean = sum(w * v for w, v in self.values[j]) / total
        variance = sum(w * (v - mean) ** 2 for w, v in self.values[j]) / total
        d = float(Fraction(x) - mean)
        if variance == 0:
            return float((d > 0) - (d < 0))
        return max(-self.limit, min(self.limit, d / sqrt(variance)))

    def learn(self, row, labels, w):
        for j, x in self.whole(row).items():
            if j in self.values:
                self.values[j].append((Fraction(w), Fraction(x)))


class Center:
    """Exact means in fractions; a column is 0 where it is absent, unless ``kinds`` says that its value is missing."""

    def __init__(self, kinds):
        self.kinds, self.values = kinds, {j: [] for j in kinds}

    def whole(self, row):
        return row | {j: 0.0 for j, kind in self.kinds.items() if kind != "missing" and j not in row}

    def see(self, row):
        seen = {}
        for j, x in self.whole(row).items():
            if total := sum(w for w, _ in self.values[j]):
                seen[j] = float(Fraction(x) - sum(w * v for w, v in self.values[j]) / total)
        return {j: x for j, x in seen.items() if x}

    def learn(self, row, labels, w):
        for j, x in self.whole(row).items():
            self.values[j].append((Fraction(w), Fraction(x)))


class FirstValues:
    """The first 1,000 values of every number; ``known`` are those when there were last 1, 2, 4, ..., 512 or 1,000."""

    def __init__(self, kinds, unit_norm=True):
        self.kinds, self.unit_norm = kinds, unit_norm
        self.values = {j: [] for j, kind in kinds.items() if kind != "plain"}
        self.known = {j: [] for j in self.values}

    def whole(self, row):
        return row | {j: 0.0 for j, kind in self.kinds.items() if kind == "zero" and j not in row}

    def learn(self, row, labels, w):
        for j, x in self.whole(row).items():
            if j in self.values and len(self.values[j]) < 1000:
                self.values[j].append(x)
                if len(self.values[j]) in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
                    self.known[j] = sorted(self.values[j])


def quantile(values, p):
    place = p * (len(values) - 1)
    low = Fraction(values[floor(place)])
    return float(low + (place - floor(place)) * (Fraction(values[-floor(-place)]) - low))


class Ranks(FirstValues):
    def see(self, row):
        return unit({j: self.score(j, x) if j in self.known else x for j, x in self.whole(row).items()}, self.unit_norm)

    def score(self, j, x):
        if not self.known[j]:
            return 0.0
        limit = min(3.0, -ndtri(0.5 / (len(self.known[j]) + 1)))

        def limited(p):
            return max(-limit, min(limit, ndtri(p)))

        knots = [quantile(self.known[j], Fraction(i, 64)) for i in range(65)]
        if x in knots:
            return limited((knots.index(x) + knots.index(x) + knots.count(x) - 1) / 128)
        return float(np.interp(x, knots, [limited(i / 64) for i in range(65)]))


class Bins(FirstValues):
    """The row's columns are (j, k) for bin k of a number, (j, "missing"), and j for others."""

    def __init__(self, kinds, n=16, unit_norm=True):
        super().__init__(kinds, unit_norm)
        self.n = n

    def see(self, row):
        absent = [j for j, kind in self.kinds.items() if kind == "missing" and j not in row]
        seen = {(j, "missing"): 1.0 for j in absent if self.known[j]}
        for j, x in self.whole(row).items():
            if j not in self.known:
                seen[j] = x
            elif self.known[j]:
                edges = self.edges(self.known[j])
                if x or any(edges) or self.kinds[j] == "missing":
                    seen[j, sum(edge < x for edge in edges)] = 1.0
        return unit(seen, self.unit_norm)

    def edges(self, values):
        distinct = sorted(set(values))
        if len(distinct) <= self.n:
            return self.edges_of_few(values, distinct)
        edges = [quantile(values, Fraction(k, self.n)) for k in range(1, self.n)]
        for value in {edge for edge in edges if edges.count(edge) > 1} - {distinct[0]}:
            below = max(v for v in distinct if v < value)
            if not any(below <= edge < value for edge in edges):
                edges[edges.index(value)] = (below + value) / 2
        return edges

    def edges_of_few(self, values, distinct):
        edges, number = [], 0
        for i, (low, high) in enumerate(pairwise(distinct), 1):
            quantile_bin = self.n * sum(v < high for v in values) // len(values)
            next_number = max(number + 1, min(quantile_bin, self.n - len(distinct) + i))
            edges += [(low + high) / 2] * (next_number - number)
            number = next_number
        return edges + [distinct[-1]] * (self.n - 1 - number)


def present(row):
    """The features that a row has: a stored 0 is the same as none."""
    return sorted(j for j, x in row.items() if x)


class Idf:
    def __init__(self):
        self.rows, self.having = 0.0, {}

    def see(self, row):
        return unit({j: x * log((2 + self.rows) / (1 + self.having.get(j, 0.0))) for j, x in row.items()})

    def learn(self, row, labels, w):
        self.rows += w
        for j in present(row):
            self.having[j] = self.having.get(j, 0.0) + w


class NaiveBayes:
    def __init__(self, n_classes):
        self.rows, self.having = [0.0] * n_classes, {}

    def factor(self, j):
        having = self.having.get(j, [0.0] * len(self.rows))
        shares = [log((a + 0.3) / (n + 0.6)) for a, n in zip(having, self.rows, strict=True)]
        return 0.2 + float(np.std(shares))

    def see(self, row):
        return unit({j: x * self.factor(j) for j, x in row.items()})

    def learn(self, row, labels, w):
        for k in labels:
            self.rows[k] += w
            for j in present(row):
                self.having.setdefault(j, [0.0] * len(self.rows))[k] += w


class Pairs:
    """The row's columns are pairs (i, j), and (j,) for a feature."""

    def __init__(self, wanted=lambda i, j: True, unit_norm=True):
        self.wanted, self.known, self.unit_norm = wanted, set(), unit_norm

    def terms(self, row):
        columns = present(row)
        yield from ((j,) for j in columns)
        yield from ((i, j) for i in columns for j in columns if i <= j and self.wanted(i, j))

    def see(self, row, learning=True):
        x, made = unit(row, self.unit_norm), {}
        for term in self.terms(x):
            factor = 1.0 if len(term) == 1 or term[0] == term[1] else sqrt(2.0)
            made[term] = factor * np.prod([x[j] for j in term])
        made = unit(made, self.unit_norm)
        if learning:
            return made
        rest = sqrt(sum(value**2 for term, value in made.items() if term not in self.known))
        return {term: value for term, value in made.items() if term in self.known} | ({"unseen": rest} if rest else {})

    def learn(self, row, labels, w):
        self.known.update(self.terms(row))


class Cosines:
    def __init__(self, directions, phases, unit_norm=True):
        self.directions, self.phases, self.unit_norm = directions, phases, unit_norm

    def see(self, row):
        x, n = unit(row, self.unit_norm), len(self.phases)
        assert all(0 <= phase < 2 * pi for phase in self.phases)
        angles = [b + sum(x[j] * self.directions[j][c] for j in x) for c, b in enumerate(self.phases)]
        return {c: sqrt(2 / n) * cos(angle) for c, angle in enumerate(angles)}

    def learn(self, row, labels, w):
        pass


class Categories:
    """Numbers and indicators under their own numbers, and (category, k) for the statistics.

    ``names`` are those of features, if they have any; a category is named before "=".
    """

    def __init__(self, kinds, names=None, n=16, outputs=1, numbers=False):
        self.kinds, self.n, self.outputs, self.numbers = kinds, n, outputs, numbers
        self.category = {j: name.partition("=")[0] for j, name in (names or {}).items() if "=" in name}
        self.shown = {
            c: [j for j in sorted(self.category) if self.category[j] == c][:n] for c in {*self.category.values()}
        }
        self.rows = []  # their outputs, weights and values of categories

    def see(self, row):
        seen = {j: x for j, x in row.items() if self.kinds[j] != "plain"}
        for j in present(row):
            if j not in self.category:
                continue
            c = self.category[j]
            seen |= {j: row[j]} if j in self.shown[c] else {}
            for k in range(self.outputs):
                seen[c, k] = seen.get((c, k), 0.0) + self.statistic(j, k)
        return {j: x for j, x in seen.items() if x or j in self.kinds}

    def statistic(self, j, k):
        own = [(w, y[k]) for y, w, values in self.rows if j in values]
        if not own:
            return 0.0
        n, s = sum(w for w, _ in own), sum(w * y for w, y in own)
        total, all_sum = sum(w for _, w, _ in self.rows), sum(w * y[k] for y, w, _ in self.rows)
        variance = sum(w * (y[k] - all_sum / total) ** 2 for y, w, _ in self.rows) / total
        repeats, products = self.agreement(self.category[j], k)
        between = products / (repeats + 10)
        if between <= 0 or variance < 1e-12:
            return 0.0
        a = max((variance - between) / between, 0.5)
        return (s - n * all_sum / total) / (n + a) / sqrt(variance)

    def agreement(self, c, k):
        """The weight of rows whose value had come before, and the sum of products of deviations."""
        weight = products = 0.0
        for i, (y, w, values) in enumerate(self.rows):
            before = self.rows[:i]
            for j in (j for j in values if self.category[j] == c):
                own = [(v, z[k]) for z, v, theirs in before if j in theirs]
                if own:
                    mean = sum(v * z[k] for z, v, _ in before) / sum(v for _, v, _ in before)
                    of_value = sum(v * z for v, z in own) / sum(v for v, _ in own)
                    weight += w
                    products += w * (y[k] - mean) * (of_value - mean)
        return weight, products

    def learn(self, row, labels, w):
        """``labels`` are classes, or numbers."""
        first = 1 if self.outputs == 1 else 0
        y = labels if self.numbers else [float(k + first in labels) for k in range(self.outputs)]
        self.rows.append((y, w, {j for j in present(row) if j in self.category}))


def edges(values, bins):
    """Edges between neighbors, or quantiles if there are more values than bins, in single precision."""
    distinct = np.unique(values)
    found = (distinct[1:] + distinct[:-1]) / 2.0
    if len(distinct) > bins:
        found = np.quantile(values, np.arange(1, bins) / bins, method="averaged_inverted_cdf")
    down = found.astype(np.float32)
    return np.unique(np.where(down > found, np.nextafter(down, np.float32(-np.inf)), down))


class Trees:
    """Trees of scikit-learn, asked through what it promises; rows are rounded to single precision."""

    def __init__(self, kinds, n_classes, first, rounds):
        self.kinds, self.n_classes, self.first, self.rounds = kinds, n_classes, first, rounds
        self.rows, self.labels, self.weights = [], [], []
        self.model, self.next = None, first

    def whole(self, row):
        absent = {"missing": np.nan, "plain": 0.0, "zero": 0.0}
        return np.array([row.get(j, absent[kind]) for j, kind in self.kinds.items()], np.float32)

    def see(self, row):
        if self.model is None:
            return {}
        scores = self.model.decision_function(self.binned(self.whole(row)[None]))[0]
        known = self.model.classes_
        scores = {int(known[1]): float(scores)} if len(known) == 2 else dict(zip(known.tolist(), scores, strict=True))
        return {k: max(-30.0, min(30.0, float(score))) for k, score in scores.items() if score}

    def binned(self, X):
        """Numbers of bins, since scikit-learn's own would follow the weights."""
        found = [np.searchsorted(edges, column).astype(float) for edges, column in zip(self.edges, X.T, strict=True)]
        return np.where(np.isnan(X), np.nan, np.stack(found, axis=1))

    def learn(self, row, labels, w):
        self.rows.append(self.whole(row))
        self.labels.append(labels[0])
        self.weights.append(w)
        if len(self.rows) < self.next:
            return
        n = len(self.rows)
        if len(set(self.labels)) > 1:
            X = np.array(self.rows)
            self.edges = [edges(column[~np.isnan(column)].astype(float), min(max(n // 8, 16), 255)) for column in X.T]
            self.model = HistGradientBoostingClassifier(
                max_iter=self.rounds, l2_regularization=1.0, early_stopping=False, random_state=0
            ).fit(self.binned(X), self.labels, self.weights)
        self.next = n + max(20, int(n * min(max(0.25, n / 2000), 1)))


class First:
    """The row's columns that rows have brought first, under their own numbers."""

    def __init__(self, n):
        self.n = n

    def see(self, row):
        return {j: x for j, x in row.items() if j < self.n and x != 0}

    def learn(self, row, labels, w):
        pass
