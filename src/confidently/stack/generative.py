"""Base of the members of stacks that are no learners with a Gaussian over weights: models of the rows of each class."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Self

import numpy as np

from .. import _core
from ..covariances.examples import Examples, Progressive
from ..covariances.state import Shapes, State, check_within, within
from ..rules.ranges import Range
from ..tasks.calibration import INITIAL_LINE, INITIAL_SLOPE, lines
from ..views.columns import Columns

CALIBRATION = "calibration"
MAX_SLOPE, MAX_CURVATURE = 1e80, 1e200


class Generative:
    """Model of the rows of each class, whose scores a line calibrates.

    The score of two classes is the difference of theirs, otherwise each class has its own minus their mean; it is
    calibrated as every learner's is, without the correction.

    Parameters
    ----------
    n_classes, n_features : int
    state : dict of arrays, optional
        What was learned before; by default nothing.
    """

    kind: ClassVar[str]
    name: ClassVar[str]

    def __init__(self, n_classes: int = 2, n_features: int = 0, state: State | None = None) -> None:
        self.n_classes, self.n_features = max(n_classes, 2), n_features
        self.state = self._new_state() if state is None else state

    def _new_state(self) -> State:
        raise NotImplementedError

    def _new_calibration(self) -> np.ndarray:
        return np.array(INITIAL_LINE if self.n_classes == 2 else INITIAL_SLOPE)

    @property
    def columns(self) -> int:
        """The number of scores of a row: one for two classes, otherwise one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def bytes_per_feature(self) -> int:
        """Bytes that a feature takes."""
        return 8 * self.n_classes

    def _grown_calibration(self, n_classes: int) -> np.ndarray:
        calibration: np.ndarray = self.state[CALIBRATION]
        return calibration[[0, 2]] if self.n_classes == 2 < n_classes else calibration

    def grow(
        self, n_features: int = 0, n_classes: int = 0, multiclass: str | None = None, columns: Columns | None = None
    ) -> None:
        """Make room for more features or classes; smaller numbers change nothing."""
        raise NotImplementedError

    def begin(self, examples: Examples, log_loss: np.ndarray | None = None) -> AbstractContextManager[Any]:
        """Return the context within which to :meth:`train`, which undoes that on an error."""
        raise NotImplementedError

    def train(
        self, examples: Examples, transaction: Any, calibrate: bool, progressive: Progressive,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Train on checked examples."""
        raise NotImplementedError

    def seen_rows(self, X: _core.Matrix) -> Iterator[_core.Matrix]:
        """Yield checked rows as the model sees them: as they are."""
        yield X

    def logits_of(self, X: _core.Matrix) -> np.ndarray:
        """Return calibrated scores of checked rows, shape (n, columns)."""
        return lines(self._scores(X), self.state[CALIBRATION])

    def shift(self, offset: float) -> None:
        """Add to the log-odds of the second of two classes."""
        calibration = self.state[CALIBRATION].copy()
        calibration[1] += offset
        self.state = self.state | {CALIBRATION: calibration}

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        raise NotImplementedError

    def logit_deviations_of(self, X: _core.Matrix) -> np.ndarray:
        """Return the standard deviations of the scores: 0, since there is no Gaussian over weights."""
        return np.zeros((X.shape[0], self.columns))

    @property
    def slope(self) -> float:
        """The factor from a score to its calibrated score."""
        return float(self.state[CALIBRATION][0])

    def contributions(self, columns: np.ndarray, values: np.ndarray, plus: int, minus: int) -> np.ndarray:
        """Return what each feature of a row adds to the score of one class minus that of another."""
        by_class = self.class_weights(columns)
        length = np.linalg.norm(values)
        return values / (length or 1.0) * (by_class[:, plus] - by_class[:, minus])

    def class_weights(self, columns: np.ndarray | slice) -> np.ndarray:
        """Return the weights of features of rows of unit norm in the scores, shape (features, classes)."""
        raise NotImplementedError

    def by_class(self) -> np.ndarray:
        """Return what is added to the scores of the classes, shape (classes,)."""
        raise NotImplementedError

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """Return everything that is not an array, as plain data."""
        return {"kind": self.kind}

    def packed(self) -> State:
        """Return the arrays for a model file."""
        return self.state

    @classmethod
    def unpacked(cls, arrays: State, n_features: int, n_classes: int) -> State:
        """Return the state of packed arrays, before types and shapes are checked against :meth:`shapes`."""
        return arrays

    @classmethod
    def shapes(cls, n_features: int, n_classes: int) -> Shapes:
        """Return shape and type of every array."""
        raise NotImplementedError

    @staticmethod
    def calibration_size(n_classes: int) -> int:
        """Return the numbers that calibrate the scores of so many classes."""
        return len(INITIAL_LINE if n_classes <= 2 else INITIAL_SLOPE)

    def check_values(self) -> None:
        """Raise ``ValueError`` unless the numbers are those that a file may hold."""
        check_within(f"the slope of {self.name}", self.state[CALIBRATION][:1], Range(0.0, MAX_SLOPE))
        check_within(f"the calibration of {self.name}", self.state[CALIBRATION][1:], within(MAX_CURVATURE))


class Restoring:
    """Training of a generative model that an exception undoes; ``statistics`` restores all arrays but the line."""

    def __init__(self, learner: Generative, statistics: Any) -> None:
        self._learner, self._before, self._statistics = learner, learner.state, statistics
        self._calibration = learner.state[CALIBRATION].copy()
        self.log = statistics.log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        if kind is not None:
            self._statistics.restore()
            self._learner.state = self._before
            self._before[CALIBRATION][...] = self._calibration
