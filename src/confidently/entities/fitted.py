"""What is known about fitted models of entities: counts, progressive errors, and single entities."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..estimators.classifier import OnlineClassifier
from ..estimators.gaussian import GaussianEstimator
from .keys import Key, checked_keys
from .scores import deviation
from .table import EntityTable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Deviation:
    """What an entity deviates from the shared model by.

    Attributes
    ----------
    rows : int
        Rows of the entity so far.
    age : int
        Rows of all entities since its last one.
    features : list
        Names of its features, or their columns where they have none; ``"intercept"`` is the first.
    mean, variance : array of shape (n_features,) or (n_features, n_classes)
        Of its weights, added to the shared model's log-odds (of ``classes_[1]``, or of each class) or numbers. Weights
        of other features have mean 0 and the prior variance.
    """

    rows: int
    age: int
    features: list[Any]
    mean: Floats
    variance: Floats


class FittedEntities(BaseEstimator):
    """Base of models of entities: what is known of those that are fitted."""

    key: str | None
    shared: GaussianEstimator | None
    shared_: Any
    _table: EntityTable
    _rows: int

    @property
    def _template(self) -> Any:
        return OnlineClassifier() if self.shared is None else self.shared

    @property
    def _regression(self) -> bool:
        return bool(getattr(self._template, "predicts_numbers", False))

    def __sklearn_is_fitted__(self) -> bool:
        return "shared_" in vars(self)

    @property
    def classes_(self) -> np.ndarray:
        check_is_fitted(self)
        return self.shared_.classes_

    @property
    def n_entities_(self) -> int:
        check_is_fitted(self)
        return len(self._table)

    @property
    def n_seen_(self) -> int:
        check_is_fitted(self)
        return int(self._rows)

    @property
    def variance_weights_(self) -> dict[float, float]:
        check_is_fitted(self)
        if self._table.exact:
            raise AttributeError("the variances are learned; see entity_variance_")
        return dict(zip((0.0, *self._table.priors), self._table.weights.tolist(), strict=True))

    @property
    def entity_variance_(self) -> dict[Any, float]:
        check_is_fitted(self)
        if not self._table.exact:
            raise AttributeError("several variances are tried side by side; see variance_weights_")
        core = self._table.exact_core
        variances = core.noise * core.state_of_columns()["variances"]
        return {self._name(k - 1): one for k, one in enumerate(variances.tolist())}

    @property
    def noise_variance_(self) -> float:
        check_is_fitted(self)
        if not self._table.exact:
            raise AttributeError("the variance of the noise is that of numbers of few columns; see predict(return_std)")
        return float(self._table.exact_core.noise)

    @property
    def log_loss_(self) -> float:
        return self._mean_loss(1, of_numbers=False)

    @property
    def error_(self) -> float:
        return self._mean_loss(2, of_numbers=False)

    @property
    def rmse_(self) -> float:
        return sqrt(self._mean_loss(1, of_numbers=True))

    @property
    def mae_(self) -> float:
        return self._mean_loss(2, of_numbers=True)

    def _mean_loss(self, which: int, of_numbers: bool) -> float:
        check_is_fitted(self)
        if self._table.regression is not of_numbers:
            raise AttributeError(f"the model predicts {'classes' if of_numbers else 'numbers'}")
        losses = self._table.losses
        return float(losses[which] / max(losses[0], 1.0))

    @property
    def keys_(self) -> list[Key]:
        check_is_fitted(self)
        return self._table.keys

    def deviation(self, key: Key) -> Deviation:
        """Return what an entity deviates from the shared model by.

        Raises
        ------
        KeyError
            If the key is not known.
        """
        check_is_fitted(self)
        [key] = checked_keys([key])
        table = self._table
        if key not in table.slots:
            raise KeyError(f"no entity has the key {key!r}")
        columns, mean, variance = deviation(table, key)
        if table.outputs > 1:
            mean, variance = map(self.shared_._class_order.columns, (mean, variance))
        else:
            mean, variance = (self._sign * mean)[:, 0], variance[:, 0]
        last, rows = table.rows_of(key)
        return Deviation(rows, self._rows - 1 - last, [self._name(k - 1) for k in columns.tolist()], mean, variance)

    @property
    def _sign(self) -> float:
        """That of the scores of ``classes_[1]`` among those of the class of number 1; of numbers 1."""
        return -1.0 if not self._regression and self.shared_._class_order.numbers[1] == 0 else 1.0

    def _name(self, column: int) -> Any:
        if column < 0:
            return "intercept"
        names, learner = self.shared_._feature_names(), self.shared_.learner_
        if learner.view is None or column < learner.n_features:
            return column if names is None else names[column]
        return column
