"""Predictions of models of entities: the shared model's, corrected by what the entity of the row deviates by."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import _core
from ..data import Batch
from ..estimators.rows import separated
from ..rules.ranges import UNIT, check_number
from ..wording import counted
from .fitted import FittedEntities, Floats
from .inputs import in_memory
from .keys import Key, without_key
from .scores import Expected, Scores, intervals, margins, numbers, probabilities, scores_of

TOO_FEW = "too few rows for intervals, which are infinite: the model has seen {}"


def _classifies(estimator: EntityPredictor) -> bool:
    return not estimator._regression


def _predicts_numbers(estimator: EntityPredictor) -> bool:
    return estimator._regression


class EntityPredictor(FittedEntities):
    """Base of models of entities: predictions of rows in memory and of files."""

    def predict(self, X: Any, key: Any = None, return_std: bool = False) -> Any:
        """Return the most probable class of each row, or the expected number, shape (n,).

        Parameters
        ----------
        X, key
            As in :meth:`fit`. Unknown keys are entities at the prior: the shared model predicts their rows.
        return_std : bool
            Of numbers only: whether to return standard deviations of the targets around them, too.
        """
        check_is_fitted(self)
        if not self._regression:
            if return_std:
                raise ValueError("return_std is for numbers; use margin_distribution")
            return self.classes_[self.predict_proba(X, key).argmax(axis=1)]
        mean, variance = numbers(self._table, self._scored(X, key))
        return (mean, np.sqrt(variance)) if return_std else mean

    @available_if(_predicts_numbers)  # type: ignore[untyped-decorator]
    def predict_interval(self, X: Any, coverage: float = 0.9, key: Any = None) -> Floats:
        """Return central intervals that contain the targets with a probability.

        Parameters
        ----------
        X, key
            As in :meth:`predict`.
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper limits; infinite, with a warning, before there are enough rows.
        """
        check_is_fitted(self)
        check_number("predict_interval", "coverage", coverage, UNIT)
        found = intervals(self._table, *numbers(self._table, self._scored(X, key)), coverage)
        if np.isinf(found).any():
            warnings.warn(TOO_FEW.format(counted(self._rows, "row")), stacklevel=2)
        return found

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, key: Any = None) -> Floats:
        """Return the probabilities of ``classes_``, shape (n, n_classes); parameters as in :meth:`predict`."""
        check_is_fitted(self)
        return self._probabilities(self._scored(X, key))

    def _probabilities(self, scores: Any) -> Floats:
        return self.shared_._class_order.columns(probabilities(self._table, scores))

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, key: Any = None) -> Floats:
        """Return log-odds: shape (n,) of ``classes_[1]`` for two classes, otherwise (n, n_classes) of each class."""
        p = self.predict_proba(X, key)
        return logit(p[:, 1] if p.shape[1] == 2 else p)

    def margin_distribution(self, X: Any, key: Any = None) -> tuple[Floats, Floats]:
        """Return mean and variance of the scores under the Gaussians of the shared model and of the entity.

        Returns
        -------
        mean, variance : ndarray
            Of the log-odds, in the shape of :meth:`decision_function`; of numbers, of their expectation without the
            noise, shape (n,). ``|mean|/sqrt(variance)`` is small where the label is worth asking for.
        """
        check_is_fitted(self)
        return self._distribution(self._scored(X, key))

    def _distribution(self, scores: Scores | Expected) -> tuple[Floats, Floats]:
        center, spread = margins(self._table, scores)
        if self._table.outputs == 1:
            return self._sign * center[:, 0], spread[:, 0]
        order = self.shared_._class_order
        return order.columns(center), order.columns(spread)

    def score(self, X: Any, y: Any, key: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy of :meth:`predict`, or R2 of numbers; ``y`` as in :meth:`fit`."""
        if isinstance(y, str):
            X, key = without_key(X, self.key, key, y)
            X, y = separated(X, y)
        measure = r2_score if self._regression else accuracy_score
        return float(measure(y, self.predict(X, key), sample_weight=sample_weight))

    def predict_stream(self, paths: Any, **options: Any) -> Iterator[Floats]:
        """Predict the rows of files batch by batch, in memory that does not grow with the files.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known; with the column
            of keys.

        Yields
        ------
        array
            The probabilities of ``classes_``, shape (n, n_classes); or the mean and the standard deviation of numbers,
            shape (n, 2).
        """
        for _, found in self.predict_batches(paths, **options):
            yield found

    def predict_batches(self, paths: Any, **options: Any) -> Iterator[tuple[Batch, Floats]]:
        """Yield batches, with what is kept of their rows, and what :meth:`predict_stream` yields for them."""
        check_is_fitted(self)
        shared, keep = self.shared_, self._kept(options)
        with shared._open(paths, ignore_labels=True, freeze=True, keep=keep, **options) as stream:
            for batch in stream:
                scores = self._scores_of(shared._known(batch), list(batch.kept[str(self.key)]))
                if self._regression:
                    mean, variance = numbers(self._table, scores)
                    yield batch, np.column_stack([mean, np.sqrt(variance)])
                else:
                    yield batch, self._probabilities(scores)

    def _kept(self, options: dict[str, Any]) -> tuple[str, ...]:
        """Return the columns to keep of files: those of the options, and that of the keys."""
        if self.key is None:
            raise ValueError("there are no keys; name their column, as in EntityModels(key='user')")
        return tuple(dict.fromkeys((*options.pop("keep", ()), self.key)))

    def _scored(self, X: Any, key: Any) -> Scores | Expected:
        shared = self.shared_
        X, keys = without_key(X, self.key, key)
        rows = in_memory(X)
        matrix = shared._matrix(X) if rows is None else shared._matrix_of_rows(rows)
        if matrix.shape[0] != len(keys):
            raise ValueError(f"X has {matrix.shape[0]:,} rows, key has {len(keys):,}; they must have as many")
        return self._scores_of(matrix, keys)

    def _scores_of(self, matrix: _core.Matrix, keys: Sequence[Key]) -> Scores | Expected:
        self._table.check_kind(keys)
        shared = self.shared_
        return scores_of(self._table, shared._learner_for(matrix), shared.calibration, matrix, keys, self._rows)
