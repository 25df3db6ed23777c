"""What all estimators that learn online share: training on arrays and rows of them, over frames and streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Batch
from ..data.column_advice import warn_of_array_columns
from ..data.memory.frames import as_table, describe_columns, is_frame
from ..data.memory.labels import example_weights, training_of
from ..data.memory.matrix import UnsortedColumns, as_matrix, without_missing
from ..data.memory.plain import is_plain_matrix
from ..data.memory.validation import validated
from ..data.selection import joined
from ..data.sources.in_memory import InMemory
from ..learner.centering import rows_to_center
from ..learner.cost import warn_of_cost
from ..learner.learner import Learner
from ..learner.streams import StreamLearner, with_unseen_combined
from .groups import kept, new_groups, values_of_array
from .held import averages, held_rows, judge_held, learn_held
from .model_estimator import AnyLearner
from .parameters import are_constant, are_the_same, nested_params, parameters_of, set_nested
from .passing import passes_of
from .row_estimator import RowEstimator
from .rows import NOTHING_SAID, Labels, check_first, rows_of, rows_to_learn, rows_to_read, source_of_vectors


class OnlineEstimator(RowEstimator[AnyLearner]):
    """Base of the estimators.

    Attributes
    ----------
    learner_ : Learner or Stack
    """

    # --- training on arrays --------------------------------------------------------------------------------------

    def _learn(
        self, X: Any, y: Any, sample_weight: Any, classes: Any = None, partial: bool = False, predicted: Any = None,
        reading: Mapping[str, Any] = NOTHING_SAID,
    ) -> Self:  # fmt: skip
        """Train on rows, from scratch unless ``partial``."""
        with training_of(self):
            if not partial:
                self._forget()
            first = "learner_" not in vars(self)
            check_first(reading, first)
            if isinstance(y, str) or reading or not is_plain_matrix(X):
                source = None if first else vars(self).get("source_", {})
                found = rows_to_learn(X, y, source, self._encodes, bool(reading))
                if found is not None:
                    return self._learn_rows(found, sample_weight, classes, first, partial, predicted, reading)
            parameters = parameters_of(self)
            followed = not first and self._has_followed(parameters)
            if not followed:
                self._check_parameters(partial)
            self._check_labels(y)
            X, y = self._validated(X, y, reset=first, **self._validation_of_y)
            labels = self._numbered(y, classes, first, partial)
            if predicted is not None:
                labels = labels._replace(predicted=self._late(predicted, X.shape[0]))
            matrix = as_matrix(X, self.dtype, check=False)
            if sample_weight is not None:
                labels.options["weight"] = example_weights(sample_weight, matrix.shape[0], partial)
            if first and (encoder := self._encoder()) is not None:
                self.source_ = source_of_vectors(encoder.info, X.shape[1])
            if first:
                self._averages = not partial and self._averages_rows(X.shape[0])
                self.learner_ = self._fresh_learner(X, labels.n, labels.multilabel)
                names = getattr(self, "feature_names_in_", None)
                warn_of_array_columns(X, names, viewed=self.learner_.wants_columns)
            elif not followed:
                self._follow_parameters()
            following, passes = self.learner_, 1 if partial else self._passes(matrix.shape)
            shuffle = self._shuffles(labels, partial)
            self.learner_.shuffled, self.learner_.passes = shuffle, passes
            self.learner_.pass_rows = math.inf if partial else matrix.shape[0]
            if not partial:
                targets, weight = (labels.options.get(name) for name in ("targets", "weight"))
                try:
                    self.learner_.prepare(matrix, targets=targets, weight=weight)
                except UnsortedColumns:
                    matrix = as_matrix(X, self.dtype)
                    self.learner_.prepare(matrix, targets=targets, weight=weight)
                self.learner_.follow_no_misses()
            if (values := self._values(X)) is not None:
                labels.options["values"] = values
            if first and isinstance(self.learner_, Learner):
                warn_of_cost(self.learner_, matrix, labels.numbers, labels.options.get("label_start"), passes)
            self._run(X, matrix, labels, passes, shuffle, partial)
            if not partial:
                self.learner_.settle(shuffled=shuffle)
                if shuffle and self._centers(labels):
                    rows = rows_to_center(matrix.shape[0])
                    self._center(as_matrix(X[rows], self.dtype), rows, labels)
            self.learner_.undoes, self.learner_.shuffled, self.learner_.pass_rows = True, False, math.inf
            if partial and not followed:
                self._follows(following, parameters)
            return self

    def _fresh_learner(self, X: Any, n_outputs: int, multilabel: bool) -> AnyLearner:
        """Return an untrained learner of rows, which an error in its first training throws away."""
        learner = self._new_learner(X.shape[1], n_outputs, multilabel, self._default_view(X))
        learner.undoes = not isinstance(learner, Learner)
        learner.groups = new_groups(self.coverage_by, learner.task)
        return learner

    def _values(self, X: Any) -> list[str] | None:
        """Return the values of rows of an array in the column by which sets cover, if there is one."""
        groups = self.learner_.groups
        return None if groups is None else values_of_array(X, groups, getattr(self, "feature_names_in_", None))

    def _run(self, X: Any, matrix: Any, labels: Labels, passes: int, shuffle: bool, partial: bool) -> None:
        """Make the passes; rows are checked during training where that is possible."""
        if isinstance(X, StreamLearner):
            return super()._run(X, matrix, labels, passes, shuffle, partial)
        learner, generator = self.learner_, check_random_state(self.random_state)
        if labels.n > learner.n_classes:
            matrix = as_matrix(X, self.dtype)
            learner = self.learner_ = copy(learner)  # of which an error restores the old one
            learner.grow(n_classes=labels.n, multiclass=self.multiclass)
        n = matrix.shape[0]
        order = generator.permutation(n) if shuffle else None
        held = held_rows(n, passes, order, not partial and averages(learner)) if self._calibrates else None
        kept = None if held is None else np.isin(np.arange(n), held, assume_unique=True, invert=True)
        in_pass = n if held is None else n - len(held)
        for number, progress in passes_of(self, lambda: self.learner_.mistakes, in_pass, passes):
            if number and shuffle:
                order = generator.permutation(n)
            options = labels.options | {
                "order": _of_pass(order, kept),
                "calibrate": number == 0 and self._calibrates,
                "progress": progress,
            }
            try:
                learner.learn(matrix, labels.numbers, **options)
            except UnsortedColumns:
                matrix = as_matrix(X, self.dtype)
                if not learner.undoes:
                    learner = self.learner_ = self._fresh_learner(X, labels.n, labels.multilabel)
                learner.learn(matrix, labels.numbers, **options)
        if held is not None:
            self._learn_held(X, matrix, labels, held, in_pass)
        self._keep_classes(labels.classes)

    def _learn_held(self, X: Any, matrix: Any, labels: Labels, held: np.ndarray, kept: int) -> None:
        """Train on rows that all passes have left out, which calibrate."""
        learner, calibrates = self.learner_, True
        if isinstance(learner, Learner) and averages(learner):
            judge_held(learner, as_matrix(X[held], self.dtype), labels, held, kept)
            calibrates = False
        options = labels.options | {"order": held, "calibrate": calibrates}
        learn_held(learner, lambda one: one.learn(matrix, labels.numbers, **options), len(held), kept, calibrates)

    # --- rows ----------------------------------------------------------------------------------------------------

    def _matrix(self, X: Any) -> Any:
        """Return rows, perhaps with one column more than training had, which stands for all that were not there."""
        if not is_plain_matrix(X) and (rows := self._rows_to_read(X)) is not None:
            return self._matrix_of_rows(rows)
        return as_matrix(self._validated_rows(X), self.dtype)

    def _matrix_and_values(self, X: Any) -> tuple[Any, list[str] | None]:
        """Return rows as :meth:`_matrix` does, and their values in the column by which sets cover, if there is one."""
        groups = self.learner_.groups
        if groups is not None and not is_plain_matrix(X) and (rows := self._rows_to_read(X)) is not None:
            with self._open(rows, ignore_labels=True, freeze=True, keep=kept(groups.column)) as stream:
                batch = joined(list(stream))
            return self._known(batch), list(batch.kept[str(groups.column)])
        return self._matrix(X), None if groups is None else self._values(self._validated_rows(X))

    def _rows_to_read(self, X: Any) -> InMemory | None:
        check_is_fitted(self)
        return rows_to_read(X, vars(self).get("source_", {}), self._encodes)

    def _matrix_of_rows(self, rows: InMemory) -> Any:
        with self._open(rows, ignore_labels=True, freeze=True) as stream:
            return self._known(joined(list(stream)))

    def _known(self, batch: Batch) -> Any:
        """Return the rows of a batch, their unseen features combined into one column."""
        known = self.learner_.n_features
        return batch.matrix if batch.n_columns <= known else with_unseen_combined(batch, known)

    def _learner_for(self, matrix: Any) -> AnyLearner:
        """Return the learner, with room for the columns of :meth:`_matrix`."""
        if matrix.shape[1] <= self.learner_.n_features:
            return self.learner_
        learner = self._copied_learner()
        learner.grow(n_features=matrix.shape[1])
        return learner

    def _answer(self, answer: Callable[[Any], Any], X: Any) -> Any:
        """Return what a function gives for rows, which are checked while they are scored where that is possible."""
        if not is_plain_matrix(X) and (rows := self._rows_to_read(X)) is not None:
            return answer(self._matrix_of_rows(rows))
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
            found = validated(self, X, *y, **own, **options)
            if not is_frame(X):
                return found
            return (without_missing(found[0]), *found[1:]) if y else without_missing(found)
        except (TypeError, ValueError) as error:
            better: Exception = describe_columns(error, X)
            if not y and (source := vars(self).get("source_")):
                better = ValueError(f"X must be as in training, {rows_of(source)}: {better}")
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

    # --- scikit-learn --------------------------------------------------------------------------------------------

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``rule__r=0.1`` changes one of the rule's, ``view__n=500`` one of the view's."""
        super().set_params(**set_nested(self, params))
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` also the rule's and the view's, as ``rule__...``."""
        params: dict[str, Any] = super().get_params(deep=False)
        return params | (nested_params(self) if deep else {})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _of_pass(order: np.ndarray | None, kept: np.ndarray | None) -> np.ndarray | None:
    """Return the rows of a pass in their order, of which only some may be kept; ``None``: all, in their own order."""
    if kept is None:
        return order
    return np.flatnonzero(kept) if order is None else order[kept[order]]
