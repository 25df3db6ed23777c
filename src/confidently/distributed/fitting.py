"""``fit`` and ``partial_fit`` of an estimator on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from distributed import Client

from ..data import ReaderOptions
from ..data.memory.labels import training_of
from ..estimators.streams import check_values_kept
from ..models.model import Model
from ..rounds.preparation import (
    DEFAULT_ROUNDS,
    AnyEstimator,
    Estimator,
    check_estimator,
    initial_model,
    seed_of,
    shuffling_of,
    take_trained,
)
from ..rounds.rounds import Round, Rounds
from ..wording import counted
from .cluster import connected, dashboard, n_threads
from .frames import Frames, is_collection, paths_of
from .training import surveyed, training_on_files

Report = Callable[[Round], None]


def fit(
    estimator: Estimator,
    data: Any,
    y: Any = None,
    *,
    client: Client | str | None = None,
    workers: int | None = None,
    partitions: int | None = None,
    rounds: int = DEFAULT_ROUNDS,
    shuffle: str | None = None,
    sample_weight: Any = None,
    classes: Any = None,
    multilabel: bool | None = None,
    on_error: str | int = "stop",
    progress: bool | Report = False,
    reading: ReaderOptions | None = None,
    **how: Any,
) -> Estimator:
    """Train from scratch on a cluster, in rounds after which the models of all partitions are merged.

    With the base N(mean_0, P_0^-1) of a round and the model N(mean_i, P_i^-1) of partition i after it::

        P = P_0 + sum_i (P_i - P_0),     P mean = P_0 mean_0 + sum_i (P_i mean_i - P_0 mean_0)

    is the base of the next round. Every row is trained on once per pass, for any number of rounds. The result depends
    on ``partitions``, ``rounds`` and the data, not on the number of workers.

    Parameters
    ----------
    estimator : OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        Without a kernel. It makes ``passes`` passes; its ``shuffle=True`` means "within", and "auto" None. The members
        of a stack, unless given, are chosen once, by the first 1000 rows of all, so that all partitions train the same;
        each member is merged as a single learner is. Ridge regressions with a full or shared
        covariance are those of one pass over all rows, up to rounding.
    data : path, list or dask.bag of paths; or dask.array or dask.dataframe
        Files, folders and globs as for :func:`confidently.data.open_stream`, which every worker can open; or rows of
        numbers.
    y : dask.array, dask.dataframe.Series or str, optional
        The labels of an array or a data frame, in the same chunks of rows as ``data``; or the name of a column.
    client : distributed.Client or str, optional
        Of an existing cluster, or the address of its scheduler. By default processes on this machine.
    workers : int, optional
        Number of these processes; by default one per processor.
    partitions : int, optional
        Number of partitions of the data that are trained on in parallel; by default as many as the workers have
        threads.
    rounds : int, default=16
        Number of merges per pass. More rounds are closer to training one model on all rows, and send more.
    shuffle : {None, "within", "between"}
        Shuffle the rows of every chunk; or also deal small pieces of the data to the chunks at random.
    sample_weight : dask.array or dask.dataframe.Series, optional
        Weights of the rows of an array or a data frame.
    classes : sequence, optional
        All possible classes. By default the classes in files are added as they appear, and those in arrays are
        collected beforehand.
    multilabel, on_error, reading, **how
        For files, as in :func:`confidently.data.open_stream`.
    progress : bool or callable
        Write one line per round to standard error; or a function to call with each :class:`Round`.

    Returns
    -------
    OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        The estimator, fitted. Rows, mistakes and updates of all partitions are added.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError, TypeError
        For invalid data or parameters; the estimator is then unchanged.
    distributed.scheduler.KilledWorker
        If one task has lost four workers, for example for lack of memory.

    Notes
    -----
    In a script, call this function under ``if __name__ == "__main__":``, as always when Python starts processes.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from confidently import OnlineClassifier, distributed
    >>> X, y = (da.from_array(array, chunks=(200, -1)[:array.ndim]) for array in load_digits(return_X_y=True))
    >>> classifier = distributed.fit(OnlineClassifier(), X[:1400] / 16, y[:1400], workers=1, partitions=4, rounds=4)
    >>> classifier.n_seen_
    1400
    """
    with training_of(estimator):
        training = _Training(estimator, client, workers, partitions, rounds, shuffle, progress)
        estimator._forget("feature_names_in_", "n_features_in_")
        training.run(data, y, sample_weight, classes, multilabel, on_error, reading, how)
    return estimator


def partial_fit(
    estimator: Estimator, data: Any, y: Any = None, *, client: Client | str | None = None,
    workers: int | None = None, partitions: int | None = None, rounds: int = DEFAULT_ROUNDS, shuffle: str | None = None,
    sample_weight: Any = None, on_error: str | int = "stop", progress: bool | Report = False,
) -> Estimator:  # fmt: skip
    """Train on more data of the same kind on a cluster, in one pass; the parameters are those of :func:`fit`.

    Raises
    ------
    confidently.data.DataError, OSError, ValueError, TypeError
        For invalid data or parameters; the estimator is then unchanged.
    """
    if not hasattr(estimator, "learner_"):
        raise ValueError("partial_fit needs a fitted classifier; call fit first")
    with training_of(estimator):
        training = _Training(estimator, client, workers, partitions, rounds, shuffle, progress, estimator.as_model())
        training.run(data, y, sample_weight, None, None, on_error, None, {})
    return estimator


class _Training:
    """The common part of ``fit`` and ``partial_fit``."""

    def __init__(
        self, estimator: AnyEstimator, client: Client | str | None, workers: int | None, partitions: int | None,
        rounds: int, shuffle: str | None, progress: bool | Report, base: Model | None = None,
    ) -> None:  # fmt: skip
        check_estimator(estimator, shuffle, partitions=partitions, rounds=rounds, workers=workers)
        self.estimator, self.base, self.progress = estimator, base, progress
        self.client, self.workers, self.partitions, self.rounds = client, workers, partitions, rounds
        self.shuffle, self.seed = shuffling_of(estimator, shuffle), seed_of(estimator)

    def run(
        self, data: Any, y: Any, sample_weight: Any, classes: Any, multilabel: bool | None, on_error: str | int,
        reading: ReaderOptions | None, how: dict[str, Any],
    ) -> None:  # fmt: skip
        with ExitStack() as stack:
            client = stack.enter_context(connected(self.client, self.workers))
            options: dict[str, Any] = {
                "partitions": self.partitions or n_threads(client), "rounds": self.rounds, "shuffle": self.shuffle,
                "seed": self.seed, "passes": 1 if self.base else self.estimator._passes(),
                "calibrate": self.estimator._calibrates,
            }  # fmt: skip
            if is_collection(data):
                if how or reading is not None or multilabel is not None or on_error != "stop":
                    given = [*how, *(["reading"] if reading is not None else [])] or ["multilabel or on_error"]
                    raise ValueError(f"{', '.join(given)}: options of reading apply to files, got rows; leave them out")
                frames = Frames(client, data, y, sample_weight, self.estimator)
                training = frames.training(self.base or frames.initial_model(classes), **options)
            else:
                if y is not None or sample_weight is not None:
                    raise ValueError(
                        "y and sample_weight apply to arrays and data frames; files contain labels and weights"
                    )
                training = self._files(client, paths_of(data), classes, multilabel, on_error, reading, how, options)
            self._report(client, training, options)
            for summary in training:
                self._show(summary)
        take_trained(self.estimator, training.model)

    def _files(
        self, client: Client, paths: list[str], classes: Any, multilabel: bool | None, on_error: str | int,
        reading: ReaderOptions | None, how: dict[str, Any], options: dict[str, Any],
    ) -> Rounds:  # fmt: skip
        base = self.base
        if base is not None:
            if not base.source:
                raise ValueError(
                    "the estimator was trained on arrays, which do not define the columns of files; pass arrays"
                )
            reading, multilabel = ReaderOptions.from_dict(base.source), base.learner.task.multilabel
        estimator = self.estimator
        if estimator.predicts_numbers:
            if multilabel or classes is not None:
                raise ValueError("targets are numbers, not labels; leave out multilabel and classes")
            multilabel, how = False, how | {"targets": True}
        by_default = base is None and estimator._is_seen_by_default
        found = surveyed(client, paths, reading, multilabel, on_error, by_default, **how)
        model = base or initial_model(estimator, found, classes)
        check_values_kept(model.learner.view, found.reading)
        weights = estimator.class_weight
        return training_on_files(client, found, model, on_error=on_error, class_weight=weights, **options)

    def _report(self, client: Client, training: Rounds, options: dict[str, Any]) -> None:
        if self.progress is True:
            n = len(client.scheduler_info(n_workers=-1)["workers"])
            print(
                f"{counted(options['partitions'], 'partition')} on {counted(n, 'worker')}, "
                f"{counted(len(training), 'round')}; {dashboard(client)}",
                file=sys.stderr,
            )

    def _show(self, summary: Round) -> None:
        if self.progress is True:
            print(summary, file=sys.stderr)
        elif callable(self.progress):
            self.progress(summary)
