"""Models of entities: rows are partitioned by their keys, so that every entity is trained in one partition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.param import Param, Params
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, StringType

from .. import entities
from ..data.formats.table import TYPED
from ..data.reading import DEFAULT_LABEL
from ..data.selection import joined
from ..entities.merging import EntityPart
from ..entities.scores import numbers
from ..rounds.entities import begin, check_entities, finished
from ..rounds.preparation import check_counts
from ..rounds.rounds import Round, Rounds
from ..rounds.tasks import Failure
from .engine import SparkEngine
from .estimators import OnlineEstimator, OnlineModel
from .predictions import NUMBERS, Added, Columns, are_numbers, arrow_type, as_column
from .reading import check_columns, columns_of
from .sending import partitions_of
from .training import HEAD_ROWS
from .units import quoted, table_of, units_of, warn_if_one

ORDER = "confidently order"  # the column of the order of rows, before a shuffle


@dataclass(frozen=True)
class EntityTraining:
    """How a model of entities trains on data frames; the attributes are those of :class:`Training`, and ``partitions``.

    ``partitions`` is the number of partitions of keys.
    """

    estimator: entities.EntityModels
    label: str = DEFAULT_LABEL
    weight: str | None = None
    how: dict[str, Any] = field(default_factory=dict)
    rounds: int = 1
    classes: list[Any] | None = None
    multilabel: bool | None = None
    on_error: str | int = "stop"
    partitions: int | None = None

    def run(self, frame: DataFrame) -> tuple[EntityPart, list[Round]]:
        """Return what was trained on a data frame, and the summary of each round.

        Raises
        ------
        confidently.data.DataError, ValueError, TypeError
            For invalid data or parameters.
        """
        check_entities(self.estimator)
        check_counts(rounds=self.rounds, partitions=self.partitions)
        key = str(self.estimator.key)
        needed = [name for name in (self.label, self.weight, key) if name is not None]
        check_columns(frame, needed)
        left_out = [name for name in self.how.get("drop", ()) if name not in needed]
        columns = [name for name in frame.columns if name not in left_out]
        how = {"format": TYPED, "label": self.label, "weight": self.weight, **self.how}
        how |= {"drop": [name for name in left_out if name not in frame.columns], "multilabel": self.multilabel}
        with units_of(by_keys(frame, key, self.partitions or partitions_of(frame)), columns) as units:
            warn_if_one(units)
            begun = begin(self.estimator, units.head(HEAD_ROWS), how, self.on_error, self.classes)
            if isinstance(begun, Failure):
                raise begun.error
            base, job = begun
            max_skipped = self.on_error if isinstance(self.on_error, int) else float("inf")
            rounds = Rounds(SparkEngine(units), base, units.grid(self.rounds), job, max_skipped=max_skipped)
            summaries = list(rounds)
            return rounds.model, summaries


def by_keys(frame: DataFrame, key: str, partitions: int) -> DataFrame:
    """Return the rows in partitions by a hash of their keys, in each in the order of the data frame.

    Spark's shuffles have no order of their own, so rows are sorted by where they were.
    """
    numbered = frame.withColumn(ORDER, F.monotonically_increasing_id())
    return numbered.repartition(partitions, quoted(key)).sortWithinPartitions(ORDER).drop(ORDER)


class OfEntities:
    """Predictions of models of entities."""

    def read(self, estimator: Any, frame: DataFrame) -> list[str]:
        check_columns(frame, [estimator.key])
        return [*columns_of(estimator.shared_.as_model(), frame), estimator.key]

    def added(self, estimator: Any, columns: Columns) -> list[Added]:
        of_methods = [
            (columns.predictionCol, DoubleType(), "predict"),
            (columns.varianceCol, DoubleType(), "variance"),
        ]
        if not estimator._regression:
            label = DoubleType() if are_numbers(estimator) else StringType()
            of_methods = [
                (columns.predictionCol, label, "predict"),
                (columns.probabilityCol, NUMBERS, "predict_proba"),
                (columns.varianceCol, NUMBERS, "variance"),
            ]
        return [Added(name, kind, method) for name, kind, method in of_methods if name]

    def answers(self, estimator: Any, rows: pa.RecordBatch, added: list[Added], coverage: float) -> list[pa.Array]:
        shared, key = estimator.shared_, estimator.key
        with shared._open(table_of([rows]), ignore_labels=True, freeze=True, keep=(key,)) as stream:
            batch = joined(list(stream))
        scores = estimator._scores_of(shared._known(batch), list(batch.kept[key]))
        if estimator._regression:
            found = dict(zip(("predict", "variance"), numbers(estimator._table, scores), strict=True))
        else:
            p = estimator._probabilities(scores)
            variance = estimator._distribution(scores)[1].reshape(len(p), -1)
            found = {"predict": estimator.classes_[np.argmax(p, axis=1)], "predict_proba": p, "variance": variance}
        return [as_column(found[one.method], arrow_type(one.kind)) for one in added]


class EntityModelsModel(OnlineModel):
    """A trained :class:`EntityModels`."""

    predictor = OfEntities()

    def read_file(self, path: str) -> Any:
        return entities.EntityModels.load(path)


class EntityModels(OnlineEstimator):
    """:class:`confidently.entities.EntityModels` as an estimator of pyspark.ml.

    Rows are partitioned by a hash of their keys, in which they keep their order, so that all rows of an entity are in
    one partition. In each round, every partition trains a copy of the common model on its next chunk; the shared models
    are merged as those of :class:`OnlineClassifier`, and each entity is that of its partition.

    Parameters
    ----------
    key : str
        The column of keys, which are read as strings.
    labelCol, weightCol, classes, on_error, predictionCol, probabilityCol, varianceCol
        As for :class:`OnlineClassifier`, and so are the options of reading.
    rounds : int, default=1
        Number of merges. Entities of one round are trained around the shared model of their partition only.
    partitions : int, optional
        Number of partitions; by default that of the data frame.
    **params
        The parameters of :class:`confidently.entities.EntityModels`, such as ``shared`` and ``entity_variance``.

    Raises
    ------
    confidently.data.DataError, ValueError, TypeError
        From ``fit``, for invalid data or parameters.
    """

    model = EntityModelsModel
    partitions: Any = Param(Params._dummy(), "partitions", "number of partitions of keys; by default the data frame's")

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(rounds=1, partitions=None)
        self._take(params)

    def _fit(self, dataset: DataFrame) -> Any:
        trained, rounds = self.training().run(dataset)
        return self._copyValues(self.model(finished(self.as_estimator(), trained), rounds))

    def training(self) -> EntityTraining:
        """Return how data frames are trained on."""
        return EntityTraining(**self.options(), partitions=self.value("partitions"))
