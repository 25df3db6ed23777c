"""The compiled learner on numbers: settings, sizes and a state.

Needs NumPy only, so that the command line starts fast. :class:`confidently.OnlineClassifier` puts
scikit-learn's contract over it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..arrays import predicted_numbers
from ..covariances.examples import Examples
from ..covariances.settings import Settings
from ..covariances.state import Size, State
from ..covariances.table import kind_of, make_covariance, resolved
from ..data.memory.matrix import check_rows, is_checked, largest_value, refuse
from . import calibration
from .posterior import Posterior

# Rows learned between two looks at the clock and the keyboard.
ROWS_PER_STRIDE = 8192
# Rows are checked while they are learned if the state, which must then be copied, is this much smaller than they are.
STATE_TO_ROWS = 4
BYTES_PER_ENTRY = 12  # of a matrix: a value and its column
MAX_WEIGHT = 1e9


class Learner(Posterior):
    """An online learner over numbered features and numbered classes.

    Parameters
    ----------
    settings : Settings
        The update rule, the covariance, the task and their parameters.
    n_classes, n_features : int
        May grow later.
    device : str, optional
        Where a full or shared covariance does its products of matrices: a device of PyTorch ("cpu", "cuda"), "cupy", or
        by default the BLAS of NumPy and SciPy. Not saved with a model.

    Attributes
    ----------
    state : dict of arrays
        All that was learned (:mod:`confidently.covariances.state`).

    Raises
    ------
    ValueError
        If the covariance does not allow the settings, or a multiclass task has fewer than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow"), n_features=2)
    >>> X = as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> learner.learn(X, np.array([1, 0], dtype=np.int32))
    >>> learner.predict(X)
    array([1, 0])
    """

    def __init__(
        self, settings: Settings, n_classes: int = 2, n_features: int = 0, *, device: str | None = None
    ) -> None:
        settings = resolved(settings, n_features)
        if n_classes < 2 and settings.task in ("joint", "one-vs-rest"):
            raise ValueError(f"{settings.task} needs at least 2 classes, got {n_classes}")
        state = make_covariance(settings).new_state(Size(n_features, n_classes))
        super().__init__(settings, n_classes, n_features, state)
        self.device = device

    # --- growing -------------------------------------------------------------------------------------------------

    def grow(self, n_features: int = 0, n_classes: int = 0, multiclass: str = "joint") -> None:
        """Make room for more features or classes, which start at the prior; less than there is changes nothing.

        A binary learner that gets a third class becomes a ``multiclass`` one with the same beliefs about the first two.
        """
        kind_of(self.settings.covariance).check_task(multiclass if n_classes > 2 else "binary")
        new = Size(max(n_features, self.n_features), max(n_classes, self.n_classes))
        self.settings, self.state = self.covariance.grown(self.state, self.size, new, multiclass)
        self.n_features, self.n_classes = new

    # --- learning ------------------------------------------------------------------------------------------------

    def learn(
        self,
        X: _core.Matrix,
        labels: np.ndarray,
        label_start: np.ndarray | None = None,
        *,
        weight: np.ndarray | None = None,
        class_weight: np.ndarray | None = None,
        order: np.ndarray | None = None,
        calibrate: bool = True,
        log_loss: np.ndarray | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Learn rows one after the other.

        Parameters
        ----------
        X : matrix of :func:`confidently.data.memory.matrix.as_matrix`
            n rows; at most ``n_features`` columns.
        labels : int32 array
            Class numbers from 0, one a row; multilabel: the labels of all rows, one row after the other.
        label_start : int64 array of shape (n + 1,), optional
            Multilabel: where each row's labels begin.
        weight : float64 array of shape (n,), optional
            Weights of the rows, >= 0; 0 is the same as not seen.
        class_weight : float64 array of shape (n_classes,), optional
            Factor to the weight by class.
        order : int64 array, optional
            The order in which to visit rows.
        calibrate : bool
            Whether the margins, taken before their labels are used, calibrate the probabilities.
        log_loss : float64 array of shape (1,), optional
            Gets, added to what it holds, -log of the probability that each row's label had before it was used (sets of
            labels: the sum over all labels known so far), every row counting alike; needs ``calibrate``.
        progress : callable, optional
            Called with the number of rows learned so far.

        Raises
        ------
        ValueError
            If labels are out of range, lengths do not fit or rows have values that are not finite or too large; the
            state is then as it was.
        """
        self._check_labels(X.shape[0], labels, label_start)
        self._check_weights(X.shape[0], weight, class_weight)
        if order is not None and len(order) and not 0 <= order.min() <= order.max() < X.shape[0]:
            raise ValueError(f"order must name rows 0 to {X.shape[0] - 1}, got {order.min()} to {order.max()}")
        self._check_width(X)
        covariance = self.covariance
        if not covariance.is_row_by_row(self.state, self.device):
            if not is_checked(X, self.settings.dtype):  # all at once, for a product of matrices mixes rows
                check_rows(X, self.settings.dtype)
            self.make_writable()
            examples = Examples(X, labels, label_start, weight, class_weight, order)
            self.state = covariance.learn(
                self.state, examples, self.size, device=self.device, calibrate=calibrate, log_loss=log_loss,
                progress=progress,
            )  # fmt: skip
            return
        before, cost = self._writable_state(X, order), None if log_loss is None else log_loss.copy()
        core, n = covariance.compiled(), X.shape[0] if order is None else len(order)
        limit = largest_value(self.settings.dtype)
        largest = 0.0 if is_checked(X, self.settings.dtype) else limit
        for first in range(0, n, ROWS_PER_STRIDE):
            last = min(first + ROWS_PER_STRIDE, n)
            fault = core.learn(
                self.state, X, labels, label_start, weight, class_weight, order, first, last, calibrate, largest,
                log_loss,
            )  # fmt: skip
            if fault is not None:
                self.state = before
                if log_loss is not None:
                    log_loss[:] = cost
                refuse(fault, X.shape[1], self.settings.dtype)
            if progress is not None:
                progress(last)
        if largest and order is None:
            X.checked = limit

    def make_writable(self) -> None:
        """Replace arrays of the state that cannot be written to."""
        for name, array in self.state.items():
            if not array.flags.writeable:  # memory-mapped by joblib, say
                self.state[name] = array.copy()

    def _writable_state(self, X: _core.Matrix, order: np.ndarray | None) -> State:
        """Make sure that the state can be written to; return what it was, if that is needed to undo faulty rows.

        Rows are best checked just before they are learned, when they are in the cache, and a copy of the state put
        back if one is bad; where the state is large beside the rows they are checked beforehand instead.
        """
        size = sum(array.nbytes for array in self.state.values())
        if not is_checked(X, self.settings.dtype) and (
            order is not None or size * STATE_TO_ROWS > X.stored * BYTES_PER_ENTRY
        ):
            check_rows(X, self.settings.dtype)
        self.make_writable()
        self.covariance.flush(self.state)
        unchecked = not is_checked(X, self.settings.dtype)
        return {name: array.copy() for name, array in self.state.items()} if unchecked else {}

    def _check_width(self, X: _core.Matrix) -> None:
        if X.shape[1] > self.n_features:
            raise ValueError(f"X has {X.shape[1]} columns, the learner {self.n_features} features: grow it first")

    def _check_weights(self, n: int, weight: np.ndarray | None, class_weight: np.ndarray | None) -> None:
        largest = 1.0
        for name, weights, length in (("weight", weight, n), ("class_weight", class_weight, self.n_classes)):
            if weights is None:
                continue
            if weights.shape != (length,):
                raise ValueError(f"{name} must have shape ({length},), got {weights.shape}")
            largest *= weights.max(initial=0.0)
        if class_weight is not None and self.settings.task == "multilabel":
            raise ValueError("class weights are for one class a row, not for sets of labels")
        if not largest <= MAX_WEIGHT:
            raise ValueError(f"weights of examples may be at most {MAX_WEIGHT:g}, got {largest:g}: scale them down")

    def _check_labels(self, n: int, labels: np.ndarray, start: np.ndarray | None) -> None:
        if (start is not None) != (self.settings.task == "multilabel"):
            raise ValueError("lists of labels (label_start) belong to the multilabel task, and to that only")
        counted = n if start is None else int(start[-1])
        if start is not None and (start[0] != 0 or (np.diff(start) < 0).any()):
            raise ValueError("label_start must begin with 0 and never decrease")
        if len(labels) != counted or (start is not None and len(start) != n + 1):
            raise ValueError(f"{n} rows and {len(labels)} labels do not fit together")
        if len(labels) and not 0 <= labels.min() <= labels.max() < self.n_classes:
            raise ValueError(f"labels must be in 0 to {self.n_classes - 1}, got {labels.min()} to {labels.max()}")

    # --- answering -----------------------------------------------------------------------------------------------

    def decision(self, X: _core.Matrix) -> np.ndarray:
        """Scores: shape (n,) for two classes, positive meaning class 1; else (n, n_classes).

        Multilabel: scores minus the calibration label's, so that positive means relevant.
        """
        return self._presented(self._scores(X))

    def margin_distribution(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the scores under the Gaussian over weights, both of the shape of :meth:`decision`."""
        self._check_rows(X)
        variance = self.covariance.variances(self.state, X, self.size)
        if self.settings.task == "binary":
            variance = variance[:, 0]
        elif self.settings.task == "multilabel":
            variance = variance[:, 1:]
        return self.decision(X), variance

    def probabilities(self, X: _core.Matrix, method: str | None = "progressive") -> np.ndarray:
        """Probabilities of class 1, shape (n,), for two classes; else of each class or label, (n, n_classes)."""
        if method is None:
            mean, variance = self.margin_distribution(X)
            multiclass = self.settings.task in ("joint", "one-vs-rest")
            return calibration.vote_multiclass(mean, variance) if multiclass else calibration.vote(mean, variance)
        state = self.state["calibration"]
        if self.settings.task == "multilabel":
            return calibration.sigmoid(self.decision(X), state)
        prior = self.settings.prior_variance
        if self.settings.task == "binary":
            return calibration.sigmoid(calibration.moderated(*self.margin_distribution(X), prior), state)
        scores = self._scores(X)
        variance = self.covariance.top_variances(self.state, X, scores, self.size)
        return calibration.softmax(calibration.moderated(scores, variance, prior), state)

    def predict(self, X: _core.Matrix) -> np.ndarray:
        """Class numbers, shape (n,); multilabel: booleans, (n, n_classes)."""
        decision = self.decision(X)
        if self.settings.task == "multilabel":
            return decision > 0
        return predicted_numbers(decision)

    def _scores(self, X: _core.Matrix) -> np.ndarray:
        self._check_rows(X)
        return self.covariance.scores(self.state, X, self.size)

    def _check_rows(self, X: _core.Matrix) -> None:
        """Nothing is read off rows that were not checked."""
        self._check_width(X)
        if not is_checked(X, self.settings.dtype):
            check_rows(X, self.settings.dtype)

    def _presented(self, columns: np.ndarray) -> np.ndarray:
        """One entry a class from one a column, on the last axis."""
        if self.settings.task == "binary":
            return columns[..., 0]
        return columns[..., 1:] - columns[..., :1] if self.settings.task == "multilabel" else columns

    def top_margins(self, X: _core.Matrix) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the margin between each row's two best classes, shape (n,).

        For two classes and multilabel, those of :meth:`margin_distribution`.
        """
        if self.settings.task in ("binary", "multilabel"):
            return self.margin_distribution(X)
        scores = self._scores(X)
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        return first - second, self.covariance.top_variances(self.state, X, scores, self.size)

    # --- as plain data -------------------------------------------------------------------------------------------

    def header(self) -> dict[str, Any]:
        """All that is not an array, as plain data; with :attr:`state` it is the whole learner."""
        return {"settings": self.settings.header(), "n_classes": self.n_classes, "n_features": self.n_features}

    @classmethod
    def from_header(cls, header: dict[str, Any], state: State) -> Learner:
        """The learner that :meth:`header` and its state describe."""
        learner = cls(Settings.from_header(header["settings"]), header["n_classes"], 0)
        learner.n_features = header["n_features"]
        learner.state = state
        return learner
