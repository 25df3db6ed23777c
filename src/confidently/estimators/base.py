"""What all classifiers that learn online share: training on arrays and streams, and files, over a learner."""

from __future__ import annotations

from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..data import Stream
from ..data.advice import warn_if_labels_sorted
from ..data.class_order import ClassOrder
from ..data.classes import ClassTable
from ..data.column_advice import warn_of_array_columns
from ..data.features import Features
from ..data.memory.labels import (
    check_labels,
    class_numbers,
    class_weights,
    distinct_numbers,
    example_weights,
    is_multilabel,
    known_classes,
    known_labels,
    labels_of_rows,
    plain,
    training_of,
)
from ..data.memory.matrix import UnsortedColumns, as_matrix
from ..learner.cost import warn_of_cost
from ..learner.learner import Learner
from ..learner.streams import StreamLearner
from ..learner.tables import view_of_rows, view_of_stream
from ..models.model import Model
from ..views.view import View
from .class_predictions import AnyClasses, ClassPredictions
from .parameters import parameters_of
from .streams import check_stream, check_values_kept, learn_stream


class BaseOnlineClassifier(ClassPredictions[AnyClasses]):
    """Base of the classifiers, which define what their learner is.

    Attributes
    ----------
    learner_ : Learner or Stack
    """

    passes: int
    shuffle: bool | str
    class_weight: dict[Any, float] | str | None
    random_state: int | np.random.RandomState | None
    dtype: str
    multiclass: str | None

    # --- what a classifier defines -------------------------------------------------------------------------------

    def _check_parameters(self, partial: bool) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an invalid one; ``partial``: whether only some rows are there."""
        raise NotImplementedError

    @property
    def _is_seen_by_default(self) -> bool:
        """Whether the rows choose a view."""
        raise NotImplementedError

    def _new_learner(self, n_features: int, n_classes: int, multilabel: bool, default: View | None) -> AnyClasses:
        """Return an untrained learner; ``default`` is the view that the rows choose."""
        raise NotImplementedError

    def _follow_parameters(self) -> None:
        """Continue with parameters that were changed after the last call, or raise ``ValueError``."""
        raise NotImplementedError

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters that a model file keeps besides the learner's."""
        raise NotImplementedError

    # --- training on arrays --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, in ``passes`` passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Finite numbers.
        y : array of shape (n,), or indicator matrix of shape (n, n_labels)
            Classes (numbers or strings, two or more), or the labels of multilabel data.
        sample_weight : array of shape (n,), optional
            Weights >= 0, which multiply the loss; 0 has the same effect as leaving out the row. The rules "pa",
            "cw_stdev", "cw_var", "cellip", "iellip" and "iellip_margin" meet a constraint instead: for them weights
            above 1 act as 1.

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
        with training_of(self):
            for name in ("learner_", "_class_order", "source_", "features_"):
                self.__dict__.pop(name, None)
            return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Train on more rows, in one pass and in the given order.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes : array, optional
            All possible classes. Required in the first call unless ``y`` is an indicator matrix. Unlike in
            scikit-learn, later calls may add new ones, which start at the prior; ``classes_`` stays sorted, so the
            columns of others may move.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            For invalid parameters or input, or unknown classes; the estimator is then unchanged.
        """
        with training_of(self):
            return self._learn(X, y, classes, sample_weight, first=not hasattr(self, "learner_"), partial=True)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool, partial: bool = False) -> Self:
        parameters = parameters_of(self)
        followed = partial and not first and self._has_followed(parameters)
        if not followed:
            self._check_parameters(partial)
        check_labels(y)
        X, y = self._validated(X, y, reset=first, multi_output=True)
        multilabel = is_multilabel(y)
        if not first and multilabel != self._is_multilabel:
            raise ValueError("y changed between one class per row and an indicator matrix of labels")
        if not multilabel and y.ndim != 1:
            y = column_or_1d(y, warn=True)
        matrix = as_matrix(X, self.dtype, check=False)
        if multilabel:
            known = known_labels(y, None if first else self._class_order.by_number)
            labels, start = self._labels_of_rows(y, first)
        else:
            (known, labels), start = self._classes_of_rows(y, classes, first, partial), None
        options = {
            "label_start": start,
            "weight": None if sample_weight is None else example_weights(sample_weight, matrix.shape[0], partial),
            "class_weight": class_weights(self.class_weight, known, y, multilabel),
        }
        if first:
            self.learner_ = self._fresh_learner(X, len(known), multilabel)
            names = getattr(self, "feature_names_in_", None)
            warn_of_array_columns(X, names, viewed=self.learner_.wants_columns)
        elif not followed:
            self._follow_parameters()
        following = self.learner_
        shuffle = bool(self.shuffle) and not partial
        if not multilabel and not shuffle:
            warn_if_labels_sorted(labels)
        try:
            self.learner_.prepare(matrix)
        except UnsortedColumns:
            matrix = as_matrix(X, self.dtype)
            self.learner_.prepare(matrix)
        if first and isinstance(self.learner_, Learner):
            warn_of_cost(self.learner_, matrix, labels, options["label_start"], 1 if partial else self.passes)
        self._run(X, matrix, known, labels, options, 1 if partial else self.passes, shuffle)
        if isinstance(self.learner_, Learner):
            self.learner_.undoes = True
        if partial and not followed:
            self._follows(following, parameters)
        return self

    def _fresh_learner(self, X: Any, n_classes: int, multilabel: bool) -> AnyClasses:
        """Return an untrained learner of rows, which an error in its first training throws away."""
        learner = self._new_learner(X.shape[1], n_classes, multilabel, self._default_view(X))
        if isinstance(learner, Learner):
            learner.undoes = False
        return learner

    def _default_view(self, rows: Any) -> View | None:
        """Return the view that an array, a sparse matrix or a stream chooses, if a view is to be chosen."""
        if not self._is_seen_by_default:
            return None
        if isinstance(rows, Stream):
            return view_of_stream(rows)
        return view_of_rows(rows.shape[1], is_sparse=hasattr(rows, "tocsr"))

    def _run(
        self,
        X: Any,
        matrix: Any,
        known: np.ndarray,
        labels: np.ndarray,
        options: dict[str, Any],
        passes: int,
        shuffle: bool,
    ) -> None:
        """Make the passes; rows are checked during training where that is possible."""
        learner, generator = self.learner_, check_random_state(self.random_state)
        if len(known) > learner.n_classes:
            matrix = as_matrix(X, self.dtype)
            learner = self.learner_ = copy(learner)  # of which an error restores the old one
            learner.grow(n_classes=len(known), multiclass=self.multiclass)
            self._class_order = ClassOrder(known)
        for number in range(passes):
            order = generator.permutation(matrix.shape[0]) if shuffle else None
            calibrate = number == 0 and self.calibration is not None
            try:
                learner.learn(matrix, labels, order=order, calibrate=calibrate, **options)
            except UnsortedColumns:
                matrix = as_matrix(X, self.dtype)
                if isinstance(learner, Learner) and not learner.undoes:
                    learner = self.learner_ = self._fresh_learner(X, len(known), learner.task.multilabel)
                learner.learn(matrix, labels, order=order, calibrate=calibrate, **options)
        if "_class_order" not in vars(self) or known is not self._class_order.by_number:
            self._class_order = ClassOrder(known)

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

    def _labels_of_rows(self, y: Any, first: bool) -> tuple[np.ndarray, np.ndarray]:
        return labels_of_rows(y if first else self._class_order.labels_by_number(y))

    # --- training on files ---------------------------------------------------------------------------------------

    def fit_stream(self, stream: Stream, classes: Any = None, progress: bool = False) -> Self:
        """Train from scratch, in one pass over a stream.

        Parameters
        ----------
        stream : Stream
            Of :func:`confidently.data.open_stream`, from which nothing has been read.
        classes : sequence, optional
            All possible classes; by default they are added as they appear.
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
            For invalid parameters, something else than a stream, or a stream with one class only.

        Examples
        --------
        >>> import tempfile
        >>> from confidently import OnlineClassifier
        >>> from confidently.data import open_stream
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     _ = file.write("spam\\tfree money now\\nham\\tsee you at noon\\n" * 20)
        ...     file.flush()
        ...     classifier = OnlineClassifier("arow").fit_stream(open_stream(file.name))
        ...     [list(found) for found in classifier.predict_stream([file.name])][0][:2]
        [np.str_('spam'), np.str_('ham')]
        """
        with training_of(self):
            self._check_parameters(partial=False)
            check_stream(stream, self.passes)
            if stream.targets:
                raise ValueError("the stream has targets, not classes; open it without targets, or use OnlineRegressor")
            names = [] if classes is None else [plain(name) for name in classes]
            table = ClassTable(names, stream.multilabel, closed=classes is not None)
            learner = self._new_learner(0, len(table), stream.multilabel, self._default_view(stream))
            check_values_kept(learner.view, stream.reading)
            features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
            for name in ("learner_", "_class_order", "features_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            return self._learn_stream(stream, learner, table, features, progress)

    def _label_options(self) -> dict[str, Any]:
        return {"multilabel": self._is_multilabel}

    def _continue_stream(self, stream: Stream, progress: bool) -> Self:
        self._check_parameters(partial=True)
        self._follow_parameters()
        table = ClassTable(
            [plain(name) for name in self._class_order.names],
            stream.multilabel,
            closed=self.__dict__.get("source_", {}).get("closed", False),
        )
        learner, features = deepcopy(self.learner_), deepcopy(getattr(self, "features_", None))
        return self._learn_stream(stream, learner, table, features, progress)

    def _learn_stream(
        self, stream: Stream, learner: AnyClasses, table: ClassTable, features: Features | None, progress: bool
    ) -> Self:
        learning = StreamLearner(learner, table, self.multiclass, features, stream.reading)
        self._class_order = ClassOrder(learn_stream(stream, learning, self.class_weight, progress))
        return self._keep_stream(stream, learning)

    # --- files ---------------------------------------------------------------------------------------------------

    def as_model(self) -> Model:
        """Return the learner and the meaning of its numbers, which is all that is saved."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        classes = [plain(c) for c in self._class_order.names]
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        return Model(self.learner_, classes, features, self._saved_parameters(), getattr(self, "source_", {}))
