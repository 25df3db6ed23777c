"""What classifiers that learn online predict, of arrays and of files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..arrays import predicted_numbers
from ..data.class_order import ClassOrder
from ..learner.learner import Learner
from ..rules.ranges import check_choice
from ..stack.stack import Stack
from .estimator import OnlineEstimator

AnyClasses = TypeVar("AnyClasses", bound=Learner | Stack)

STREAM_METHODS = ("predict", "predict_proba", "decision_function", "margin_distribution")


class ClassPredictions(ClassifierMixin, OnlineEstimator[AnyClasses]):
    """Predictions of a classifier's learner.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted. Scores, probabilities and coefficients are in this order, whatever the numbers in ``learner_``.
    """

    _class_order: ClassOrder

    calibration: str | None

    # --- prediction ----------------------------------------------------------------------------------------------

    def _scored(self, method: str, X: Any) -> Any:
        return self._answer(lambda matrix: self._apply(method, matrix), X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores mean.x.

        Returns
        -------
        array
            Shape (n,) for two classes, positive for ``classes_[1]``; otherwise (n, n_classes). In multilabel data the
            calibration label's score is subtracted: positive means relevant.
        """
        scores: NDArray[np.float64] = self._scored("decision_function", X)
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class, shape (n,); in multilabel data an indicator matrix (n, n_labels).

        Labels are those with a probability above half of the progressive F1, which is where the F1 is largest. With
        ``calibration=None``, the class with the largest score, and labels with a positive score.
        """
        predicted: np.ndarray = self._scored("predict", X)
        return predicted

    def margin_distribution(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and variance of the scores of a classifier drawn from the Gaussian.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)

        Returns
        -------
        mean, variance : ndarray
            mean.x and x' Sigma x, both of the shape of :meth:`decision_function`. ``|mean|/sqrt(variance)`` is small
            where the classifier is uncertain: abstain there, or request the label.
        """
        found: tuple[NDArray[np.float64], NDArray[np.float64]] = self._scored("margin_distribution", X)
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, n_classes); in multilabel data, of each label by itself.

        With ``calibration="progressive"`` the sigmoid (two classes, labels) or temperature (three or more classes) and
        a monotone correction of it are fitted during training, to each margin before its label is used. With None they
        are the uncalibrated posterior probabilities.
        """
        p: NDArray[np.float64] = self._scored("predict_proba", X)
        return p

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            p: NDArray[np.float64] = np.log(self.predict_proba(X))
        return p

    def _apply(self, method: str, matrix: Any, learner: AnyClasses | None = None) -> Any:
        """Return what a method gives for rows, by this classifier's learner or by one with more features."""
        learner = self.learner_ if learner is None else learner
        order, binary = self._class_order, learner.task.binary
        if method == "decision_function":
            return order.scores(learner.decision(matrix), binary)
        if method == "margin_distribution":
            mean, variance = learner.margin_distribution(matrix)
            return order.scores(mean, binary), variance if binary else order.columns(variance)
        if method == "predict_proba":
            return order.columns(learner.probabilities(matrix, self.calibration))
        if learner.decides_by_probability(self.calibration):
            p = learner.probabilities(matrix, self.calibration)
            if learner.task.multilabel:
                return order.columns(learner.decided(None, p)).astype(int)
            # numbers of one byte, since new memory for numbers of eight takes longer than all else
            return order.classes[(order.columns(p)[:, 1] > 0.5).view(np.int8)]
        scores = order.scores(learner.decision(matrix), binary)
        if learner.task.multilabel:
            return (scores > 0).astype(int)
        if scores.ndim == 1:
            return order.classes[(scores > 0).view(np.int8)]
        return order.classes[predicted_numbers(scores)]

    def predict_stream(
        self, paths: Any, method: str = "predict", *, strict: bool = False, **options: Any
    ) -> Iterator[Any]:
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known. Labels are
            ignored.
        method : {"predict", "predict_proba", "decision_function", "margin_distribution"}
            What to compute. The weights of unseen features have mean 0 and the prior variance.
        strict : bool
            Formats with named columns: whether files must have the columns of training. By default, those without any
            of them or without a column of numbers are invalid, and a warning names other differences.

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
        check_choice("method", method, STREAM_METHODS)

        def answer(matrix: Any, learner: AnyClasses) -> Any:
            return self._apply(method, matrix, learner)

        yield from self._predict_stream(paths, answer, strict, options)

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def classes_(self) -> np.ndarray:
        if "_class_order" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted; call fit or partial_fit first")
        return self._class_order.classes

    @property
    def _is_multilabel(self) -> bool:
        return self.learner_.task.multilabel

    @property
    def mistakes_(self) -> int:
        return self._fitted.mistakes
