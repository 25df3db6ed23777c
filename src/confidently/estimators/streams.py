"""What :class:`confidently.OnlineClassifier` does with streams of files, besides arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Batch, ReaderOptions, Stream, open_stream
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.memory.matrix import largest_value
from ..data.memory.unchanged import rollback_on_error
from ..learner.learner import Learner, check_choice
from ..learner.streams import Answering, StreamLearner

METHODS = ("predict", "predict_proba", "decision_function", "margin_distribution")


class StreamMethods:
    """Learning from streams and answering about them; see :func:`confidently.data.open_stream`.

    A classifier that learned from a stream knows how its rows were read (``source_``) and, where features have names,
    which column stands for what (``features_``).
    """

    learner_: Learner
    classes_: np.ndarray
    multiclass: str
    passes: int
    dtype: str
    class_weight: dict[Any, float] | str | None

    if TYPE_CHECKING:  # what the classifier has

        def _check_settings(self, partial: bool) -> None: ...
        def _follow_settings(self) -> None: ...
        def _new_learner(self, n_features: int, n_classes: int, multilabel: bool) -> Learner: ...
        def _answer(self, method: str, matrix: Any, learner: Learner | None = None) -> Any: ...

    def fit_stream(self, stream: Stream, classes: Any = None) -> Self:
        """Learn from scratch, in one pass over a stream.

        Parameters
        ----------
        stream : Stream
            Of :func:`confidently.data.open_stream`, of which nothing was taken yet.
        classes : sequence, optional
            All classes there may be; by default they are learned as they come. Of two classes 1 is the positive one,
            or else the second to come.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError
            For what is wrong with the data, saying where; what was learned before stays as it was.
        ValueError
            For bad parameters, or a stream with one class only.

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
        with rollback_on_error(self):
            self._check_settings(partial=False)
            if self.passes != 1:
                raise ValueError(f"a stream is read once, but passes is {self.passes}: open another and learn it too")
            names = [] if classes is None else [_plain(name) for name in classes]
            table = ClassTable(names, stream.multilabel, closed=classes is not None)
            learner = self._new_learner(0, len(table), stream.multilabel)
            features = Features(bounded=not stream.reading.vocabulary) if stream.reading.named else None
            for name in ("learner_", "classes_", "features_", "feature_names_in_"):
                vars(self).pop(name, None)
            return self._learn_stream(stream, StreamLearner(learner, table, self.multiclass, features))

    def partial_fit_stream(self, paths: Any, **options: Any) -> Self:
        """Go on learning from more files, read as those of :meth:`fit_stream` were.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except how rows are read, which is known.

        Returns
        -------
        self

        Raises
        ------
        confidently.data.DataError, OSError
            For what is wrong with the data; what was learned before stays as it was.
        """
        check_is_fitted(self)
        with rollback_on_error(self), self._open(paths, multilabel=self._sets(), **options) as stream:
            self._check_settings(partial=True)
            self._follow_settings()
            table = ClassTable([_plain(name) for name in self.classes_], stream.multilabel)
            learner, features = deepcopy(self.learner_), deepcopy(getattr(self, "features_", None))
            return self._learn_stream(stream, StreamLearner(learner, table, self.multiclass, features))

    def predict_stream(self, paths: Any, method: str = "predict", **options: Any) -> Iterator[Any]:
        """Answer about files, a batch of rows at a time, in memory that does not grow with them.

        Parameters
        ----------
        paths, options
            As for :func:`confidently.data.open_stream`, except how rows are read, which is known. Labels are not read.
        method : {"predict", "predict_proba", "decision_function", "margin_distribution"}
            What to ask. Features never met have weights of mean 0 and the prior's variance.

        Yields
        ------
        array, or pair of arrays
            The method's answer about the next rows.

        Raises
        ------
        confidently.data.DataError, OSError
            For what is wrong with the data.
        """
        check_is_fitted(self)
        check_choice("method", method, METHODS)
        learner = copy(self.learner_)
        learner.state = dict(learner.state)  # Answering makes room in it for unknown features
        answering = Answering(learner)
        with self._open(paths, ignore_labels=True, freeze=True, **options) as stream:
            for batch in stream:
                yield self._answer(method, answering.matrix(batch), learner)

    def _open(self, paths: Any, **options: Any) -> Stream:
        reading = ReaderOptions.from_dict(getattr(self, "source_", {}))
        features = getattr(self, "features_", None)
        if reading.named and features is None:
            raise ValueError("the classifier has learned from arrays: it does not know what the columns of files mean")
        return open_stream(paths, reading, features=features, largest=largest_value(self.dtype), **options)

    def _sets(self) -> bool:
        return self.learner_.settings.task == "multilabel"

    def _learn_stream(self, stream: Stream, learning: StreamLearner) -> Self:
        with stream:
            for _ in learning.learn(weighted(stream, self.class_weight)):
                pass
        names = learning.classes.names
        if None in names or (len(names) < 2 and not stream.multilabel):
            met = ", ".join(repr(name) for name in names if name is not None)
            raise ValueError(f"the stream has one class only ({met}); two or more are needed")
        self.learner_, self.classes_ = learning.learner, np.array(names)
        self.n_features_in_ = learning.learner.n_features
        self.source_ = {**stream.reading.as_dict(), "closed": learning.classes.closed}
        if learning.features is not None:
            self.features_ = learning.features
        return self


def weighted(batches: Iterable[Batch], class_weight: dict[Any, float] | str | None) -> Iterator[Batch]:
    """The same batches, the examples' weights multiplied by their classes'."""
    if class_weight is None:
        yield from batches
        return
    if isinstance(class_weight, str):
        raise ValueError("class_weight='balanced' needs all labels at once: for a stream, give a dict of weights")
    factor = np.empty(0)
    for batch in batches:
        if batch.label_start is not None:
            raise ValueError("class weights are for one class a row, not for sets of labels")
        factor = np.append(factor, [float(class_weight.get(new.name, 1.0)) for new in batch.new_labels])
        weights = np.ones(len(batch)) if batch.weights is None else batch.weights
        yield replace(batch, weights=weights * factor[batch.labels])


def _plain(name: Any) -> int | str:
    plain: int | str = name.item() if isinstance(name, np.generic) else name
    return plain
