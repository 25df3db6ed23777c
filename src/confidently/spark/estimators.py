"""Estimators and models of pyspark.ml."""

from __future__ import annotations

from typing import Any, ClassVar

from pyspark.ml import Estimator, Model
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasProbabilityCol
from pyspark.sql import DataFrame

from ..estimators.loading import load
from ..rounds.preparation import DEFAULT_ROUNDS, take_trained
from ..rounds.rounds import Round
from .params import NATIVE, READING, declare, defaults_of
from .predictions import Columns, OfEstimators, Predictor, predicted
from .saving import Readable, Writable
from .sending import is_classic, send
from .training import Training

COLUMNS = {
    "weightCol": "column of weights",
    "varianceCol": "column of variances of the scores, or of the squared standard deviations of targets",
    "setCol": "column of the set of classes that has the true one with the probability coverage; none by default",
    "intervalCol": "column of the interval that has the target with the probability coverage; none by default",
    "coverage": "probability of sets and intervals, in (0, 1)",
}
TRAINING = {
    "rounds": "number of merges per pass",
    "classes": "all possible classes; by default those that appear",
    "multilabel": "whether rows have any number of labels; by default inferred",
    "on_error": "action on an invalid row: stop, skip, or skip at most so many",
}


class Shared(HasLabelCol, HasPredictionCol, HasProbabilityCol, Readable, Writable):
    """What estimators and their models have in common: columns, and how they are saved."""

    native: ClassVar[type]  # the estimator of the package

    def _take(self, params: dict[str, Any]) -> None:
        """Set parameters, given by name; ``TypeError`` for an unknown one."""
        for name in params:
            if not self.hasParam(name):
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}")
        self._set(**params)

    def setParams(self, **params: Any) -> Any:
        """Set parameters by name and return the object itself."""
        self._take(params)
        return self

    def value(self, name: str) -> Any:
        """Return a parameter, or its default."""
        return self.getOrDefault(name)


declare(Shared, COLUMNS)


class OnlineEstimator(Shared, Estimator):
    """Base of the estimators."""

    model: ClassVar[type]

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        native = NATIVE[cls.__name__]
        declare(cls, dict.fromkeys(defaults_of(native), f"as of confidently.{cls.__name__}"))
        cls.native = native

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**defaults_of(self.native), **DEFAULTS)
        self._take(params)

    def _fit(self, dataset: DataFrame) -> Any:
        estimator = self.as_estimator()
        trained, rounds = self.training().run(dataset)
        take_trained(estimator, trained)
        return self._copyValues(self.model(estimator, rounds))

    def as_estimator(self) -> Any:
        """Return the estimator of the package that has these parameters."""
        return self.native(**{name: self.value(name) for name in defaults_of(self.native)})

    def training(self) -> Any:
        """Return how data frames are trained on."""
        return Training(**self.options())

    def options(self) -> dict[str, Any]:
        """Return the parameters of a training."""
        return {
            "estimator": self.as_estimator(),
            "label": self.value("labelCol"),
            "weight": self.value("weightCol") if self.isDefined("weightCol") else None,
            "how": {name: self.value(name) for name in READING if self.isDefined(name)},
            **{name: self.value(name) for name in TRAINING},
        }


declare(OnlineEstimator, TRAINING | READING)


class OnlineModel(Shared, Model):
    """Base of the models.

    Attributes
    ----------
    estimator
        The fitted estimator of the package, which predicts without Spark, too.
    rounds : list of confidently.distributed.Round
        A summary of each round; empty after loading.
    """

    predictor: ClassVar[Predictor] = OfEstimators()

    def __init__(self, estimator: Any = None, rounds: list[Round] | None = None) -> None:
        super().__init__()
        self._setDefault(**MODEL_DEFAULTS)
        self.estimator: Any = estimator
        self.rounds = rounds or []
        self._sent: Any = None  # the estimator, as executors have it, and what it was like
        self._sent_state: Any = None

    def _transform(self, dataset: DataFrame) -> DataFrame:
        spark = dataset.sparkSession
        state = spark.sparkContext if is_classic(spark) else spark, self.estimator, self.estimator.n_seen_
        if state != self._sent_state:
            self._sent, self._sent_state = send(spark, self.estimator), state
        return predicted(self.predictor, self.estimator, self._sent, dataset, self.columns())

    def read_file(self, path: str) -> Any:
        """Return the estimator of a model file."""
        return load(path)

    def columns(self) -> Columns:
        """Return the columns that :meth:`transform` adds."""
        return Columns._make(self.value(name) if self.isDefined(name) else None for name in Columns._fields)


COLUMN_DEFAULTS = {"predictionCol": "prediction", "varianceCol": "variance", "coverage": 0.9}
DEFAULTS: dict[str, Any] = {
    "rounds": DEFAULT_ROUNDS,
    "classes": None,
    "multilabel": None,
    "on_error": "stop",
    **COLUMN_DEFAULTS,
}
MODEL_DEFAULTS: dict[str, Any] = COLUMN_DEFAULTS


class OnlineClassifierModel(OnlineModel):
    """A trained :class:`OnlineClassifier`."""


class AutoClassifierModel(OnlineModel):
    """A trained :class:`AutoClassifier`."""


class OnlineRegressorModel(OnlineModel):
    """A trained :class:`OnlineRegressor`."""


class AutoRegressorModel(OnlineModel):
    """A trained :class:`AutoRegressor`."""


class OnlineClassifier(OnlineEstimator):
    """:class:`confidently.OnlineClassifier` as an estimator of pyspark.ml.

    All columns of a data frame but those of labels, of weights and of ``drop`` are features, which are read as those of
    a Parquet file are; vectors of pyspark.ml are lists of numbers. In each round, every partition of the data frame
    trains a copy of the common model on its next chunk, and the copies are merged as in
    :func:`confidently.distributed.fit`. Spark keeps the rows, in memory or on disks, until training ends.

    Parameters
    ----------
    labelCol, weightCol : str
        Columns of labels ("label") and of weights (none).
    rounds : int, default=16
        Number of merges per pass.
    classes : list, optional
        All possible classes; by default those that appear.
    multilabel, on_error
        As for :func:`confidently.data.open_stream`.
    drop, only, category, text, dates, units, normalize, ...
        How columns are read, by the options of :class:`confidently.data.ReaderOptions` for named columns.
    predictionCol, probabilityCol, varianceCol, setCol, intervalCol : str
        Columns of predictions ("prediction"), probabilities ("probability"), variances of scores ("variance"), and of
        sets of classes or intervals of targets, which are added only if they have a name.
    coverage : float, default=0.9
        Probability of sets and intervals.
    **params
        The parameters of :class:`confidently.OnlineClassifier`.

    Raises
    ------
    confidently.data.DataError, ValueError, TypeError
        From ``fit``, for invalid data or parameters.
    """

    model = OnlineClassifierModel


class AutoClassifier(OnlineEstimator):
    """:class:`confidently.AutoClassifier` as an estimator of pyspark.ml; see :class:`OnlineClassifier`."""

    model = AutoClassifierModel


class OnlineRegressor(OnlineEstimator):
    """:class:`confidently.OnlineRegressor` as an estimator of pyspark.ml; see :class:`OnlineClassifier`."""

    model = OnlineRegressorModel


class AutoRegressor(OnlineEstimator):
    """:class:`confidently.AutoRegressor` as an estimator of pyspark.ml; see :class:`OnlineClassifier`."""

    model = AutoRegressorModel
