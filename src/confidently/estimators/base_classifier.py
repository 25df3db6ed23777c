"""What all classifiers that learn online share: their labels, and what they predict of arrays and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..arrays import predicted_numbers
from ..data.advice import warn_if_labels_sorted
from ..data.class_order import ClassOrder
from ..data.classes import ClassTable
from ..data.memory.labels import (
    check_labels,
    class_numbers,
    class_weights,
    distinct_numbers,
    is_multilabel,
    known_classes,
    known_labels,
    labels_of_rows,
    plain,
)
from ..data.warning import warn
from ..models.model import Model
from ..rules.ranges import UNIT, check_choice, check_number
from .conformal_classifier import AnyClasses, ConformalClassifier
from .rows import Labels, separated

STREAM_METHODS = (
    "predict", "predict_proba", "decision_function", "margin_distribution", "predict_set", "abstain", "novelty"
)  # fmt: skip


class BaseOnlineClassifier(ClassifierMixin, ConformalClassifier[AnyClasses]):
    """Base of the classifiers.

    Attributes
    ----------
    learner_ : Learner or Stack
    classes_ : ndarray of shape (n_classes,)
        Sorted. Scores, probabilities and coefficients are in this order, whatever the numbers in ``learner_``.
    """

    # --- training on arrays --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **reading: Any) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d); list of n dicts or of n texts
            Finite numbers. Frames of pandas, Polars and Arrow may also have strings, categories, dates, booleans and
            missing values: these, and dicts and texts, are learned as the rows of Parquet, JSON lines and text are.
        y : array of shape (n,), or indicator matrix of shape (n, n_labels); str
            Classes (numbers or strings, two or more), or the labels of multilabel data. The name of the column of
            ``X`` that has them, which later frames may have or not.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. The rules "pa",
            "cw_stdev", "cw_var", "cellip", "iellip" and "iellip_margin" meet a constraint instead: for them weights
            above 1 act as 1.
        **reading
            How rows of frames, dicts and texts become features, in the first call: a ``schema`` (of
            :class:`confidently.data.Schema`, or a file that ``look --save`` wrote), or keywords of
            :class:`confidently.data.ReaderOptions`, such as ``ngrams=(1, 2)``, ``text="note"``, ``category="zip"``,
            ``dates``, ``missing`` or ``drop``. By default it is inferred.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.

        Warns
        -----
        confidently.data.DataWarning
            If rows are sorted by class and not shuffled; if a column looks like an id or a timestamp, or makes up
            nearly all of the squared length of the rows.
        confidently.CostWarning
            If a full covariance of several classes will take longer than half a minute, as the first rows show.
        """
        return self._learn(X, y, sample_weight, reading=reading)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, predicted: Any = None, **reading: Any
    ) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight, **reading
            As in :meth:`fit`.
        classes : array, optional
            All possible classes. Without them, classes are added as they appear, the first two in the first call. New
            ones start at the prior; ``classes_`` stays sorted, so the columns of others may move.
        predicted : array of shape (n, n_classes), optional
            For labels that come late: what :meth:`predict_proba` returned for these rows when they came, with a column
            per class of ``classes_`` before this call. :meth:`predict_set` and :meth:`abstain` then learn how good
            those predictions were, and not those of the model as it is now, which has learned more. Of use if labels
            are some hundred rows late, and in a stack, which follows the last rows closely, from ten rows on.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input, or rows of other classes than ``classes``; the estimator is then unchanged.
        """
        return self._learn(X, y, sample_weight, classes, partial=True, predicted=predicted, reading=reading)

    _check_labels = staticmethod(check_labels)

    def _numbered(self, y: Any, classes: Any, first: bool, partial: bool) -> Labels:
        multilabel = is_multilabel(y)
        if not first and multilabel != self._is_multilabel:
            raise ValueError("y changed between one class per row and an indicator matrix of labels")
        start = None
        if multilabel:
            known = known_labels(y, None if first else self._class_order.by_number)
            labels, start = labels_of_rows(y if first else self._class_order.labels_by_number(y))
        else:
            y = y if y.ndim == 1 else column_or_1d(y, warn=True)
            known, labels = self._classes_of_rows(y, classes, first, partial)
        weights = class_weights(self.class_weight, known, y, multilabel)
        return Labels(len(known), labels, {"label_start": start, "class_weight": weights}, multilabel, known)

    def _first_table(self, labels: Labels, names: list[Any]) -> ClassTable:
        return ClassTable(names, labels.multilabel)

    def _classes_of_rows(
        self, y: np.ndarray, classes: Any, first: bool, partial: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return all classes, the known ones first, and the number of each row's."""
        seen, numbers = distinct_numbers(y)
        order = None if first else self._class_order
        if order is not None and classes is None and (own := order.numbers_of(seen)) is not None:
            return order.by_number, own[numbers]
        known = known_classes(seen, classes, None if order is None else order.by_number, partial)
        return known, numbers if np.array_equal(known, seen) else class_numbers(seen, known)[numbers]

    def _keep_classes(self, names: Any) -> None:
        if "_class_order" not in vars(self) or names is not self._class_order.by_number:
            self._class_order = ClassOrder(names)

    def _advise(self, labels: Labels, partial: bool) -> None:
        if not labels.multilabel:
            warn_if_labels_sorted(labels.numbers, partial)

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, data: Any, classes: Any = None, progress: bool = False, **options: Any) -> Self:
        """Train from scratch, in one pass over files, a frame, dicts or a stream.

        Parameters
        ----------
        data : path or list of paths, data frame, list of dicts, or Stream
            As for :func:`confidently.data.open_stream`, with the labels. Rows are scaled, or numbers standardized, as
            ``confidently train`` does for such an estimator, unless ``options`` have ``normalize`` or ``zeros``; those
            of a :class:`confidently.data.Stream`, from which nothing has been read, are as it reads them.
        classes : sequence, optional
            All possible classes; by default they are added as they appear.
        progress : bool
            Show a progress bar on standard error or, in a notebook, below the cell.
        options
            As for :func:`confidently.data.open_stream`, such as ``label="click"``.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters or options, other data, or data with one class only.

        Examples
        --------
        >>> import tempfile
        >>> from confidently import OnlineClassifier
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("spam\\tfree money now\\nham\\tsee you at noon\\n" * 20)
        ...     file.flush()
        ...     classifier = OnlineClassifier("arow").fit_stream(file.name)
        ...     [list(found) for found in classifier.predict_stream([file.name])][0][:2]
        [np.str_('spam'), np.str_('ham')]
        """
        return self._learn_stream(data, progress, options, classes)

    def _table_of(self, targets: bool, multilabel: bool, classes: Any) -> ClassTable:
        if targets:
            raise ValueError("the stream has targets, not classes; open it without targets, or use OnlineRegressor")
        names = [] if classes is None else [plain(name) for name in classes]
        return ClassTable(names, multilabel, closed=classes is not None)

    def _label_options(self) -> dict[str, Any]:
        return {"multilabel": self._is_multilabel}

    # --- files ---------------------------------------------------------------------------------------------------

    def _output_names(self) -> list[Any]:
        return [plain(c) for c in self._class_order.names]

    def _take_model(self, model: Model) -> Self:
        self._class_order = ClassOrder(model.classes)
        return super()._take_model(model)

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
        return self._scored("decision_function", X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class, shape (n,); in multilabel data an indicator matrix (n, n_labels).

        Labels are those with a probability above half of the progressive F1, which is where the F1 is largest. With
        ``calibration=None``, the class with the largest score, and labels with a positive score.
        """
        return self._scored("predict", X)

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
        return self._scored("margin_distribution", X)

    def predict_proba(self, X: Any, shares: Any = None) -> NDArray[np.float64]:
        """Return the probabilities of the classes, shape (n, n_classes); in multilabel data, of each label by itself.

        With ``calibration="progressive"`` the sigmoid (two classes, labels) or temperature (three or more classes) and
        a monotone correction of it are fitted during training, to each margin before its label is used. With None they
        are the uncalibrated posterior probabilities.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
        shares : array of shape (n_classes,), optional
            The shares of ``classes_`` among these rows, if they are not those of training (as :meth:`class_shares`
            estimates them). Each probability changes by the ratio of its class's shares.
        """
        p: NDArray[np.float64] = self._scored("predict_proba", X)
        return p if shares is None else self._shifted(p, shares)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            p: NDArray[np.float64] = np.log(self.predict_proba(X))
        return p

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of :meth:`predict`; ``y`` as in :meth:`fit`."""
        return super().score(*separated(X, y, self._encodes), sample_weight)

    def _apply(self, method: str, matrix: Any, learner: AnyClasses | None = None) -> Any:
        """Return what a method gives for rows, by this classifier's learner or by one with more features."""
        learner = self._learner_for(matrix) if learner is None else learner
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
        if learner.finds_best and order.is_sorted:
            return order.classes[learner.predict(matrix, self.calibration)]
        scores = order.scores(learner.decision(matrix), binary)
        if learner.task.multilabel:
            return (scores > 0).astype(int)
        if scores.ndim == 1:
            return order.classes[(scores > 0).view(np.int8)]
        return order.classes[predicted_numbers(scores)]

    def predict_stream(
        self, paths: Any, method: str = "predict", *, coverage: float = 0.9, by_class: bool = True,
        risk: float = 0.01, strict: bool = False, **options: Any,
    ) -> Iterator[Any]:  # fmt: skip
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known. Labels are
            ignored.
        method : {"predict", "predict_proba", "decision_function", "margin_distribution", "predict_set", "abstain", \
"novelty"}
            What to compute. The weights of unseen features have mean 0 and the prior variance.
        coverage, by_class
            Of "predict_set": as for :meth:`predict_set`.
        risk : float
            Of "abstain": as for :meth:`abstain`.
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
        ValueError, TypeError
            For invalid arguments, and as :meth:`predict_set` and :meth:`abstain` do.
        """
        check_is_fitted(self)
        check_choice("method", method, STREAM_METHODS)
        check_number("predict_stream", "coverage", coverage, UNIT)
        if method == "predict_set" and (text := self._calibrated("predict_set").warning(coverage, by_class)):
            warn(f"predict_set: {text}")
        if method == "predict_set":
            self._warn_of_doubt(method)
        least = self._least_probability(risk) if method == "abstain" else 0.0
        if method == "novelty":
            self._check_calibrated(method)

        groups = self.learner_.groups if method == "predict_set" else None

        def answer(matrix: Any, learner: AnyClasses, values: list[str] | None) -> Any:
            if method == "predict_set":
                return self._sets(matrix, learner, values, coverage, by_class)
            if method == "abstain":
                return self._apply("predict_proba", matrix, learner).max(axis=1) < least
            if method == "novelty":
                return learner.novelty(matrix)
            return self._apply(method, matrix, learner)

        yield from self._predict_stream(paths, answer, strict, options, groups)

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
    def mistakes_(self) -> int:
        return self._fitted.mistakes
