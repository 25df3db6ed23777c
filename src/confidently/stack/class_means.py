"""Linear discriminant analysis, row by row, a member of stacks for rows of unit norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import REAL, Shapes, State, check_within, within
from ..learner.backup import Statistics
from ..tasks import novelty
from ..tasks.novelty import VARIANCES
from ..views.columns import Columns
from ..views.view import COUNTED
from .generative import CALIBRATION, Generative, Restoring

MEANS, DIRECTIONS, SQUARES, ROWS, PRECISION = "means", "directions", "squares", "rows", "precision"
SINCE, RARITIES = "since", "rarities"
MOST_ROWS = 100.0  # of a class, after which it is no late one
MAX_MEAN, MAX_PRECISION = 1.0 + 1e-9, 1e12


class RowsBefore(NamedTuple):
    """Rows that are to be learned, and the classes before them.

    Attributes
    ----------
    labels, weights : array, shape (n,)
        In the order of training.
    since : array, shape (n_classes,)
        The rows before the first one of each class, by their weights.
    are_new : bool
        Whether some are the first rows of their class.
    """

    labels: np.ndarray
    weights: np.ndarray
    since: np.ndarray
    are_new: bool


class ClassMeans(Generative):
    """Gaussians of the classes with one covariance: linear discriminant analysis, row by row.

    Rows x are scaled to unit norm. With n_k rows of class k and their mean m_k, the mean g of all n rows, and the
    scatter S = (5/2) I + sum_i (x_i - m_i)(x_i - m_i)' within the classes, whose prior counts as 5 d rows::

        q_k = (n + 5 d) (m_k - g)' S^-1 (m_k - g),    v = (2 d + sum_k (n_k q_k - d))/(n + 10)
        r_k = n_k/(n_k + d/max(v, d/100))
        f_k = (n + 5 d) r_k (x - g)' S^-1 (m_k - g) - r_k^2 q_k/2 + .1 log((n_k + 1)/(n + K))

    f_k is the logarithm of a density relative to that around g, and .1 that of the frequency of the class. A class
    without rows has the least score of the others. The mean of a class is drawn towards g, by the evidence: v estimates
    the mean squared distance of the means from g, to which the noise in the mean of n_k rows adds d/n_k. A row costs
    d^2 + 4 d K steps.

    How unlike all classes each row was before it was learned is counted. With a = d/max(v, d/100) and the covariance
    W = S/(n + 5 d) within classes, the means of classes are drawn from a Gaussian around g with the covariance W/a. So
    the rows of class k have the density N_k = N(g + r_k (m_k - g), (1 + 1/(n_k + a)) W), those of a class yet to come
    N_0 = N(g, (1 + 1/a) W). With the slope s of the calibration, since N_k are too sure::

        e_k = (n_k + 1)/(n + K) (N_k/N_0)^s,    p_k = e_k/sum_j e_j,    novelty = -log(max_k p_k e_k)

    A row is novel where no class is probable, or where its class explains it no better than a new one.

    The parameters are the numbers of classes and features, and what was learned before.

    References
    ----------
    Fisher (Annals of Eugenics 7, 1936). Hayes & Kanan (CVPR workshop on continual learning, 2020). Ioffe (ECCV 2006):
    the Gaussian of the means of classes. Ren, Fort, Liu, Roy, Padhy & Lakshminarayanan (ICML workshop on uncertainty,
    2021): distances relative to that of all rows.
    """

    kind = "class_means"
    name = "class means"

    def _new_state(self) -> State:
        d, groups = self.n_features, self.n_classes + 1
        return {
            MEANS: np.zeros((d, groups)), DIRECTIONS: np.zeros((d, groups)), SQUARES: np.zeros(groups),
            ROWS: np.zeros(groups), SINCE: np.zeros(groups - 1), PRECISION: np.eye(d) * (2.0 / _core.prior_rows),
            RARITIES: novelty.untrained(), CALIBRATION: self._new_calibration(),
        }  # fmt: skip

    @property
    def bytes_per_feature(self) -> int:
        return 16 * (self.n_classes + 1) + 16 * self.n_features

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        d, k = max(n_features, self.n_features), max(n_classes, self.n_classes)
        if (d, k) == (self.n_features, self.n_classes):
            return
        old, calibration = self.state, self._grown_calibration(k)
        features, groups = slice(self.n_features), slice(self.n_classes + 1)
        self.n_features, self.n_classes = d, k
        state = self._new_state()
        for name in (MEANS, DIRECTIONS):
            state[name][features, groups] = old[name]
        for name in (SQUARES, ROWS):
            state[name][groups] = old[name]
        state[SINCE][: len(old[SINCE])] = old[SINCE]
        state[PRECISION][features, features] = old[PRECISION]
        self.state = state | {RARITIES: old[RARITIES], CALIBRATION: calibration}

    def begin(self, examples: Examples, log_loss: np.ndarray | None = None) -> Restoring:
        return Restoring(self, Statistics(self.state))

    def train(
        self, examples: Examples, transaction: Restoring, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        rows, since = examples.compiled(0, len(examples), calibrate, progressive), self._rows_before(examples).since
        _core.class_means_learn(self.state, examples.X, rows)
        self.state[SINCE][:] = since

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        scores = np.empty((X.shape[0], self.columns))
        _core.class_means_scores(self.state, X, scores)
        return scores

    @property
    def trust(self) -> np.ndarray:
        """How far the other members of a stack can be trusted about every class, 0 to 1, shape (n_classes,).

        A class is late if it came in the second half of the rows so far, and has had fewer than the classes have on
        average, of which 100 are enough: what others predict of it is evidence of the rows before it. With n rows
        of K classes, n_k of class k, and a_k rows before its first one (0 for a class without rows)::

            t_k = min(1, max(n_k, 2 (n - a_k)/K)/max(1, min(n/K, 100)))
        """
        rows, known = self.state[ROWS], self.state[ROWS][None, 1:]
        return _trusted(rows[:1], known, self.state[SINCE])[0]

    @property
    def may_have_late(self) -> bool:
        """Whether a class can be late: not if all of them came in the first half of the rows."""
        n, since = float(self.state[ROWS][0]), self.state[SINCE]
        return 2.0 * float(since.max()) > n or n < len(since)

    def trust_before(self, examples: Examples) -> np.ndarray | None:
        """Return :attr:`trust` before each of some rows, in the order of training, shape (n, n_classes).

        None: it is 1 for all classes, and so it stays.
        """
        before = self._rows_before(examples)
        if not (before.are_new or self.may_have_late):
            return None
        n, rows = self.state[ROWS][0], self.state[ROWS][1:]
        labels, weights = before.labels, before.weights
        of_class = np.zeros((len(labels) + 1, self.n_classes))
        of_class[np.arange(1, len(labels) + 1), labels] = weights
        of_class[0] = rows
        return _trusted(np.cumsum([n, *weights])[:-1], np.cumsum(of_class, axis=0)[:-1], before.since)

    def _rows_before(self, examples: Examples) -> RowsBefore:
        """Return labels and weights in the order of training, and the rows before the first one of each class."""
        block = examples.block(0, len(examples))
        labels, weights = block.labels, block.weights()
        since, rows = self.state[SINCE].copy(), self.state[ROWS]
        counted = np.flatnonzero(weights > 0.0)
        new, first = np.unique(labels[counted], return_index=True)
        is_new = rows[new + 1] == 0.0
        all_rows = np.cumsum([rows[0], *weights])
        since[new[is_new]] = all_rows[counted[first[is_new]]]
        return RowsBefore(labels, weights, since, bool(is_new.any()))

    def rarity_of(self, X: _core.Matrix) -> np.ndarray:
        """Return the part of the rows before that were as unlike all classes, of checked rows, shape (n,)."""
        found = np.empty(X.shape[0])
        _core.class_means_p_values(self.state, X, found)
        return found

    @property
    def _factor(self) -> float:
        return float(self.state[ROWS][0]) + _core.prior_rows * self.n_features

    def _squares(self) -> tuple[np.ndarray, np.ndarray]:
        """Return g' S^-1 m_k and (m_k - g)' S^-1 (m_k - g) of the classes."""
        state = self.state
        products: np.ndarray = state[MEANS][:, 0] @ state[DIRECTIONS][:, 1:]
        return products, state[SQUARES][1:] - 2.0 * products + state[SQUARES][0]

    def _drawn(self) -> np.ndarray:
        """Return the part r_k of the distance from g to the means of the classes."""
        all_rows, rows, d = self.state[ROWS][0], self.state[ROWS][1:], self.n_features
        excess = rows * self._factor * self._squares()[1] - d
        sum_of_distances = _core.rows_of_distance * _core.first_distance * d + excess[rows > 0.0].sum()
        distance = max(sum_of_distances / (all_rows + _core.rows_of_distance), d / _core.most_at_center)
        return rows / (rows + d / distance)

    def class_weights(self, columns: np.ndarray | slice) -> np.ndarray:
        weights = self.state[DIRECTIONS][columns]
        return self._factor * self._drawn() * (weights[:, 1:] - weights[:, :1])

    def by_class(self) -> np.ndarray:
        part, rows = self._drawn(), self.state[ROWS]
        products, squares = self._squares()
        frequency = _core.frequency_factor * np.log((rows[1:] + 1.0) / (rows[0] + self.n_classes))
        linear = self.state[SQUARES][0] - products
        return self._factor * (part * linear - 0.5 * part**2 * squares) + frequency

    # --- as plain data -------------------------------------------------------------------------------------------

    @classmethod
    def unpacked(cls, arrays: State, n_features: int, n_classes: int) -> State:
        # older files have no first rows of classes, and have counted distances, to which novelty does not compare
        added = {SINCE: np.zeros(max(n_classes, 2)), RARITIES: novelty.untrained()}
        return added | {name: array for name, array in arrays.items() if name != VARIANCES}

    @classmethod
    def shapes(cls, n_features: int, n_classes: int) -> Shapes:
        k = max(n_classes, 2)
        return {
            MEANS: ((n_features, k + 1), REAL), DIRECTIONS: ((n_features, k + 1), REAL), SQUARES: ((k + 1,), REAL),
            ROWS: ((k + 1,), REAL), SINCE: ((k,), REAL), PRECISION: ((n_features, n_features), REAL),
            RARITIES: ((novelty.SIZE,), REAL), CALIBRATION: ((cls.calibration_size(k),), REAL),
        }  # fmt: skip

    def check_values(self) -> None:
        super().check_values()
        for name in (ROWS, SINCE):
            check_within(name, self.state[name], COUNTED)
        check_within(MEANS, self.state[MEANS], within(MAX_MEAN))
        for name in (DIRECTIONS, SQUARES, PRECISION):
            check_within(name, self.state[name], within(MAX_PRECISION))
        for name, numbers, allowed in novelty.values(self.state[RARITIES]):
            check_within(name, numbers, allowed)


def _trusted(rows: np.ndarray, of_class: np.ndarray, since: np.ndarray) -> np.ndarray:
    """Return :attr:`ClassMeans.trust` after numbers of rows, shape (n,), of which classes had some, (n, n_classes)."""
    has_rows, rows = of_class > 0.0, rows[:, None]
    classes = np.maximum(has_rows.sum(axis=1, keepdims=True), 1)
    part = np.maximum(of_class, 2.0 * (rows - since) / classes) / np.clip(rows / classes, 1.0, MOST_ROWS)
    return np.where(has_rows, np.minimum(part, 1.0), 0.0)
