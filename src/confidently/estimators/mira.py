"""MIRA, the margin-infused relaxed algorithm: multiclass, first-order, exact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..arrays import predicted_numbers
from ..covariances.state import out_of_range
from ..data.class_order import ClassOrder
from ..data.memory.labels import check_labels, class_numbers, known_classes, training_of
from ..data.memory.validation import validated
from ..rules.ranges import POSITIVE, Range, check_number
from ..similar import hinting
from .parameters import check_passes

if TYPE_CHECKING:
    from onnx import ModelProto


class MIRA(ClassifierMixin, BaseEstimator):
    """Multiclass classifier that moves all classes that violate the margin at once, by the least amount.

    A row x of class y whose scores are s_k = w_k.x moves the weights by tau_k x, where tau minimizes::

        |x|^2/2 sum_k tau_k^2 + sum_k tau_k (s_k + gamma [k != y]),    sum_k tau_k = 0,  tau_k <= C [k = y].

    This is the dual of the least change of all weights under C times the largest hinge loss of the row,
    ``max_k (gamma - (s_y - s_k))_+``. The minimum is exact, by sorting: ``tau_k = min(theta - b_k, C [k = y])`` with
    ``b_k = (s_k + gamma [k != y])/|x|^2``.

    Parameters
    ----------
    gamma : float, default=1.0
        Required margin between the true class and every other, > 0.
    C : float, default=1.0
        Maximum step size of the true class, > 0; with ``math.inf`` every update reaches the margin.
    fit_intercept : bool, default=True
        Add a constant feature 1 to every row.
    passes : int, default=1
        Number of passes of :meth:`fit` over the rows.
    shuffle : bool, default=False
        Whether :meth:`fit` visits the rows in a new random order in each pass.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        For two classes the difference of their weights.
    intercept_ : ndarray of shape (1 or n_classes,)
    n_seen_, mistakes_, updates_ : int
        Rows trained on, in all passes; those whose true class did not have the highest score before the update; rows
        that changed the weights.

    Notes
    -----
    MIRA has no Gaussian and so no variances: it is the baseline of the ellipsoid methods, not a rule of
    :class:`OnlineClassifier`. Rows are learned as they are, since it has no views. The original has gamma = 0 and
    C = 1, with which weights of 0 never change.

    References
    ----------
    Crammer & Singer, Ultraconservative online algorithms for multiclass problems, JMLR 3, 2003.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> round(MIRA(passes=20, shuffle=True, random_state=0).fit(X, y).score(X, y), 2)
    0.97
    """

    classes_: np.ndarray
    n_features_in_: int
    _weights: np.ndarray  # (features, classes), the intercept's last

    @hinting
    def __init__(
        self, gamma: float = 1.0, C: float = 1.0, *, fit_intercept: bool = True, passes: int = 1, shuffle: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:  # fmt: skip
        self.gamma = gamma
        self.C = C
        self.fit_intercept = fit_intercept
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Classes, two or more.

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input.
        """
        with training_of(self):
            X, y = self._checked(X, y, reset=True)
            self._begin(known_classes(y, None, None, partial=False), X.shape[1])
            generator = check_random_state(self.random_state)
            for _ in range(self.passes):
                self._learn(X, y, generator.permutation(len(y)) if self.shuffle else None)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Train on more rows, in one pass and in the given order; ``classes`` names those that come later."""
        with training_of(self):
            first = not hasattr(self, "classes_")
            X, y = self._checked(X, y, reset=first)
            known = known_classes(y, classes, None if first else self.classes_, partial=True)
            if first:
                self._begin(known, X.shape[1])
            elif len(known) > len(self.classes_):
                new = np.zeros((len(self._weights), len(known) - len(self.classes_)))
                order = ClassOrder(known)
                self._weights = np.ascontiguousarray(order.columns(np.hstack([self._weights, new])))
                self.classes_ = order.classes
            self._learn(X, y, None)
        return self

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[csr_array, np.ndarray]:
        check_number("MIRA", "gamma", self.gamma, POSITIVE)
        check_number("MIRA", "C", self.C, Range(0.0, math.inf, closed_high=True))
        check_passes(self.passes)
        if not isinstance(self.shuffle, bool | np.bool_):
            raise ValueError(f"shuffle must be True or False, got {self.shuffle!r}")
        check_labels(y)
        X, y = validated(self, X, y, accept_sparse="csr", dtype=np.float64, reset=reset)
        check_classification_targets(y)
        return _rows(X), column_or_1d(y, warn=True)

    def _begin(self, classes: np.ndarray, n_features: int) -> None:
        self.classes_ = classes
        self._weights = np.zeros((n_features + bool(self.fit_intercept), len(classes)))
        self.n_seen_ = self.mistakes_ = self.updates_ = 0

    def _learn(self, X: csr_array, y: np.ndarray, order: np.ndarray | None) -> None:
        weights = self._weights.copy()
        mistakes, updates = _core.mira_learn(
            X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64), class_numbers(y, self.classes_), order,
            weights, intercept=bool(self.fit_intercept), gamma=float(self.gamma), C=float(self.C),
        )  # fmt: skip
        if not (np.abs(weights) <= _core.largest_weight(single=False)).all():
            raise out_of_range("float64")
        self._weights = weights
        self.n_seen_ += len(y)
        self.mistakes_ += mistakes
        self.updates_ += updates

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores w_k.x: shape (n, n_classes); for two classes their difference, shape (n,)."""
        check_is_fitted(self)
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        scores: np.ndarray = X @ self._coefficients().T + self._intercepts()
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class with the highest score, shape (n,)."""
        scores = self.decision_function(X)
        return self.classes_[predicted_numbers(scores)]

    @property
    def coef_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._coefficients()

    @property
    def intercept_(self) -> np.ndarray:
        check_is_fitted(self)
        return self._intercepts()

    def to_onnx(self, dtype: str = "float32") -> ModelProto:
        """Return the predictor as an ONNX graph (opset 17), for any runtime; needs the extra ``onnx``.

        Parameters
        ----------
        dtype : {"float32", "float64"}
            Of the input ``X``, shape (n, n_features), of all numbers within, and of ``scores``.

        Returns
        -------
        onnx.ModelProto
            With the outputs ``label``, shape (n,), and ``scores``, those of :meth:`decision_function`, shape (n, 1) for
            two classes, otherwise (n, n_classes). MIRA has no probabilities.

        Raises
        ------
        ImportError
            If ONNX is not installed.
        ValueError
            For an unknown type.
        """
        from ..models.onnx_export import scores_to_onnx  # only here, to save start-up time

        names = getattr(self, "feature_names_in_", None)
        return scores_to_onnx(self.coef_, self.intercept_, self.classes_, None if names is None else list(names), dtype)

    def _coefficients(self) -> np.ndarray:
        return self._by_class(self._weights[: self.n_features_in_])

    def _intercepts(self) -> np.ndarray:
        weights = self._by_class(self._weights)
        return weights[:, -1].copy() if weights.shape[1] > self.n_features_in_ else np.zeros(len(weights))

    def _by_class(self, weights: np.ndarray) -> np.ndarray:
        return (weights[:, 1:] - weights[:, :1]).T if len(self.classes_) == 2 else weights.T

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _rows(X: Any) -> csr_array:
    """Return rows for the core: columns ascending, without duplicates."""
    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
