"""What all estimators that learn online share but for arrays: streams, frames, dicts and texts, and model files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..data import Batch, ReaderOptions, Stream
from ..data.batch import NewLabel
from ..data.classes import ClassTable, check_classes
from ..data.features import Features
from ..data.formats.files import Path
from ..data.memory.labels import example_weights, plain, training_of
from ..data.memory.plain import is_plain_labels
from ..data.selection import columns_of_first
from ..data.shuffling import shuffled
from ..encoders import Encoder, EncoderError, encoder_of
from ..learner.learner import Learner
from ..learner.recipe import ROWS_TO_CHOOSE
from ..learner.streams import StreamLearner, StreamPredictor, class_number
from ..learner.tables import view_of_rows, view_of_stream
from ..models.model import Model
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from ..tasks.groups import Groups
from ..views.columns import ZERO, Columns
from ..views.view import View
from ..wording import counted
from .groups import kept, new_groups
from .passing import counted_rows, passes_of
from .rows import LabelledRows, Labels, labelled
from .streams import OF_SCALING, batches_of, check_stream, check_values_kept, open_as_before, open_to_learn, weighted

AnyLearner = TypeVar("AnyLearner", bound=Learner | Stack | NumberStack)

MAX_SEED = 2**31 - 1
LEARNED = (
    "learner_",
    "_class_order",
    "source_",
    "features_",
    "n_iter_",
)  # attributes that training from scratch forgets


class BegunRows(NamedTuple):
    """Rows that are read as those of a file are, and the learner that is to be trained on them.

    Attributes
    ----------
    learning : StreamLearner
    batches : list of Batch
        All rows.
    labels : Labels
    reading : ReaderOptions, optional
        How the rows are read; ``None``: as those before.
    """

    learning: StreamLearner
    batches: list[Batch]
    labels: Labels
    reading: ReaderOptions | None


class StreamEstimator(BaseEstimator, Generic[AnyLearner]):
    """Base of the estimators, without arrays."""

    learner_: AnyLearner
    n_features_in_: int

    predicts_numbers: ClassVar[bool] = False
    _validation_of_y: ClassVar[dict[str, bool]] = {"multi_output": True}
    chooses_passes: ClassVar[bool] = False  # whether ``passes`` may be "auto"
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

    # --- streams ----------------------------------------------------------------------------------------------------

    def _open(self, paths: Any, **options: Any) -> Stream:
        """Open files that are read as those of training were."""
        source, features = getattr(self, "source_", {}), getattr(self, "features_", None)
        return open_as_before(paths, source, features, self.dtype, encoder=self._encoder(), **options)

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
        options["keep"] = kept(self.coverage_by, options.get("keep", ()))
        with training_of(self), self._open(paths, **self._label_options(), **options) as stream:
            self._check_parameters(partial=True)
            self._follow_parameters()
            learning = self._continued(self.as_model().class_table(), stream.reading)
            with batches_of(stream, progress or bool(self.verbose)) as batches:
                for _ in learning.learn(weighted(batches, self.class_weight)):
                    pass
            return self._keep(learning, None if vars(self).get("source_") else stream.reading)

    def _learn_stream(self, data: Any, progress: bool, options: dict[str, Any], classes: Any = None) -> Self:
        """Train from scratch on a stream, or on data that are opened as one."""
        with training_of(self):
            self._check_parameters(partial=False)
            check_stream(data, self._passes(), options)
            if isinstance(data, Stream):
                stream = data
                if self.encoder is not None and stream.reading.encoder is None:
                    raise EncoderError("the stream has no vectors of an encoder; open it with encoder=...")
            else:
                keep = kept(self.coverage_by, options.pop("keep", ()))
                targets = self.predicts_numbers
                of_data: dict[str, Any] = {"targets": targets, "keep": keep, "encoder": self._encoder(), **options}
                stream = open_to_learn(data, self.dtype, self._scaled, **of_data)
            with batches_of(stream, progress or bool(self.verbose)) as batches:
                table = self._table_of(stream.targets, stream.multilabel, classes)
                self._forget("feature_names_in_")
                learning, batches = self._stream_learner(stream, table, batches)
                if isinstance(data, Stream) or not OF_SCALING.isdisjoint(options):
                    check_values_kept(learning.learner.view, stream.reading)
                for _ in learning.learn(weighted(batches, self.class_weight)):
                    pass
            return self._keep(learning, stream.reading)

    def _stream_learner(
        self, stream: Stream, table: ClassTable, batches: Iterator[Batch]
    ) -> tuple[StreamLearner, Iterator[Batch]]:
        """Return an untrained learner of a stream, and all of its batches, the first of which may have chosen it."""
        features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
        view, n_columns = self._default_view(stream), None
        if self.predicts_numbers:
            n_columns, batches = columns_of_first(batches, ROWS_TO_CHOOSE)
        learner = self._new_learner(0, len(table), table.multilabel, view, n_columns)
        learner.groups = new_groups(self.coverage_by, learner.task)
        return StreamLearner(learner, table, self.multiclass, features, stream.reading), batches

    def _continued(self, table: ClassTable, reading: ReaderOptions) -> StreamLearner:
        """Return a copy of the learner, to continue its training."""
        learner, features = deepcopy(self.learner_), deepcopy(vars(self).get("features_"))
        return StreamLearner(learner, table, self.multiclass, features, reading)

    def _keep(self, learning: StreamLearner, reading: ReaderOptions | None) -> Self:
        """Keep what was trained, and how its rows were read; ``None``: as those before."""
        table = learning.classes
        check_classes(table.names, table.multilabel)
        self._keep_classes(table.names)
        self.learner_ = learning.learner
        self.n_features_in_ = learning.learner.n_features
        if reading is not None:
            self.source_ = {**reading.as_dict(), "closed": table.closed}
        if learning.features is not None:
            self.features_ = learning.features
        return self

    def _predict_stream(
        self, paths: Any, answer: Callable[[Any, AnyLearner, list[str] | None], Any], strict: bool,
        options: dict[str, Any], groups: Groups | None = None,
    ) -> Iterator[Any]:  # fmt: skip
        """Yield what a function gives for rows, a learner with room for unseen features, and values, batch by batch.

        The values are those of the column of ``groups``, if there are any.
        """
        learner = self._copied_learner()
        answering = StreamPredictor(learner)
        if groups is not None:
            options["keep"] = kept(groups.column, options.get("keep", ()))
        with self._open(paths, ignore_labels=True, freeze=True, strict=strict, **options) as stream:
            for batch in stream:
                values = None if groups is None else list(batch.kept[str(groups.column)])
                yield answer(answering.matrix(batch), learner, values)

    # --- training on frames, dicts and texts ------------------------------------------------------------------------

    def _learn_rows(
        self, found: LabelledRows, sample_weight: Any, classes: Any, first: bool, partial: bool, predicted: Any
    ) -> Self:
        """Train on rows that are read as those of a file are."""
        begun = self._begin_rows(found, sample_weight, classes, first, partial, predicted)
        n, labels = found.rows.n_rows, begun.labels
        shape = n, max((batch.n_columns for batch in begun.batches), default=0)
        passes, shuffle = 1 if partial else self._passes(shape), bool(self.shuffle) and not partial
        if not shuffle:
            self._advise(labels, partial)
        self._run(begun.learning, begun.batches, labels, passes, shuffle)
        if not partial:
            self.learner_.settle(shuffled=shuffle)
        return self._keep(begun.learning, begun.reading)

    def _begin_rows(
        self, found: LabelledRows, sample_weight: Any, classes: Any, first: bool, partial: bool, predicted: Any = None
    ) -> BegunRows:
        """Return rows that are read as those of a file are, and a copy of the learner to train on them."""
        if first:
            self.__dict__.pop("feature_names_in_", None)
        self._check_parameters(partial)
        n = found.rows.n_rows
        labels = self._numbered(self._validated_labels(found.y, n), classes, first, partial)
        if predicted is not None:
            labels = labels._replace(predicted=self._late(predicted, n))
        if sample_weight is not None:
            labels.options["weight"] = example_weights(sample_weight, n, partial)
        names = [] if labels.classes is None else [plain(name) for name in labels.classes]
        keep = kept(self.coverage_by)
        if first:
            options = {} if found.label is None else {"label": found.label}
            of_rows: dict[str, Any] = {"ignore_labels": True, "keep": keep, "encoder": self._encoder(), **options}
            stream = open_to_learn(found.rows, self.dtype, self._scaled, **of_rows)
            table = self._first_table(labels, [] if not (partial or labels.multilabel) else names)
        else:
            self._follow_parameters()
            stream, table = self._open(found.rows, ignore_labels=True, keep=keep), self._next_table(names)
        with stream:
            rows: Iterator[Batch] = labelled(stream, labels, names)
            if first:
                learning, rows = self._stream_learner(stream, table, rows)
            else:
                learning = self._continued(table, stream.reading)
            batches = list(rows)
        return BegunRows(learning, batches, labels, stream.reading if first else None)

    def _next_table(self, names: list[Any]) -> ClassTable:
        """Return the classes so far and perhaps more."""
        table = self.as_model().class_table()
        for name in names:
            class_number(table, NewLabel(name, 0, "classes"))
        return table

    def _run(self, X: Any, matrix: Any, labels: Labels, passes: int, shuffle: bool) -> None:
        """Make the passes over the batches of a :class:`StreamLearner`, or over rows and their matrix."""
        learning, batches = X, matrix
        generator, n = check_random_state(self.random_state), sum(map(len, batches))
        for number, progress in passes_of(self, lambda: learning.learner.mistakes, n, passes):
            rows: Iterator[Batch] = iter(batches)
            if shuffle:
                rows = shuffled(rows, 2 * n, int(generator.randint(MAX_SEED)))
            for _ in learning.learn(counted_rows(rows, progress), calibrate=number == 0, check_order=False):
                pass
            batches = [replace(batch, new_features=None) for batch in batches]
        self.learner_ = learning.learner

    def _validated_labels(self, y: Any, n_rows: int) -> Any:
        """Return what scikit-learn makes of y without rows."""
        self._check_labels(y)
        y = validate_data(self, y=y, reset=False, **self._validation_of_y)
        if y.shape[0] != n_rows:
            raise ValueError(f"X has {counted(n_rows, 'row')}, y has {y.shape[0]:,}; they must have as many")
        return y

    def _copied_learner(self) -> AnyLearner:
        """Return a learner that may get room for unseen features, while this one stays as it is."""
        learner = copy(self.learner_)
        learner.state = dict(learner.state)
        return learner

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

    def __sklearn_clone__(self) -> Any:
        """Return an untrained copy, which shares the encoder: it may be large, or a connection."""
        without = copy(self)
        without.encoder = None
        cloned = BaseEstimator.__sklearn_clone__(without)
        cloned.encoder = self.encoder
        if self.encoder is not None:
            cloned._encoding = self._encoder()
        return cloned

    # --- files ------------------------------------------------------------------------------------------------------

    def as_model(self) -> Model:
        """Return the learner and the meaning of its numbers, which is all that is saved."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        features = getattr(self, "features_", None if names is None else Features.named(list(names)))
        source = getattr(self, "source_", {})
        return Model(self.learner_, self._output_names(), features, self._saved_parameters(), source)

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
