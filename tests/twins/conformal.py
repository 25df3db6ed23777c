"""Slow twins of what makes predictions conformal (core/tasks/conformal.hpp)."""

import math

import numpy as np

BINS = 192
ERRORS = np.array([0.2, 0.1, 0.05, 0.01])
RATES, PACE = np.array([0.001, 0.003, 0.01, 0.03]), np.array([0.56, 1.0, 0.5, 0.1])
POWERS = np.array([0.3, 0.7])
ENOUGH = 30.0  # rows of a class that count, or it is compared with all that have fewer


class Scores:
    """Scores seen, with weights that grow, of which the p-value is a sum over all of them."""

    def __init__(self):
        self.bins, self.weights, self.gain = [], [], 1.0

    def rows(self):
        return sum(self.weights) / self.gain

    def counted(self):
        """Return the rows of each bin."""
        return np.bincount(self.bins, self.weights, BINS) / self.gain if self.bins else np.zeros(BINS)

    def p_value(self, score, repeated=False):
        return p_value(self.counted(), score, repeated)

    def add(self, score):
        self.bins.append(bin_of(score))
        self.weights.append(self.gain)
        n = len(self.bins)
        self.gain *= 1.0 if n < 5 else 1.0 + max(3.0 / (n + 12.0), 1.0 / 2000.0)


def bin_of(score):
    """A third of the bins is below 0, where half of them are above -2; of the others, half are below 4."""
    part = score / (2.0 - score) if score < 0.0 else 2.0 * score / (4.0 + score)
    return min(math.floor((1.0 + part) * BINS / 3), BINS - 1)


def p_value(rows, score, repeated=False):
    """The part of the rows, this one included, with a score as small, given the rows of each bin.

    Those of its bin are as small, and where rows repeat those of a peak whose middle is from two bins below to three
    above: five bins with many rows, which are more than those in six bins on each side.
    """
    at = last = bin_of(score)
    for middle in range(at - 2, at + 4) if repeated else ():
        near = rows[max(middle - 2, 0) : max(middle + 3, 0)].sum()
        around = rows[max(middle - 8, 0) : max(middle + 9, 0)].sum()
        if near >= max(0.05 * rows.sum(), 5.0) and 2.0 * near > around:
            last = max(last, middle + 2)
    return (rows[: last + 1].sum() + 1.0) / (rows.sum() + 1.0)


class Followed:
    """The levels, one expert and level at a time."""

    def __init__(self):
        self.change, self.weight = np.zeros((4, 4)), np.full((4, 4), 0.25)
        self.rows = 0

    def said(self):
        return (self.weight * self.change).sum(axis=0) / self.weight.sum(axis=0)

    def learn(self, p):
        for i in range(4):
            for level_number, error in enumerate(ERRORS):
                level = error + self.change[i, level_number]
                pinball = (error if p > level else error - 1.0) * (p - level)
                self.weight[i, level_number] *= max(1.0 - 0.24 / (error * (1.0 - error)) * pinball, 0.5)
                self.change[i, level_number] += RATES[i] * PACE[level_number] * (error - (p <= level))
        self.rows += 1
        if self.rows % 32 == 0:
            self.weight = 0.97 * self.weight / self.weight.sum(axis=0) + 0.03 / 4


class Martingale:
    """Bets that begin after every 32 rows, each by itself; an alarm begins anew."""

    def __init__(self):
        self.bets, self.turn, self.p, self.alarms = [], 0, [], 0

    def learn(self, p):
        self.p.append(p)
        if len(self.p) < 32:
            return
        self.turn += 1
        self.bets.append(np.full(2, 1.0 / (self.turn * (self.turn + 1.0))))
        gain = np.array([np.prod([c * p ** (c - 1.0) for p in self.p]) for c in POWERS])
        self.bets, self.p = [bet * gain for bet in self.bets], []
        if np.minimum(np.sum(self.bets, axis=0), 1e6).sum() >= 200.0:
            self.bets, self.turn, self.alarms = [], 0, self.alarms + 1


class Sets:
    """p-values of classes, from the definition: which rows are compared, and by which scores."""

    def __init__(self, classes):
        self.all, self.own = Scores(), [Scores() for _ in range(classes)]
        self.levels, self.rare_levels = Followed(), Followed()
        self.own_levels = [Followed() for _ in range(classes)]
        self.alarms = Alarms()

    def relative(self, score, k):
        rows = len(self.own[k].bins)
        return score - math.log((rows + 0.5) / (len(self.all.bins) - rows + 0.5))

    def of_own(self, score, k, enough=ENOUGH, repeated=False):
        """The p-value among rows of the class, or of all classes of which fewer rows count than ``enough``."""
        relative = self.relative(score, k)
        if self.own[k].rows() >= enough:
            return self.own[k].p_value(relative, repeated)
        return p_value(sum(one.counted() for one in self.own if one.rows() < enough), relative, repeated)

    def p_values(self, score, k):
        """Among rows of any class, and of the class or of rare ones."""
        return self.all.p_value(score), self.of_own(score, k)

    def levels_of(self, k, enough=ENOUGH):
        return self.rare_levels if self.own[k].rows() < enough else self.own_levels[k]

    def learn(self, score, k):
        if self.all.rows() >= 19.0:
            self.levels.learn(self.all.p_value(score))
        rare = sum(one.rows() for one in self.own if one.rows() < 99.0)  # which the highest level needs
        if self.own[k].rows() < 99.0 and rare >= 19.0:
            self.rare_levels.learn(self.of_own(score, k, 99.0))
        if self.own[k].rows() >= ENOUGH:
            self.own_levels[k].learn(self.of_own(score, k))
        relative = self.relative(score, k)
        self.all.add(score)
        self.own[k].add(relative)


class Alarms:
    """Bets on where classes lie among those expected, and on its rank; an alarm needs both."""

    BINS = 128

    def __init__(self):
        self.seen, self.alarms, self.rows = 0, 0, []
        self.begin()

    def begin(self):
        self.bins, self.u, self.ranks, self.bets, self.turn = [], [], [], [np.zeros(2), np.zeros(2)], 0

    @staticmethod
    def draw(n):
        n = (n + 1) * 0x9E3779B97F4A7C15 % 2**64
        n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        n = (n ^ (n >> 27)) * 0x94D049BB133111EB % 2**64
        return ((n ^ (n >> 31)) >> 11) * 2.0**-53

    def drawn(self, what):
        return self.draw((self.seen << 24) + what)

    def learn(self, p, k):
        """p: of all classes; k: that of the row."""
        p = np.asarray(p)
        u = p[p < p[k]].sum() + self.drawn(0) * p[p == p[k]].sum()
        at = min(math.floor(u * self.BINS), self.BINS - 1)
        below, same = sum(one < at for one in self.bins), self.bins.count(at)
        rank = (below + self.drawn(1) * (same + 1)) / (len(self.bins) + 1)
        self.seen += 1
        self.bins.append(at)
        self.u.append(max(u, 1e-9))
        self.ranks.append(max(rank, 1e-9))
        if len(self.u) == 32:
            self.settle()

    def settle(self):
        self.turn += 1
        begun = 1.0 / (self.turn * (self.turn + 1.0))
        for k, p in enumerate((self.u, self.ranks)):
            gain = np.array([np.prod([c * one ** (c - 1.0) for one in p]) for c in POWERS])
            self.bets[k] = np.minimum((self.bets[k] + begun) * gain, 1e6)
        self.u, self.ranks = [], []
        if min(map(np.sum, self.bets)) >= 200.0:
            self.alarms += 1
            self.rows.append(self.seen)
            self.begin()
