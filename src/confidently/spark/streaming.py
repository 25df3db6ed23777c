"""Training on the micro-batches of Structured Streaming, each exactly once."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from ..models.file import ModelFileError
from ..models.model import Model
from .estimators import OnlineEstimator
from .training import Training

BATCH = "batch"  # the number of the last micro-batch, in a model file


class StreamTrainer:
    """A function for ``foreachBatch``, which trains one model on the micro-batches of a stream, on each exactly once.

    The model and the number of the last micro-batch are one file, which is replaced as a whole after each. A query that
    was killed runs its last micro-batch again. If the file has it already, it is left out; otherwise the model of the
    micro-batch before continues, to the same bytes.

    Parameters
    ----------
    estimator : OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        Of ``confidently.spark``; makes one pass over each micro-batch, in ``rounds`` rounds.
    path : path
        Of the model file, which :func:`confidently.load` reads; as the query's checkpoint, it must outlive the driver.

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    confidently.data.DataError, ValueError, TypeError
        When called with invalid data, such as columns that are missing or have other types than in the first
        micro-batch. The query then ends, and the file is unchanged.

    Examples
    --------
    A query that trains on what it reads::

        from confidently.spark import OnlineClassifier, StreamTrainer
        trainer = StreamTrainer(OnlineClassifier(rounds=1), "clicks.cw")
        query = clicks.writeStream.option("checkpointLocation", "clicks").foreachBatch(trainer).start()
    """

    def __init__(self, estimator: OnlineEstimator, path: str | os.PathLike[str]) -> None:
        if not isinstance(estimator.training(), Training):
            raise TypeError(f"StreamTrainer: {type(estimator).__name__} is not trained on streams; use fit")
        self.estimator, self.path = estimator, os.fspath(path)

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Train on a micro-batch; do nothing for the last one that was trained on, or one without rows."""
        base = self.model()
        trained = -1 if base is None else base.training[BATCH]
        if number < trained:
            raise ValueError(
                f"{self.path}: the model has seen micro-batch {trained}, and the query begins again at {number}; use "
                "the checkpoint of the query that trained it, or another file"
            )
        if number == trained or batch.isEmpty():
            return
        model, _ = self.estimator.training().run(batch, base)
        replace(model, training={BATCH: number}).save(self.path)

    def model(self) -> Model | None:
        """Return the model of the file, if there is one.

        Raises
        ------
        ModelFileError
            If it was not written by a trainer, or is damaged.
        """
        if not os.path.exists(self.path):
            return None
        model = Model.load(self.path)
        if not isinstance(model.training.get(BATCH), int):
            raise ModelFileError(f"{self.path}: the model was not trained on micro-batches; use another file")
        return model

    def as_estimator(self) -> Any:
        """Return the fitted estimator of the package that the file has, as :func:`confidently.load` does."""
        from ..estimators.loading import load

        return load(self.path)
