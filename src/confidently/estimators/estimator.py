"""What all estimators that learn online share: validation of rows, and files, over a learner."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import Stream
from ..data.memory.frames import as_table, describe_columns
from ..data.memory.labels import training_of
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..data.memory.plain import is_plain_labels, is_plain_matrix
from ..learner.learner import Learner
from ..learner.streams import StreamLearner, StreamPredictor
from ..models.model import Model
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from .parameters import are_constant, are_the_same, nested_params, set_nested
from .streams import open_as_before

AnyLearner = TypeVar("AnyLearner", bound=Learner | Stack | NumberStack)


class OnlineEstimator(BaseEstimator, Generic[AnyLearner]):
    """Base of the estimators.

    Attributes
    ----------
    learner_ : Learner or Stack
    """

    learner_: AnyLearner
    n_features_in_: int

    _is_plain_y = staticmethod(is_plain_labels)  # whether labels or targets need no validation by scikit-learn
    dtype: str

    def as_model(self) -> Model:
        """Return the learner and the meaning of its numbers, which is all that is saved."""
        raise NotImplementedError

    # --- rows ----------------------------------------------------------------------------------------------------

    def _matrix(self, X: Any) -> Any:
        return as_matrix(self._validated_rows(X), self.dtype)

    def _answer(self, answer: Callable[[Any], Any], X: Any) -> Any:
        """Return what a function gives for rows, which are checked while they are scored where that is possible."""
        X = self._validated_rows(X)
        try:
            return answer(as_matrix(X, self.dtype, check=False))
        except UnsortedColumns:
            return answer(as_matrix(X, self.dtype))

    def _validated_rows(self, X: Any) -> Any:
        if "learner_" not in vars(self):
            check_is_fitted(self)
        return self._validated(X, reset=False)

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return what scikit-learn makes of X (and y); the values are checked during training."""
        if is_plain_matrix(X) and all(self._is_plain_y(labels, X.shape[0]) for labels in y):
            if options["reset"]:
                self.__dict__.pop("feature_names_in_", None)
                self.n_features_in_ = X.shape[1]
            if self._is_as_before(X):
                return (X, *y) if y else X
        X = as_table(X)
        own = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        try:
            return validate_data(self, X, *y, **own, **options)
        except (TypeError, ValueError) as error:
            better = describe_columns(error, X)
            if better is error:
                raise
            raise better from error

    def _is_as_before(self, X: Any) -> bool:
        """Return whether a plain X has the columns of training, by number, and needs no other validation."""
        own = vars(self)
        return "feature_names_in_" not in own and X.shape[1] == own.get("n_features_in_")

    def _has_followed(self, parameters: tuple[Any, ...]) -> bool:
        """Return whether ``partial_fit`` has continued this very learner with these very parameters before."""
        learner, before = self.__dict__.get("_followed", (None, ()))
        return learner is self.learner_ and are_the_same(before, parameters)

    def _follows(self, learner: AnyLearner, parameters: tuple[Any, ...]) -> None:
        """Note that ``partial_fit`` continues this learner with these parameters, which saves checking them again."""
        if are_constant(self, parameters):
            self._followed = learner, parameters

    # --- files of rows -------------------------------------------------------------------------------------------

    def _open(self, paths: Any, **options: Any) -> Stream:
        """Open files that are read as those of training were."""
        source, features = getattr(self, "source_", {}), getattr(self, "features_", None)
        return open_as_before(paths, source, features, self.dtype, **options)

    def partial_fit_stream(self, paths: Any, *, progress: bool = False, **options: Any) -> Self:
        """Train on more files, which are read as those of ``fit_stream`` were.

        Classifiers add new classes as they appear, unless ``fit_stream`` was given all of them; they are then errors.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except for how rows are read, which is known.
        progress : bool
            As for ``fit_stream``.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For invalid data; the estimator is then unchanged.
        """
        check_is_fitted(self)
        with training_of(self), self._open(paths, **self._label_options(), **options) as stream:
            return self._continue_stream(stream, progress)

    def _label_options(self) -> dict[str, Any]:
        """Return how labels of files are read."""
        raise NotImplementedError

    def _continue_stream(self, stream: Stream, progress: bool) -> Self:
        """Train a fitted estimator on an open stream."""
        raise NotImplementedError

    def _predict_stream(
        self, paths: Any, answer: Callable[[Any, AnyLearner], Any], strict: bool, options: dict[str, Any]
    ) -> Iterator[Any]:
        """Yield what a function gives for rows and a learner, which has room for unseen features, batch by batch."""
        learner = copy(self.learner_)
        learner.state = dict(learner.state)  # StreamPredictor makes room in it for unseen features
        answering = StreamPredictor(learner)
        with self._open(paths, ignore_labels=True, freeze=True, strict=strict, **options) as stream:
            for batch in stream:
                yield answer(answering.matrix(batch), learner)

    def _keep_stream(self, stream: Stream, learning: StreamLearner) -> Self:
        """Keep what was learned of a stream, and how it was read."""
        self.learner_ = learning.learner
        self.n_features_in_ = learning.learner.n_features
        self.source_ = {**stream.reading.as_dict(), "closed": learning.classes.closed}
        if learning.features is not None:
            self.features_ = learning.features
        return self

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__r=0.1`` changes one of the rule's, ``view__n=500`` one of the view's."""
        super().set_params(**set_nested(self, params))
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also the rule's and the view's, as ``rule__...``."""
        params: dict[str, Any] = super().get_params(deep=False)
        return params | (nested_params(self) if deep else {})

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def _fitted(self) -> AnyLearner:
        if "learner_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted; call fit or partial_fit first")
        return self.learner_

    @property
    def n_seen_(self) -> int:
        return self._fitted.n_seen

    # --- files ---------------------------------------------------------------------------------------------------

    def _feature_names(self) -> list[str] | None:
        """Return the names of all columns, if each has one."""
        if (features := getattr(self, "features_", None)) is not None:
            return list(features.names) if features.n_named == len(features) else None
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; see :func:`confidently.load`.

        The file is written under a temporary name and renamed: it is complete or absent. Training that continues after
        :func:`load` is bit for bit the same as training without the interruption.
        """
        self.as_model().save(path)
