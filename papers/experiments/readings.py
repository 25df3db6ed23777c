"""Readings of Yang et al. 2009, section 3: what its improved ellipsoid method may have been in the experiments.

As printed, the method updates on mistakes only and soon is PA that does so. Two readings update whenever the margin is
below gamma, with a shorter step. The learner here has a full covariance over the weights of all classes, like
``covariance="full"``, but keeps it as a multiple of the identity less one product per cut: the cuts vanish after some
tens or hundreds of updates.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from confidently.data.memory.labels import class_numbers
from confidently.estimators.mira import MIRA
from confidently.rules.ranges import check_choice

LITERAL, MARGIN, LEMMA_2 = "literal", "margin", "lemma 2"
STEPS = (LITERAL, MARGIN, LEMMA_2)
MIN_CUT = 2.0**-53  # a cut below changes no digit


class EllipsoidReading(MIRA):
    """The improved ellipsoid method for several classes, joint, in one reading; rows as dense arrays.

    For a row x of class y and its strongest rival r, z is x for y and -x for r, m = w.z and v = z'Pz::

        literal    if m <= 0:      w <- w + (gamma - m)/v Pz,      c_k = c b^k
        margin     if m < gamma:   w <- w + gamma/sqrt(v) Pz,      c_k = b^(k+1)
        lemma 2    if m < gamma:   w <- w + gamma/v Pz,            c_k = b^(k+1)

    and then P <- (P - c_k/v Pzz'P)/(1 - c_k), where k is the number of updates so far.

    Parameters
    ----------
    step : {"literal", "margin", "lemma 2"}
    gamma, b, prior : float
    c : float
        Of the literal step.
    scalar : bool
        Keep of P only its scale, prior/prod(1 - c_k).
    """

    def __init__(
        self, step: str = MARGIN, *, gamma: float = 0.1, b: float = 0.3, c: float = 0.1, prior: float = 0.1,
        scalar: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(gamma, fit_intercept=False)
        self.step = step
        self.b = b
        self.c = c
        self.prior = prior
        self.scalar = scalar

    def _begin(self, classes: np.ndarray, n_features: int) -> None:
        check_choice("step", self.step, STEPS)
        super()._begin(classes, n_features)
        self._scale = 1.0
        # P/scale = prior I - sum_i depth_i h_i h_i'; the part of h_i for class k is directions[k, i]
        self._depths = np.zeros(0)
        self._directions = np.zeros((len(classes), 0, n_features))

    def _learn(self, X: csr_array, y: np.ndarray, order: np.ndarray | None) -> None:
        rows, truth = X.toarray(), class_numbers(y, self.classes_)
        for i in range(len(y)) if order is None else order:
            self._learn_row(rows[i], int(truth[i]))

    def _learn_row(self, x: np.ndarray, truth: int) -> None:
        scores = x @ self._weights
        own, scores[truth] = scores[truth], -np.inf
        rival = int(scores.argmax())
        margin = float(own - scores[rival])
        self.n_seen_ += 1
        self.mistakes_ += margin <= 0.0
        if margin <= 0.0 or (self.step != LITERAL and margin < self.gamma):
            self._update(x, truth, rival, margin)

    def _update(self, x: np.ndarray, truth: int, rival: int, margin: float) -> None:
        along = (self._directions[truth] - self._directions[rival]) @ x  # h_i.z
        v = self._scale * (2.0 * self.prior * float(x @ x) - float(self._depths @ along**2))
        if v <= 0.0:
            return
        h = (
            np.zeros_like(self._weights)
            if self.scalar
            else -np.tensordot(self._directions, self._depths * along, (1, 0)).T
        )
        h[:, truth] += self.prior * x
        h[:, rival] -= self.prior * x
        alpha = {LITERAL: (self.gamma - margin) / v, MARGIN: self.gamma / np.sqrt(v), LEMMA_2: self.gamma / v}[
            self.step
        ]
        self._weights += alpha * self._scale * h
        cut = self.c * self.b**self.updates_ if self.step == LITERAL else self.b ** (self.updates_ + 1)
        self.updates_ += 1
        if cut < MIN_CUT:
            return
        if not self.scalar:
            self._depths = np.append(self._depths, cut * self._scale / v)
            self._directions = np.concatenate([self._directions, h.T[:, None]], axis=1)
        self._scale /= 1.0 - cut
