"""What every estimator says of a row from the predictions that training made before it used the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..models.moved_columns import alarm_columns, moved_columns
from ..tasks.conformal import UNCALIBRATED
from .estimator import OnlineEstimator
from .model_estimator import AnyLearner


class ConformalEstimator(OnlineEstimator[AnyLearner]):
    """Base of the estimators, as far as their progressive predictions calibrate those of new rows."""

    def novelty(self, X: Any) -> NDArray[np.float64]:
        """Return p-values of the hypothesis that rows are like those of training: small for those unlike all before.

        A row is new if it conforms to no class, or if its margin is more uncertain than that of nearly all rows::

            p = min(1, c/(1 - b), u/b)

        Here c is the part of the rows of training whose most probable class had a score as small, each before its label
        was used, and u the part whose margin had a variance x' Sigma x as large, relative to its mean on a logarithmic
        scale so far, since variances fall while the learner learns. In a stack, each member has a u_g, and u is three
        times the smallest value that a third of them reach. The part of variances is b = 50/rows, at least 0.1 and at
        most 0.5. For label sets and numbers, p = min(1, u).
        In a stack for embeddings, p is the part of the rows of training that were as unlike all classes, by the novelty
        of :class:`confidently.stack.class_means.ClassMeans`.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
            In (0, 1]. Below t in at most a fraction t of rows that come in random order with those of training.

        Raises
        ------
        ValueError, TypeError
            For invalid rows; with ``calibration=None``, which learns no scores.

        Notes
        -----
        Of n rows of training, 2,000 count at most, since old ones count less, and no c or u is below 1/(n + 1). Views
        with unit norm see no lengths, so that a row that is only longer is not new to a learner with such a view.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_wine
        >>> from confidently import AutoClassifier
        >>> X, y = load_wine(return_X_y=True)
        >>> model = AutoClassifier().fit(X[::2], y[::2])
        >>> [float(np.median(model.novelty(rows)).round(2)) for rows in (X[1::2], 10.0 * X[1::2])]
        [1.0, 0.23]

        References
        ----------
        Vovk, Gammerman & Shafer, Algorithmic Learning in a Random World, 2nd ed., Springer 2022 (anomaly detection).
        Rüger, Das maximale Signifikanzniveau des Tests "Lehne H0 ab, wenn k unter n gegebenen Tests zur Ablehnung
        führen", Metrika 25, 1978.
        """
        self._check_calibrated("novelty")
        return self._answer(lambda matrix: self._learner_for(matrix).novelty(matrix), X)

    def _check_calibrated(self, method: str) -> None:
        """Raise ``ValueError`` unless training learned of its predictions."""
        check_is_fitted(self)
        if self.calibration is None:
            raise ValueError(f"{method}: {UNCALIBRATED}")

    @property
    def alarms_(self) -> int:
        return self._fitted.conformal.alarms

    @property
    def rows_since_alarm_(self) -> int:
        return self._fitted.conformal.rows_since_alarm

    @property
    def moved_columns_(self) -> dict[str | int, int] | None:
        return moved_columns(self.as_model())

    @property
    def alarm_columns_(self) -> list[str | int] | None:
        return alarm_columns(self.as_model())
