"""Slow twins of what makes predictions conformal (core/tasks/conformal.hpp)."""

import math

import numpy as np

BINS = 96
ERRORS = np.array([0.2, 0.1, 0.05, 0.01])
RATES, PACE = np.array([0.001, 0.003, 0.01, 0.03]), np.array([0.56, 1.0, 0.5, 0.1])
POWERS = np.array([0.3, 0.7])
LEAST, WIDTH, BORROWED = -10.0, 0.25, 20.0


class Scores:
    """Scores seen, with weights that grow, of which the p-value is a sum over all of them."""

    def __init__(self):
        self.places, self.weights, self.gain = [], [], 1.0

    def rows(self):
        return sum(self.weights) / self.gain

    def below(self, place):
        """Each score counts as spread over its bin."""
        parts = [np.clip(place - math.floor(one), 0.0, 1.0) for one in self.places]
        return float(np.dot(parts, self.weights)) / self.gain

    def add(self, place):
        self.places.append(place)
        self.weights.append(self.gain)
        self.gain *= 1.0 + max(2.0 / len(self.places), 1.0 / 2000.0)


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
        if np.sum(self.bets) >= 200.0:
            self.bets, self.turn, self.alarms = [], 0, self.alarms + 1


class Sets:
    def __init__(self, classes):
        self.all, self.own = Scores(), [Scores() for _ in range(classes)]
        self.levels, self.own_levels = Followed(), Followed()
        self.martingale = Martingale()

    @staticmethod
    def place(score):
        return min(max((score - LEAST) / WIDTH, 0.0), BINS - 1e-9)

    def p_values(self, score, k):
        place = self.place(score)
        below, rows = self.all.below(place), self.all.rows()
        lent = min(max(100.0 - self.own[k].rows(), BORROWED), rows)
        among = lent * below / rows if rows else 0.0
        own = self.own[k]
        return (below + 1.0) / (rows + 1.0), (own.below(place) + among + 1.0) / (own.rows() + lent + 1.0)

    def learn(self, score, k):
        of_all, of_own = self.p_values(score, k)
        self.levels.learn(of_all)
        self.own_levels.learn(of_own)
        self.martingale.learn(of_all if score < 3.0 else 1.0)
        self.all.add(self.place(score))
        self.own[k].add(self.place(score))
