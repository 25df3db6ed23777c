"""What all regressors that learn online share: their targets, and what they predict of arrays and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..data.classes import ClassTable
from ..data.memory.plain import is_plain_targets
from ..data.warning import warn
from ..learner.learner import Learner
from ..learner.recipe import one_output
from ..models.model import Model
from ..rules.ranges import UNIT, check_choice, check_number
from ..stack.number_stack import NumberStack
from ..tasks.targets import Bounds, Prediction, Targets, check_bounds
from .conformal import ConformalEstimator
from .rows import Labels, separated

AnyRegression = TypeVar("AnyRegression", bound=Learner | NumberStack)


class BaseOnlineRegressor(RegressorMixin, ConformalEstimator[AnyRegression]):
    """Base of the regressors.

    Attributes
    ----------
    learner_ : Learner or Stack
    """

    predicts_numbers = True
    _validation_of_y: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}
    stream_methods: ClassVar[tuple[str, ...]] = ("predict", "predict_std", "predict_interval", "novelty")
    _is_plain_y = staticmethod(is_plain_targets)
    _one_dimensional = True  # whether targets have one dimension
    bounds: Bounds | None

    def _check_bounds(self) -> None:
        """Raise ``ValueError`` if training continues with other bounds."""
        if check_bounds(self.bounds) != (before := self.learner_.targets.said):
            raise ValueError(
                f"bounds cannot change after training has begun, from {before} to {self.bounds}; call fit to train "
                "from scratch, or restore them"
            )

    # --- training on arrays --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **reading: Any) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d); list of n dicts or of n texts
            Finite numbers. Frames of pandas, Polars and Arrow may also have strings, categories, dates, booleans and
            missing values: these, and dicts and texts, are learned as the rows of Parquet, JSON lines and text are.
        y : array of shape (n,) or (n, n_outputs); str
            Finite numbers; counts >= 0 for ``rule="poisson"``. The name of the column of ``X`` that has them, which
            later frames may have or not.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. With "ridge", a row of
            weight 2 counts as two equal rows.
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
            If a column looks like an id or a timestamp, or makes up nearly all of the squared length of the rows.
        """
        return self._learn(X, y, sample_weight, reading=reading)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, **reading: Any) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight, **reading
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.
        """
        return self._learn(X, y, sample_weight, partial=True, reading=reading)

    def _numbered(self, y: Any, classes: Any, first: bool, partial: bool) -> Labels:
        if y.ndim == 2 and y.shape[1] == 1 and not self.__sklearn_tags__().target_tags.multi_output:
            y = column_or_1d(y, warn=True)
        targets = np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)
        n = targets.shape[1]
        if first:
            self._one_dimensional = y.ndim == 1
        elif n != (expected := self.learner_.n_classes):
            raise ValueError(f"y has {n} numbers per row, the regressor was trained on {expected}")
        return Labels(n, np.zeros(len(y), dtype=np.int32), {"targets": targets})

    def _first_table(self, labels: Labels, names: list[Any]) -> ClassTable:
        return ClassTable(range(labels.n), multilabel=True, closed=True)

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, data: Any, progress: bool = False, **options: Any) -> Self:
        """Train from scratch, in one pass over files, a frame, dicts or a stream.

        With ``covariance="auto"`` the columns of the first 1,000 rows decide.

        Parameters
        ----------
        data : path or list of paths, data frame, list of dicts, or Stream
            As for :func:`confidently.data.open_stream`, with the targets. Tables of numbers are read as they are,
            unless ``options`` have ``normalize`` or ``zeros``; rows of a :class:`confidently.data.Stream`, which was
            opened with ``targets=True`` and from which nothing has been read, are as it reads them.
        progress : bool
            Show a progress bar on standard error or, in a notebook, below the cell.
        options
            As for :func:`confidently.data.open_stream`, such as ``label="price"``.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters or options, or other data.

        Examples
        --------
        >>> import tempfile
        >>> from confidently import OnlineRegressor
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("label,a\\n" + "".join(f"{2.5 * a + 1},{a}\\n" for a in range(50)))
        ...     file.flush()
        ...     model = OnlineRegressor(prior_variance=1e6).fit_stream(file.name)
        ...     [found] = model.predict_stream(file.name)
        >>> found[:3].round(3).tolist()
        [1.0, 3.5, 6.0]
        """
        return self._learn_stream(data, progress, options)

    def _table_of(self, targets: bool, multilabel: bool, classes: Any) -> ClassTable:
        if not targets:
            raise ValueError("the stream has classes, not targets; open it with targets=True")
        self._one_dimensional = True
        return one_output()

    def _label_options(self) -> dict[str, Any]:
        if self.learner_.n_classes > 1:
            raise ValueError(f"rows of files have one target, the regressor has {self.learner_.n_classes} outputs")
        return {"targets": True}

    # --- files ---------------------------------------------------------------------------------------------------

    def _output_names(self) -> list[Any]:
        return list(range(self.learner_.n_classes))

    def _take_model(self, model: Model) -> Self:
        self._one_dimensional = model.learner.n_classes == 1 and model.estimator.get("one_dimensional", True)
        return super()._take_model(model)

    # --- prediction ----------------------------------------------------------------------------------------------

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
            return self._shaped(self._answer(lambda matrix: self._learner_for(matrix).numbers(matrix), X))
        found = self._predicted(X)
        return self._shaped(found.mean), self._shaped(self._deviations(found))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R2 of :meth:`predict`; ``y`` as in :meth:`fit`."""
        return super().score(*separated(X, y, self._encodes), sample_weight)

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

        Raises
        ------
        ValueError, TypeError
            For another ``coverage``; for rows without the column ``coverage_by``.

        Warns
        -----
        confidently.data.DataWarning
            If fewer errors count than 1/(1 - coverage) - 1, or those of a value of ``coverage_by`` and of all rare
            values together; limits are then infinite.

        Notes
        -----
        With ``calibration="progressive"``, they are quantiles of the standardized errors of the predictions made in
        training, the last few thousand of which count most. With ``coverage_by``, they are those of the rows with the
        same value in that column, or with any value of which fewer than 9 rows count, above .9 fewer than 19, above .95
        49, and so on. Limits of a higher coverage enclose those of a lower one.
        """
        check_number("predict_interval", "coverage", coverage, UNIT)
        if self._fitted.groups is None:
            values, found = None, self._predicted(X)
        else:
            matrix, values = self._matrix_and_values(X)
            found = self._learner_for(matrix).number_distribution(matrix)
        if shortage := self._shortage(coverage, values):
            warn(f"predict_interval: {shortage}")
        return self._intervals(found, coverage, values)

    def _shortage(self, coverage: float, values: list[str] | None = None) -> str | None:
        """Return why limits of intervals are infinite, as text; None if they are not."""
        return self._fitted.interval_shortage(coverage, self.calibration is not None, values)

    def _predicted(self, X: Any) -> Prediction:
        return self._answer(lambda matrix: self._learner_for(matrix).number_distribution(matrix), X)

    def _deviations(self, found: Prediction) -> NDArray[np.float64]:
        return self._fitted.number_deviations(found, self.calibration is not None)

    def _intervals(self, found: Prediction, coverage: float, values: list[str] | None) -> NDArray[np.float64]:
        limits: NDArray[np.float64] = self._fitted.intervals(found, coverage, self.calibration is not None, values)
        return limits[:, 0] if self._one_dimensional else limits

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
            "predict_interval"; "novelty"; with one Gaussian also "margin_distribution". The weights of unseen features
            have mean 0 and the prior variance.
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

        if method == "novelty":
            self._check_calibrated(method)
        if method == "predict_interval" and (shortage := self._shortage(coverage)):
            warn(f"predict_stream: {shortage}")

        def answer(matrix: Any, learner: AnyRegression, values: list[str] | None) -> Any:
            if method == "novelty":
                return learner.novelty(matrix)
            return self._apply(method, matrix, learner, coverage, values)

        groups = self.learner_.groups if method == "predict_interval" else None
        yield from self._predict_stream(paths, answer, strict, options, groups)

    def _apply(
        self,
        method: str,
        matrix: Any,
        learner: AnyRegression,
        coverage: float,
        values: list[str] | None = None,
    ) -> Any:
        """Return what a method gives for rows, by this regressor's learner with perhaps more features."""
        found = learner.number_distribution(matrix)
        if method == "predict_interval":
            return self._intervals(found, coverage, values)
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

    def _shaped(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return numbers (n, n_outputs) in the shape of the targets."""
        return numbers[:, 0] if self._one_dimensional else numbers

    def _of_outputs(self, numbers: NDArray[Any]) -> Any:
        """Return one entry per output in the shape of one target: of one output, the entry itself."""
        if not self._one_dimensional:
            return numbers
        return float(numbers[0]) if numbers.ndim == 1 else numbers[0]
