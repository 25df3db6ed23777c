"""What all regressors that learn online share: training on arrays and streams, and files, over a learner."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state, column_or_1d

from ..data import Stream
from ..data.column_advice import warn_of_array_columns
from ..data.features import Features
from ..data.memory.labels import example_weights, training_of
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..data.memory.plain import is_plain_targets
from ..data.selection import columns_of_first
from ..learner.recipe import ROWS_TO_CHOOSE, one_output
from ..learner.streams import StreamLearner
from .number_predictions import AnyRegression, NumberPredictions
from .parameters import parameters_of
from .streams import batches_of, check_stream, check_values_kept


class BaseOnlineRegressor(NumberPredictions[AnyRegression]):
    """Base of the regressors, which define what their learner is.

    Attributes
    ----------
    learner_ : Learner or Stack
    """

    _is_plain_y = staticmethod(is_plain_targets)

    passes: int
    shuffle: bool | str
    random_state: int | np.random.RandomState | None

    # --- what a regressor defines --------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an invalid one."""
        raise NotImplementedError

    def _new_learner(self, n_features: int, n_outputs: int, n_columns: int | None = None) -> AnyRegression:
        """Return an untrained learner; ``n_columns``: of the first rows of a stream, whose features are not known."""
        raise NotImplementedError

    def _follow_parameters(self) -> None:
        """Continue with parameters that were changed after the last call, or raise ``ValueError``."""
        raise NotImplementedError

    # --- training ------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Finite numbers.
        y : array of shape (n,) or (n, n_outputs)
            Finite numbers; counts >= 0 for ``rule="poisson"``.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. With "ridge", a row of
            weight 2 counts as two equal rows.

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
        with training_of(self):
            for name in ("learner_", "source_", "features_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, sample_weight, first=not hasattr(self, "learner_"), partial=True)

    def _learn(self, X: Any, y: Any, sample_weight: Any, first: bool, partial: bool = False) -> Self:
        parameters = parameters_of(self)
        followed = partial and not first and self._has_followed(parameters)
        if not followed:
            self._check_parameters()
        X, y = self._validated(X, y, reset=first, multi_output=True, y_numeric=True)
        if y.ndim == 2 and y.shape[1] == 1 and not self.__sklearn_tags__().target_tags.multi_output:
            y = column_or_1d(y, warn=True)
        targets = np.ascontiguousarray(y, dtype=np.float64).reshape(len(y), -1)
        matrix = as_matrix(X, self.dtype, check=False)
        weight = None if sample_weight is None else example_weights(sample_weight, matrix.shape[0], partial)
        if first:
            self.learner_ = self._new_learner(matrix.shape[1], targets.shape[1])
            self._one_dimensional = y.ndim == 1
            names = getattr(self, "feature_names_in_", None)
            warn_of_array_columns(X, names, viewed=self.learner_.wants_columns)
        elif not followed:
            self._follow_parameters()
        if targets.shape[1] != self.learner_.n_classes:
            expected = self.learner_.n_classes
            raise ValueError(f"y has {targets.shape[1]} numbers per row, the regressor was trained on {expected}")
        try:
            self.learner_.prepare(matrix)
        except UnsortedColumns:
            matrix = as_matrix(X, self.dtype)
            self.learner_.prepare(matrix)
        generator = check_random_state(self.random_state)
        for number in range(1 if partial else self.passes):
            order = generator.permutation(matrix.shape[0]) if self.shuffle and not partial else None
            options: dict[str, Any] = {"weight": weight, "order": order, "calibrate": number == 0, "targets": targets}
            labels = np.zeros(matrix.shape[0], dtype=np.int32)
            try:
                self.learner_.learn(matrix, labels, **options)
            except UnsortedColumns:
                matrix = as_matrix(X, self.dtype)
                if not self.learner_.undoes:
                    self.learner_ = self._new_learner(matrix.shape[1], targets.shape[1])
                self.learner_.learn(matrix, labels, **options)
        self.learner_.undoes = True
        if partial and not followed:
            self._follows(self.learner_, parameters)
        return self

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, stream: Stream, progress: bool = False) -> Self:
        """Train from scratch, in one pass over a stream.

        With ``covariance="auto"`` the columns of the first 1,000 rows decide.

        Parameters
        ----------
        stream : Stream
            Of :func:`confidently.data.open_stream` with ``targets=True``, from which nothing has been read. Tables of
            numbers are read as they are, with ``normalize="none", zeros=True``.
        progress : bool
            Show a progress bar on standard error or, in a notebook, below the cell.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError
            For invalid data, with its location; the estimator is then unchanged.
        ValueError, TypeError
            For invalid parameters, or something else than a stream of targets.

        Examples
        --------
        >>> import tempfile
        >>> from confidently import OnlineRegressor
        >>> from confidently.data import open_stream
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("label,a\\n" + "".join(f"{2.5 * a + 1},{a}\\n" for a in range(50)))
        ...     file.flush()
        ...     model = OnlineRegressor(prior_variance=1e6).fit_stream(
        ...         open_stream(file.name, targets=True, normalize="none", zeros=True)
        ...     )
        ...     [found] = model.predict_stream(file.name)
        >>> found[:3].round(3).tolist()
        [1.0, 3.5, 6.0]
        """
        with training_of(self):
            self._check_parameters()
            check_stream(stream, self.passes)
            if not stream.targets:
                raise ValueError("the stream has classes, not targets; open it with targets=True")
            for name in ("learner_", "source_", "features_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
            return self._learn_stream(stream, None, features, progress)

    def _label_options(self) -> dict[str, Any]:
        if self.learner_.n_classes > 1:
            raise ValueError(f"rows of files have one target, the regressor has {self.learner_.n_classes} outputs")
        return {"targets": True}

    def _continue_stream(self, stream: Stream, progress: bool) -> Self:
        self._check_parameters()
        self._follow_parameters()
        return self._learn_stream(stream, deepcopy(self.learner_), deepcopy(getattr(self, "features_", None)), progress)

    def _learn_stream(
        self, stream: Stream, learner: AnyRegression | None, features: Features | None, progress: bool
    ) -> Self:
        with batches_of(stream, progress) as batches:
            if learner is None:
                n_columns, batches = columns_of_first(batches, ROWS_TO_CHOOSE)
                learner = self._new_learner(0, 1, n_columns)
                check_values_kept(learner.view, stream.reading)
                self._one_dimensional = True
            learning = StreamLearner(learner, one_output(), None, features, stream.reading)
            for _ in learning.learn(batches):
                pass
        learner.undoes = True
        return self._keep_stream(stream, learning)
