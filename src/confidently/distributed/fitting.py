"""``fit`` and ``partial_fit`` of estimators on a cluster."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from distributed import Client
from sklearn.utils import check_random_state

from ..data import ReaderOptions
from ..data.classes import ClassTable
from ..data.features import Features
from ..data.memory.labels import plain
from ..data.memory.unchanged import rollback_on_error
from ..estimators.classifier import OnlineClassifier
from ..estimators.loading import put_model
from ..estimators.settings import check_settings
from ..learner.learner import check_choice
from ..models.model import Model
from .cluster import connected, dashboard, n_threads
from .frames import Frames, is_collection, paths_of, settings_of
from .rounds import Round, Rounds
from .training import DEFAULT_ROUNDS, SHUFFLE, surveyed, training_on_files

Report = Callable[[Round], None]


def fit(
    estimator: OnlineClassifier,
    data: Any,
    y: Any = None,
    *,
    client: Client | str | None = None,
    workers: int | None = None,
    parts: int | None = None,
    rounds: int = DEFAULT_ROUNDS,
    shuffle: str | None = None,
    sample_weight: Any = None,
    classes: Any = None,
    multilabel: bool | None = None,
    on_error: str | int = "stop",
    progress: bool | Report = False,
    reading: ReaderOptions | None = None,
    **how: Any,
) -> OnlineClassifier:
    """Learn from scratch on a cluster: in every round each part learns a slice, and what they learned is merged.

    With the base N(mean_0, P_0^-1) of a round and what each of its parts made of it::

        P = P_0 + sum_i (P_i - P_0),     P mean = P_0 mean_0 + sum_i (P_i mean_i - P_0 mean_0)

    which is the base of the next. Every row is learned once a pass, whatever ``rounds`` is. The result is the same
    for the same ``parts``, ``rounds`` and data, on however many workers.

    Parameters
    ----------
    estimator : OnlineClassifier
        With a linear covariance. Its ``passes`` are made one after the other; with ``shuffle=True`` it means "within".
    data : path, list or dask.bag of paths; or dask.array or dask.dataframe
        Files, folders and globs as :func:`confidently.data.open_stream` takes them, which every worker must be able to
        open; or rows of numbers.
    y : dask.array, dask.dataframe.Series or str, optional
        The labels of an array or a data frame, in chunks of as many rows as ``data``; or a data frame's column.
    client : distributed.Client or str, optional
        Of a cluster that is there; or the address of its scheduler. By default processes on this machine.
    workers : int, optional
        How many of them; by default one a processor.
    parts : int, optional
        In how many parts the data are learned side by side; by default as many as the workers have threads.
    rounds : int, default=16
        How many times the parts are merged in a pass. More rounds are nearer to one learner of all rows, and send more.
    shuffle : {None, "within", "between"}
        The rows of every slice in random order; or the data in small pieces dealt to the slices at random, too.
    sample_weight : dask.array or dask.dataframe.Series, optional
        Weights of the rows of an array or a data frame.
    classes : sequence, optional
        All classes there may be. By default those of files are learned as they come, and those of arrays looked for
        beforehand.
    multilabel, on_error, reading, **how
        For files, as in :func:`confidently.data.open_stream`.
    progress : bool or callable
        Write a line a round to standard error; or what to call with each :class:`Round`.

    Returns
    -------
    OnlineClassifier
        The estimator, fitted. Rows, mistakes and updates of all parts are added.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError, TypeError
        For what is wrong with data or parameters; what was learned before stays as it was.
    distributed.scheduler.KilledWorker
        If one task has lost four workers, as where they have too little memory.

    Notes
    -----
    In a script, call it under ``if __name__ == "__main__":``, as for any processes that Python starts.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from confidently import OnlineClassifier, distributed
    >>> X, y = (da.from_array(array, chunks=(200, -1)[:array.ndim]) for array in load_digits(return_X_y=True))
    >>> classifier = distributed.fit(OnlineClassifier(), X[:1400] / 16, y[:1400], workers=1, parts=4, rounds=4)
    >>> classifier.n_seen_
    1400
    """
    with rollback_on_error(estimator):
        for name in ("learner_", "classes_", "source_", "features_", "feature_names_in_", "n_features_in_"):
            estimator.__dict__.pop(name, None)
        training = _Training(estimator, client, workers, parts, rounds, shuffle, progress)
        return training.run(data, y, sample_weight, classes, multilabel, on_error, reading, how)


def partial_fit(
    estimator: OnlineClassifier, data: Any, y: Any = None, *, client: Client | str | None = None,
    workers: int | None = None, parts: int | None = None, rounds: int = DEFAULT_ROUNDS, shuffle: str | None = None,
    sample_weight: Any = None, on_error: str | int = "stop", progress: bool | Report = False,
) -> OnlineClassifier:  # fmt: skip
    """Go on learning on a cluster, in one pass over more data of the same kind; the parameters are those of
    :func:`fit`.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError, TypeError
        For what is wrong with data or parameters; what was learned before stays as it was.
    """
    if not hasattr(estimator, "learner_"):
        raise ValueError("partial_fit goes on with a fitted classifier, and this one has learned nothing: call fit")
    with rollback_on_error(estimator):
        training = _Training(estimator, client, workers, parts, rounds, shuffle, progress, estimator.as_model())
        return training.run(data, y, sample_weight, None, None, on_error, None, {})


class _Training:
    """What both have in common."""

    def __init__(
        self, estimator: OnlineClassifier, client: Client | str | None, workers: int | None, parts: int | None,
        rounds: int, shuffle: str | None, progress: bool | Report, base: Model | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(estimator, OnlineClassifier):
            raise TypeError(f"an OnlineClassifier can be fitted on a cluster, not {type(estimator).__name__}")
        if estimator.covariance == "kernel":
            raise ValueError("a kernel model keeps examples, not weights, and cannot be merged: use another covariance")
        if estimator.forget:
            raise ValueError(
                "parts learn side by side and none comes last, so there is nothing that forget could mean: use forget=0"
            )
        for name, number in (("parts", parts), ("rounds", rounds), ("workers", workers)):
            if number is not None and (not isinstance(number, numbers.Integral) or number < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, got {number!r}")
        check_choice("shuffle", shuffle, SHUFFLE)
        check_settings(estimator, partial=True)
        self.estimator, self.base, self.progress = estimator, base, progress
        self.client, self.workers, self.parts, self.rounds = client, workers, parts, rounds
        self.shuffle = shuffle or ("within" if estimator.shuffle else None)
        self.seed = int(check_random_state(estimator.random_state).randint(2**31))

    def run(
        self, data: Any, y: Any, sample_weight: Any, classes: Any, multilabel: bool | None, on_error: str | int,
        reading: ReaderOptions | None, how: dict[str, Any],
    ) -> OnlineClassifier:  # fmt: skip
        with ExitStack() as stack:
            client = stack.enter_context(connected(self.client, self.workers))
            options: dict[str, Any] = {
                "parts": self.parts or n_threads(client), "rounds": self.rounds, "shuffle": self.shuffle,
                "seed": self.seed, "passes": 1 if self.base else self.estimator.passes,
                "calibrate": self.estimator.calibration is not None,
            }  # fmt: skip
            if is_collection(data):
                if how or reading is not None or multilabel is not None or on_error != "stop":
                    given = [*how, *(["reading"] if reading is not None else [])] or ["multilabel or on_error"]
                    raise ValueError(f"{', '.join(given)}: how to read is for files, and these are rows already")
                frames = Frames(client, data, y, sample_weight, self.estimator)
                training = frames.training(self.base or frames.beginning(classes), **options)
            else:
                if y is not None or sample_weight is not None:
                    raise ValueError("y and sample_weight are for arrays and data frames: files have their own")
                training = self._files(client, paths_of(data), classes, multilabel, on_error, reading, how, options)
            self._report(client, training, options)
            for account in training:
                self._show(account)
        return self._fitted(training.model)

    def _files(
        self, client: Client, paths: list[str], classes: Any, multilabel: bool | None, on_error: str | int,
        reading: ReaderOptions | None, how: dict[str, Any], options: dict[str, Any],
    ) -> Rounds:  # fmt: skip
        base = self.base
        if base is not None:
            if not base.source:
                raise ValueError("the classifier has learned from arrays: it does not know what files' columns mean")
            reading, multilabel = ReaderOptions.from_dict(base.source), base.learner.settings.task == "multilabel"
        found = surveyed(client, paths, reading, multilabel, on_error, **how)
        model = base or self._beginning(found.reading, found.multilabel, classes)
        weights = self.estimator.class_weight
        return training_on_files(client, found, model, on_error=on_error, class_weight=weights, **options)

    def _beginning(self, reading: ReaderOptions, multilabel: bool, classes: Any) -> Model:
        names = [] if classes is None else [plain(name) for name in classes]
        table = ClassTable(names, multilabel, closed=classes is not None)
        features = Features(bounded=not reading.vocabulary) if reading.named else None
        estimator = settings_of(self.estimator)
        source = {**reading.as_dict(), "closed": classes is not None}
        return Model(self.estimator._new_learner(0, len(table), multilabel), table.names, features, estimator, source)

    def _fitted(self, model: Model) -> OnlineClassifier:
        names = model.classes
        if None in names or (len(names) < 2 and model.learner.settings.task != "multilabel"):
            met = ", ".join(repr(name) for name in names if name is not None)
            raise ValueError(f"the data have one class only ({met}); two or more are needed")
        return put_model(self.estimator, model)

    def _report(self, client: Client, training: Rounds, options: dict[str, Any]) -> None:
        if self.progress is True:
            n = len(client.scheduler_info(n_workers=-1)["workers"])
            what = f"{options['parts']} parts on {n} workers, {len(training)} rounds"
            print(f"{what}; {dashboard(client)}", file=sys.stderr)

    def _show(self, account: Round) -> None:
        if self.progress is True:
            print(account, file=sys.stderr)
        elif callable(self.progress):
            self.progress(account)
