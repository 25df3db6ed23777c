"""Estimators learn and predict streams: files, frames and whatever else can be opened as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from ..data import Batch, ReaderOptions, Stream
from ..data.classes import ClassTable, check_classes
from ..data.features import Features
from ..data.memory.labels import training_of
from ..data.selection import columns_of_first
from ..encoders import EncoderError
from ..learner.recipe import ROWS_TO_CHOOSE
from ..learner.streams import StreamLearner, StreamPredictor
from ..tasks.groups import Groups
from .groups import kept, new_groups
from .model_estimator import AnyLearner, ModelEstimator
from .streams import OF_SCALING, batches_of, check_stream, check_values_kept, open_as_before, open_to_learn, weighted


class StreamEstimator(ModelEstimator[AnyLearner]):
    """Base of the estimators for streams."""

    def _open(self, paths: Any, **options: Any) -> Stream:
        """Open files that are read as those of training were."""
        source, features = getattr(self, "source_", {}), getattr(self, "features_", None)
        return open_as_before(paths, source, features, self.dtype, encoder=self._encoder(), **options)

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
