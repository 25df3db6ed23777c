"""What regressors that learn online predict, of arrays and of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..learner.learner import Learner
from ..rules.ranges import UNIT, check_choice, check_number
from ..stack.number_stack import NumberStack
from ..tasks.targets import Prediction, Targets
from .estimator import OnlineEstimator

AnyRegression = TypeVar("AnyRegression", bound=Learner | NumberStack)


class NumberPredictions(RegressorMixin, OnlineEstimator[AnyRegression]):
    """Predictions of a regressor's learner, and their progressive errors."""

    stream_methods: ClassVar[tuple[str, ...]] = ("predict", "predict_std", "predict_interval")

    calibration: str | None

    # --- arrays --------------------------------------------------------------------------------------------------

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> NDArray[np.float64]: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
    def predict(
        self, X: Any, return_std: bool = False
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the expected target of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        return_std : bool
            Whether to return standard deviations too.

        Returns
        -------
        mean : ndarray of shape (n,) or (n, n_outputs)
        std : ndarray of the same shape, if ``return_std``
            Standard deviation of the target around it: noise and uncertainty of the weights. With ``calibration=None``
            it is that of the model's distribution; of the Student t distribution of ``Ridge(r=None)``, which has one
            only after more than two predictions, it is ``inf`` before. It is never the scale.
        """
        if not return_std:
            return self._shaped(self._answer(lambda matrix: self.learner_.numbers(matrix), X))
        found = self._predicted(X)
        return self._shaped(found.mean), self._shaped(self._deviations(found))

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Return central intervals that contain the targets with a probability.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        coverage : float
            The probability, in (0, 1).

        Returns
        -------
        ndarray of shape (n, 2) or (n, n_outputs, 2)
            Lower and upper limits.

        Notes
        -----
        With ``calibration="progressive"``, they are quantiles of the standardized errors of the predictions made in
        training, the last few thousand of which count most.
        """
        check_number("predict_interval", "coverage", coverage, UNIT)
        return self._intervals(self._predicted(X), coverage)

    def _predicted(self, X: Any) -> Prediction:
        found: Prediction = self._answer(lambda matrix: self.learner_.number_distribution(matrix), X)
        return found

    def _deviations(self, found: Prediction) -> NDArray[np.float64]:
        deviations: NDArray[np.float64] = self._fitted.number_deviations(found, self.calibration is not None)
        return deviations

    def _intervals(self, found: Prediction, coverage: float) -> NDArray[np.float64]:
        limits: NDArray[np.float64] = self._fitted.intervals(found, coverage, self.calibration is not None)
        return limits[:, 0] if self._is_one_dimensional() else limits

    # --- files ---------------------------------------------------------------------------------------------------

    def predict_stream(
        self, paths: Any, method: str = "predict", *, coverage: float = 0.9, strict: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Predict the rows of files batch by batch, as :meth:`OnlineClassifier.predict_stream` does.

        Parameters
        ----------
        paths, strict, options
            As there.
        method : str
            What to compute: "predict", predictions; "predict_std", pairs of predictions and standard deviations;
            "predict_interval"; with one Gaussian also "margin_distribution". The weights of unseen features have mean 0
            and the prior variance.
        coverage : float
            Probability, in (0, 1), with which the intervals of "predict_interval" contain the targets.

        Yields
        ------
        array, or pair of arrays
            What the method returns for the next rows.

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data.
        """
        check_is_fitted(self)
        check_choice("method", method, self.stream_methods)
        check_number("predict_stream", "coverage", coverage, UNIT)

        def answer(matrix: Any, learner: AnyRegression) -> Any:
            return self._apply(method, matrix, learner, coverage)

        yield from self._predict_stream(paths, answer, strict, options)

    def _apply(self, method: str, matrix: Any, learner: AnyRegression, coverage: float) -> Any:
        """Return what a method gives for rows, by this regressor's learner with perhaps more features."""
        found = learner.number_distribution(matrix)
        if method == "predict_interval":
            return self._intervals(found, coverage)
        mean = self._shaped(found.mean)
        return mean if method == "predict" else (mean, self._shaped(self._deviations(found)))

    # --- what was learned about the targets ----------------------------------------------------------------------

    @property
    def rmse_(self) -> Any:
        targets = self._targets()
        return self._of_outputs(np.sqrt(targets.squared_errors / np.maximum(targets.predicted, 1.0)))

    @property
    def mae_(self) -> Any:
        targets = self._targets()
        return self._of_outputs(targets.absolute_errors / np.maximum(targets.predicted, 1.0))

    def _targets(self) -> Targets:
        return Targets.of(self._fitted.state["calibration"])

    def _is_one_dimensional(self) -> bool:
        return bool(getattr(self, "_one_dimensional", True)) and self._fitted.n_classes == 1

    def _shaped(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers (n, n_outputs) in the shape of the targets."""
        return numbers[:, 0] if self._is_one_dimensional() else numbers

    def _of_outputs(self, numbers: NDArray[Any]) -> Any:
        """Return one entry per output in the shape of one target: of one output, the entry itself."""
        if not self._is_one_dimensional():
            return numbers
        return float(numbers[0]) if numbers.ndim == 1 else numbers[0]
