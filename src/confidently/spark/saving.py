"""Saving estimators and models as pyspark.ml does: parameters as JSON, and a model file in rows of bytes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import SparkSession

from .params import as_json, from_json
from .sending import is_classic

CHUNK = 1 << 26  # bytes of a model file in a row


class Writable(MLWritable):
    """What can be saved."""

    def write(self) -> MLWriter:
        """Return what saves the object."""
        return Writer(self)


class Readable(MLReadable):
    """What can be loaded."""

    @classmethod
    def read(cls) -> MLReader[Any]:
        """Return what loads an object."""
        return Reader(cls)


class Writer(MLWriter):
    """Writes parameters, and of a model also its file."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        instance, spark = self.instance, self.sparkSession
        given = {param.name: as_json(value) for param, value in instance._paramMap.items()}
        plain = instance.copy()
        plain._defaultParamMap = {param: as_json(value) for param, value in instance._defaultParamMap.items()}
        DefaultParamsWriter.saveMetadata(plain, path, context(spark), paramMap=given)
        if (estimator := getattr(instance, "estimator", None)) is not None:
            content = saved(estimator)
            rows = [(k, content[first : first + CHUNK]) for k, first in enumerate(range(0, len(content), CHUNK))]
            spark.createDataFrame(rows, "number int, content binary").coalesce(1).write.parquet(f"{path}/model")


class Reader(MLReader[Any]):
    """Reads what :class:`Writer` wrote."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        spark = self.sparkSession
        name = f"{self.kind.__module__}.{self.kind.__name__}"
        metadata = DefaultParamsReader.loadMetadata(path, context(spark), name)
        instance = self.kind()
        instance._resetUid(metadata["uid"])
        instance._set(**{key: from_json(value) for key, value in metadata["paramMap"].items()})
        instance._setDefault(**{key: from_json(value) for key, value in metadata["defaultParamMap"].items()})
        if hasattr(instance, "estimator"):
            rows = spark.read.parquet(f"{path}/model").orderBy("number").collect()
            instance.estimator = restored(instance.read_file, b"".join(bytes(row.content) for row in rows))
        return instance


def context(spark: SparkSession) -> Any:
    """Return what pyspark writes metadata with: a session from version 4 on, a context before."""
    return spark if not is_classic(spark) or int(spark.version.partition(".")[0]) >= 4 else spark.sparkContext


def saved(estimator: Any) -> bytes:
    """Return the model file of an estimator."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.cw")
        estimator.save(path)
        with open(path, "rb") as file:
            return file.read()


def restored(read_file: Callable[[str], Any], content: bytes) -> Any:
    """Return the estimator of a model file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.cw")
        with open(path, "wb") as file:
            file.write(content)
        return read_file(path)
