"""Estimators of `pyspark.ml <https://spark.apache.org/docs/latest/ml-guide.html>`_ (the extra ``spark``).

In every round each partition of a data frame trains a copy of the common model on its next chunk, and the copies are
merged (docs/spark.md).
"""

from importlib.util import find_spec

from ..extras import install

if find_spec("pyspark") is None:
    raise ImportError(f"confidently.spark needs pyspark; run {install('spark')}")

from .entities import EntityModels, EntityModelsModel
from .estimators import (
    AutoClassifier,
    AutoClassifierModel,
    AutoRegressor,
    AutoRegressorModel,
    OnlineClassifier,
    OnlineClassifierModel,
    OnlineRegressor,
    OnlineRegressorModel,
)
from .streaming import StreamTrainer

__all__ = [
    "AutoClassifier",
    "AutoClassifierModel",
    "AutoRegressor",
    "AutoRegressorModel",
    "EntityModels",
    "EntityModelsModel",
    "OnlineClassifier",
    "OnlineClassifierModel",
    "OnlineRegressor",
    "OnlineRegressorModel",
    "StreamTrainer",
]
