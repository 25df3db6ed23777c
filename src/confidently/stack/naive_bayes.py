"""Naive Bayes over the features that rows have, a member of stacks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import PLACES, REAL, Shapes, State, check_within, put_places, without_base
from ..learner.backup import Statistics
from ..views.columns import Columns
from ..views.room import appended
from ..views.view import COUNTED
from .generative import CALIBRATION, Generative, Restoring

FREQUENCY, ENTRIES, ROWS, KNOWN = "frequency", "entries", "rows", "known"


class NaiveBayes(Generative):
    """Multinomial naive Bayes of which features a row has.

    With n_kj the rows of class k that had feature j (with weights, the sums of these), N_k = sum_j n_kj, n_k the rows
    of class k, n all rows, K the classes and V the features met::

        f_k = sum_j x_j/||x|| (log(n_kj + 1) - log(N_k + V)) + .1 log((n_k + 1)/(n + K))

    Features that no row had are skipped. The parameters are the numbers of classes and features, and what
    was learned before.

    References
    ----------
    McCallum & Nigam (AAAI workshop on learning for text categorization, 1998).
    """

    kind = "naive_bayes"
    name = "naive Bayes"

    def _new_state(self) -> State:
        by_class = {ENTRIES: np.zeros(self.n_classes), ROWS: np.zeros(self.n_classes)}
        counts = {FREQUENCY: np.zeros((self.n_features, self.n_classes)), KNOWN: np.zeros(1)}
        return counts | by_class | {CALIBRATION: self._new_calibration()}

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        n, k = max(n_features, self.n_features), max(n_classes, self.n_classes)
        if (n, k) == (self.n_features, self.n_classes):
            return
        state = dict(self.state)
        if k > self.n_classes:
            state[FREQUENCY] = np.ascontiguousarray(np.pad(state[FREQUENCY], ((0, 0), (0, k - self.n_classes))))
            for name in (ENTRIES, ROWS):
                state[name] = appended(state[name], k - self.n_classes)
            state[CALIBRATION] = self._grown_calibration(k)
        state[FREQUENCY] = appended(state[FREQUENCY], n - self.n_features)
        self.n_features, self.n_classes, self.state = n, k, state

    def begin(self, examples: Examples, log_loss: np.ndarray | None = None) -> Restoring:
        return Restoring(self, Statistics(self.state, examples))

    def train(
        self, examples: Examples, transaction: Restoring, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        rows = examples.compiled(0, len(examples), calibrate, progressive)
        _core.naive_bayes_learn(self.state, examples.X, rows, transaction.log)

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        scores = np.empty((X.shape[0], self.columns))
        _core.naive_bayes_scores(self.state, X, scores)
        return scores

    def class_weights(self, columns: np.ndarray | slice) -> np.ndarray:
        return self._by_feature(self.state[FREQUENCY][columns])

    def _by_feature(self, counts: np.ndarray) -> np.ndarray:
        """Return what features with these counts add to the classes' scores, where rows of unit norm have them as 1."""
        state = self.state
        found: np.ndarray = np.log(counts + 1.0) - np.log(state[ENTRIES] + max(float(state[KNOWN][0]), 1.0))
        found[counts.sum(axis=1) == 0] = 0.0
        return found

    def by_class(self) -> np.ndarray:
        rows = self.state[ROWS]
        return 0.1 * np.log((rows + 1.0) / (rows.sum() + self.n_classes))

    # --- as plain data -------------------------------------------------------------------------------------------

    def packed(self) -> State:
        """Return the arrays, without zeros among the counts where these are most of them."""
        return self.state | without_base(FREQUENCY, self.state[FREQUENCY], np.zeros(1))

    @classmethod
    def unpacked(cls, arrays: State, n_features: int, n_classes: int) -> State:
        if FREQUENCY + PLACES in arrays:
            put_places(np.zeros(*cls.shapes(n_features, n_classes)[FREQUENCY]), arrays, FREQUENCY)
        return arrays

    @classmethod
    def shapes(cls, n_features: int, n_classes: int) -> Shapes:
        k = max(n_classes, 2)
        return {
            FREQUENCY: ((n_features, k), REAL),
            KNOWN: ((1,), REAL),
            ENTRIES: ((k,), REAL),
            ROWS: ((k,), REAL),
            CALIBRATION: ((cls.calibration_size(k),), REAL),
        }

    def check_values(self) -> None:
        super().check_values()
        for name in (FREQUENCY, KNOWN, ENTRIES, ROWS):
            check_within(name, self.state[name], COUNTED)
