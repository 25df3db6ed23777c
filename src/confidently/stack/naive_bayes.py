"""Naive Bayes over the features that rows have, a member of stacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import PLACES, REAL, Shapes, State, check_within, put_places, within, without_base
from ..learner.backup import Statistics
from ..rules.ranges import Range
from ..tasks.calibration import INITIAL_LINE, INITIAL_SLOPE, lines
from ..views.columns import Columns
from ..views.view import COUNTED, appended

FREQUENCY, ENTRIES, ROWS, KNOWN, CALIBRATION = "frequency", "entries", "rows", "known", "calibration"
MAX_SLOPE, MAX_CURVATURE = 1e80, 1e200


class NaiveBayes:
    """Multinomial naive Bayes of which features a row has.

    With n_kj the rows of class k that had feature j (with weights, the sums of these), N_k = sum_j n_kj, n_k the rows
    of class k, n all rows, K the classes and V the features met::

        f_k = sum_j x_j/||x|| (log(n_kj + 1) - log(N_k + V)) + .1 log((n_k + 1)/(n + K))

    Features that no row had are skipped. The score is f_1 - f_0 for two classes, otherwise f_k minus the mean over the
    classes; it is calibrated as every learner's is, without the correction.

    Parameters
    ----------
    n_classes, n_features : int
    state : dict of arrays, optional
        What was learned before; by default nothing.

    References
    ----------
    McCallum & Nigam (AAAI workshop on learning for text categorization, 1998).
    """

    kind = "naive_bayes"
    name = "naive Bayes"

    def __init__(self, n_classes: int = 2, n_features: int = 0, state: State | None = None) -> None:
        self.n_classes, self.n_features = max(n_classes, 2), n_features
        self.state = self._new_state() if state is None else state

    def _new_state(self) -> State:
        by_class = {ENTRIES: np.zeros(self.n_classes), ROWS: np.zeros(self.n_classes)}
        calibration = INITIAL_LINE if self.n_classes == 2 else INITIAL_SLOPE
        counts = {FREQUENCY: np.zeros((self.n_features, self.n_classes)), KNOWN: np.zeros(1)}
        return counts | by_class | {CALIBRATION: np.array(calibration)}

    @property
    def columns(self) -> int:
        """The number of scores of a row: one for two classes, otherwise one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes; smaller numbers change nothing."""
        n, k = max(n_features, self.n_features), max(n_classes, self.n_classes)
        if (n, k) == (self.n_features, self.n_classes):
            return
        state = dict(self.state)
        if k > self.n_classes:
            state[FREQUENCY] = np.ascontiguousarray(np.pad(state[FREQUENCY], ((0, 0), (0, k - self.n_classes))))
            for name in (ENTRIES, ROWS):
                state[name] = appended(state[name], k - self.n_classes)
            if self.n_classes == 2:
                a, _, haa, _, _ = state[CALIBRATION]
                state[CALIBRATION] = np.array([a, haa])
        state[FREQUENCY] = appended(state[FREQUENCY], n - self.n_features)
        self.n_features, self.n_classes, self.state = n, k, state

    def begin(self, examples: Examples, log_loss: np.ndarray | None = None) -> Restoring:
        """Return the context within which to :meth:`train`, which undoes that on an error."""
        return Restoring(self, examples)

    def train(
        self, examples: Examples, transaction: Restoring, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Train on checked examples."""
        rows = examples.compiled(0, len(examples), calibrate, progressive)
        _core.naive_bayes_learn(self.state, examples.X, rows, transaction.log)

    def seen_rows(self, X: _core.Matrix) -> Iterator[_core.Matrix]:
        """Yield checked rows as naive Bayes sees them: as they are."""
        yield X

    def logits_of(self, X: _core.Matrix) -> np.ndarray:
        """Return calibrated scores of checked rows, shape (n, columns)."""
        scores = np.empty((X.shape[0], self.columns))
        _core.naive_bayes_scores(self.state, X, scores)
        return lines(scores, self.state[CALIBRATION])

    def logit_deviations_of(self, X: _core.Matrix) -> np.ndarray:
        """Return the standard deviations of the scores: 0, since there is no Gaussian."""
        return np.zeros((X.shape[0], self.columns))

    @property
    def slope(self) -> float:
        """The factor from a score to its calibrated score."""
        return float(self.state[CALIBRATION][0])

    def contributions(self, columns: np.ndarray, values: np.ndarray, plus: int, minus: int) -> np.ndarray:
        """Return what each feature of a row adds to the score of one class minus that of another."""
        by_class = self.by_feature(self.state[FREQUENCY][columns])
        length = np.linalg.norm(values)
        added: np.ndarray = values / (length or 1.0) * (by_class[:, plus] - by_class[:, minus])
        return added

    def by_feature(self, counts: np.ndarray) -> np.ndarray:
        """Return what features with these counts add to the classes' scores, where rows of unit norm have them as 1."""
        state = self.state
        found: np.ndarray = np.log(counts + 1.0) - np.log(state[ENTRIES] + max(float(state[KNOWN][0]), 1.0))
        found[counts.sum(axis=1) == 0] = 0.0
        return found

    def by_class(self) -> np.ndarray:
        """Return what the shares of the classes add to their scores."""
        rows = self.state[ROWS]
        found: np.ndarray = 0.1 * np.log((rows + 1.0) / (rows.sum() + self.n_classes))
        return found

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        return {"kind": self.kind}

    def packed(self) -> State:
        """Return the arrays for a model file, without zeros among the counts where these are most of them."""
        return self.state | without_base(FREQUENCY, self.state[FREQUENCY], np.zeros(1))

    @classmethod
    def unpacked(cls, arrays: State, n_features: int, n_classes: int) -> State:
        """Return the state of packed arrays, before types and shapes are checked against :meth:`shapes`."""
        if FREQUENCY + PLACES in arrays:
            put_places(np.zeros(*cls.shapes(n_features, n_classes)[FREQUENCY]), arrays, FREQUENCY)
        return arrays

    @classmethod
    def shapes(cls, n_features: int, n_classes: int) -> Shapes:
        """Return shape and type of every array."""
        k = max(n_classes, 2)
        size = len(INITIAL_LINE if k == 2 else INITIAL_SLOPE)
        return {
            FREQUENCY: ((n_features, k), REAL),
            KNOWN: ((1,), REAL),
            ENTRIES: ((k,), REAL),
            ROWS: ((k,), REAL),
            CALIBRATION: ((size,), REAL),
        }

    def check_values(self) -> None:
        """Raise ``ValueError`` unless the numbers are those that a file may hold."""
        for name in (FREQUENCY, KNOWN, ENTRIES, ROWS):
            check_within(name, self.state[name], COUNTED)
        check_within("the slope of naive Bayes", self.state[CALIBRATION][:1], Range(0.0, MAX_SLOPE))
        check_within("the calibration of naive Bayes", self.state[CALIBRATION][1:], within(MAX_CURVATURE))


class Restoring:
    """Training of naive Bayes that an exception undoes."""

    def __init__(self, learner: NaiveBayes, examples: Examples) -> None:
        self._learner, self._before = learner, learner.state
        self._statistics = Statistics(learner.state, examples)
        self._calibration = learner.state[CALIBRATION].copy()
        self.log = self._statistics.log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self._statistics.restore()
            self._learner.state = self._before
            self._before[CALIBRATION][...] = self._calibration
