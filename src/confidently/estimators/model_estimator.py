"""What all estimators that learn online share: the learner, its model and file, and what each kind of them defines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data import ReaderOptions, Stream
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.formats.files import Path
from ..data.memory.plain import is_plain_labels
from ..encoders import Encoder, encoder_of
from ..learner.learner import Learner
from ..learner.tables import view_of_rows, view_of_stream
from ..models.model import Model
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from ..views.columns import ZERO, Columns
from ..views.view import View
from .rows import Labels

AnyLearner = TypeVar("AnyLearner", bound=Learner | Stack | NumberStack)

LEARNED = (
    "learner_",
    "_class_order",
    "source_",
    "features_",
    "n_iter_",
)  # attributes that training from scratch forgets


class ModelEstimator(BaseEstimator, Generic[AnyLearner]):
    """Base of the estimators: what they have learned, and what subclasses define."""

    learner_: AnyLearner
    n_features_in_: int

    predicts_numbers: ClassVar[bool] = False
    _validation_of_y: ClassVar[dict[str, bool]] = {"multi_output": True}
    chooses_passes: ClassVar[bool] = False  # whether ``passes`` may be "auto"
    _averages = False  # whether what "auto" chose for the learner is to average its weights
    _is_plain_y = staticmethod(is_plain_labels)  # whether labels or targets need no validation by scikit-learn

    passes: int | str
    tol: float | None = None  # of estimators that count mistakes
    verbose: bool = False
    shuffle: bool | str
    random_state: int | np.random.RandomState | None
    dtype: str
    calibration: str | None
    multiclass: str | None = None
    class_weight: dict[Any, float] | str | None = None
    coverage_by: str | int | None = None
    encoder: Any = None

    # --- what estimators of classes and of numbers define -----------------------------------------------------------

    def _check_labels(self, y: Any) -> None:
        """Raise ``ValueError`` for labels about which scikit-learn has no clear error."""

    def _numbered(self, y: Any, classes: Any, first: bool, partial: bool) -> Labels:
        """Return validated labels as numbers."""
        raise NotImplementedError

    def _late(self, predicted: Any, n: int) -> np.ndarray:
        """Return checked predictions of n rows whose labels are late, by number."""
        raise NotImplementedError

    def _keep_classes(self, names: Any) -> None:
        """Keep what the numbers mean that were learned."""

    def _advise(self, labels: Labels, partial: bool) -> None:
        """Warn of labels in an order that is perhaps not meant."""

    def _first_table(self, labels: Labels, names: list[Any]) -> ClassTable:
        """Return the classes of rows before training, of which those with ``names`` exist from the start."""
        raise NotImplementedError

    def _table_of(self, targets: bool, multilabel: bool, classes: Any) -> ClassTable:
        """Return the classes of a stream before training; ``ValueError``: its labels are of the other kind."""
        raise NotImplementedError

    def _label_options(self) -> dict[str, Any]:
        """Return how labels of files are read."""
        raise NotImplementedError

    def _output_names(self) -> list[Any]:
        """Return the names of the classes or labels, or the numbers of the outputs."""
        raise NotImplementedError

    @property
    def _calibrates(self) -> bool:
        """Whether the first pass calibrates; numbers have their offset and unit from the calibration."""
        return self.predicts_numbers or self.calibration is not None

    # --- what estimators with one Gaussian and stacks define --------------------------------------------------------

    def _check_parameters(self, partial: bool) -> None:
        """Raise ``ValueError`` or ``TypeError`` for an invalid one; ``partial``: whether only some rows are there."""
        raise NotImplementedError

    @property
    def _is_seen_by_default(self) -> bool:
        """Whether the rows choose a view."""
        return False

    def _new_learner(
        self, n_features: int, n_outputs: int, multilabel: bool = False, default: View | None = None,
        n_columns: int | None = None,
    ) -> AnyLearner:  # fmt: skip
        """Return an untrained learner.

        ``default`` is the view that the rows choose; ``n_columns`` is the number of columns of the first rows of a
        stream, whose features are not known.
        """
        raise NotImplementedError

    def _follow_parameters(self) -> None:
        """Continue with parameters that were changed after the last call, or raise ``ValueError``."""
        raise NotImplementedError

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the parameters that a model file keeps besides the learner's."""
        raise NotImplementedError

    def _scaled(self, files: Sequence[Path], reading: ReaderOptions) -> ReaderOptions:
        """Return the options to read files for this learner, as ``confidently train`` does."""
        raise NotImplementedError

    def _passes(self, shape: tuple[int, int] | None = None) -> int:
        """Return how many passes :meth:`fit` makes over an array of this shape, or over other rows."""
        return int(self.passes)

    def _forget(self, *more: str) -> None:
        for name in (*LEARNED, *more):
            self.__dict__.pop(name, None)

    def _averages_rows(self, n: int) -> bool:
        """Return whether ``average="auto"`` averages the weights of a fit of so many rows."""
        return False

    def _default_view(self, rows: Any) -> View | None:
        """Return the view that an array, a sparse matrix or a stream chooses, if a view is to be chosen."""
        if not self._is_seen_by_default or self.encoder is not None:  # whose vectors have one scale
            return None
        if isinstance(rows, Stream):
            return view_of_stream(rows)
        return view_of_rows(rows.shape[1], is_sparse=hasattr(rows, "tocsr"))

    def _columns(self, n_features: int) -> Columns:
        """Return what is known about columns: those of arrays are numbers, and those of sparse rows 0 where absent."""
        names = getattr(self, "feature_names_in_", None)
        return Columns.alike(n_features, ZERO, None if names is None else list(names))

    # --- the model --------------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "learner_" in vars(self)

    @property
    def _fitted(self) -> AnyLearner:
        if "learner_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} is not fitted; call fit or partial_fit first")
        return self.learner_

    @property
    def n_seen_(self) -> int:
        return self._fitted.n_seen

    def _encoder(self) -> Encoder | None:
        """Return the encoder of texts, which is the same one, with its cache, in all calls."""
        if self.encoder is None:
            return None
        found: Encoder | None = vars(self).get("_encoding")
        if found is None or (found is not self.encoder and found.source is not self.encoder):
            found = self._encoding = encoder_of(self.encoder)
        return found

    @property
    def _encodes(self) -> bool:
        """Whether rows are texts, of which an encoder makes vectors."""
        source = vars(self).get("source_", {})
        return "encoder" in source or ("learner_" not in vars(self) and self.encoder is not None)

    def __sklearn_clone__(self) -> Any:
        """Return an untrained copy, which shares the encoder: it may be large, or a connection."""
        without = copy(self)
        without.encoder = None
        cloned = BaseEstimator.__sklearn_clone__(without)
        cloned.encoder = self.encoder
        if self.encoder is not None:
            cloned._encoding = self._encoder()
        return cloned

    def _copied_learner(self) -> AnyLearner:
        """Return a learner that may get room for unseen features, while this one stays as it is."""
        learner = copy(self.learner_)
        learner.state = dict(learner.state)
        return learner

    # --- files ------------------------------------------------------------------------------------------------------

    def as_model(self) -> Model:
        """Return the learner and the meaning of its numbers, which is all that is saved."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        source = getattr(self, "source_", {})
        return Model(self.learner_, self._output_names(), features, self._saved_parameters(), source)

    @property
    def feature_importances_(self) -> np.ndarray:
        from ..models.importance import importances, importances_of_columns  # imported here to save start-up time

        try:
            model = self.as_model()
            columns = () if model.features is None or "encoder" in model.source else model.source.get("header")
            return importances_of_columns(model, columns) if columns else importances(model)
        except ValueError as error:  # not fitted, or a kernel
            raise AttributeError(str(error)) from None

    def _take_model(self, model: Model) -> Self:
        """Continue with the learner of a model and the meaning of its numbers."""
        self.learner_, self.n_features_in_ = model.learner, model.learner.n_features
        if model.source:
            self.source_ = model.source
        if model.features is not None and model.source:
            self.features_ = model.features
        elif model.features is not None:
            self.feature_names_in_ = np.array(list(model.features.names), dtype=object)
        return self

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
