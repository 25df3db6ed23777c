"""The flavor ``confidently`` of `MLflow <https://mlflow.org>`_ (the extra ``mlflow``): a model file, and a pyfunc.

Docs: docs/mlflow.md.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from importlib.util import find_spec
from typing import Any

from .extras import install

if find_spec("mlflow") is None:
    raise ImportError(f"confidently.mlflow needs MLflow; run {install('mlflow')}")

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # MLflow warns of its own types
    import mlflow.pyfunc
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec
from mlflow.types.schema import AnyType

from . import __version__
from .data.reading import ReaderOptions
from .estimators.auto import AutoClassifier, AutoRegressor
from .estimators.classifier import OnlineClassifier
from .estimators.loading import load
from .estimators.regressor import OnlineRegressor
from .rules.ranges import check_choice

FLAVOR_NAME = "confidently"
FILE = "model.cw"
SAVED = (OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor)
OF_CLASSES = ("predict", "predict_proba", "predict_set", "novelty")
OF_NUMBERS = ("predict", "predict_interval", "novelty")
PARAMS = ParamSchema([ParamSpec("method", "string", "predict"), ParamSpec("coverage", "double", 0.9)])

__all__ = [
    "FLAVOR_NAME",
    "get_default_pip_requirements",
    "load_model",
    "log_model",
    "save_model",
    "signature_of",
]


def get_default_pip_requirements() -> list[str]:
    """Return what a model of this flavor needs."""
    return [f"confidently=={__version__}"]


def save_model(
    estimator: Any, path: str | os.PathLike[str], *, mlflow_model: Model | None = None,
    signature: ModelSignature | None = None, pip_requirements: Any = None, **options: Any,
) -> None:  # fmt: skip
    """Save a fitted estimator as a model of MLflow.

    Parameters
    ----------
    estimator : OnlineClassifier, AutoClassifier, OnlineRegressor or AutoRegressor
        Fitted. Of a model of ``confidently.spark``, its ``estimator``.
    path : path
        Of a folder that does not exist, or is empty.
    signature : ModelSignature, optional
        By default that of :func:`signature_of`.
    pip_requirements, mlflow_model, **options
        As for ``mlflow.pyfunc.save_model``, such as ``input_example`` and ``metadata``.

    Raises
    ------
    TypeError
        For another object.
    ValueError
        If the estimator is not fitted.
    mlflow.exceptions.MlflowException
        As ``mlflow.pyfunc.save_model`` does.
    """
    if not isinstance(estimator, SAVED):
        names = ", ".join(kind.__name__ for kind in SAVED)
        raise TypeError(f"save_model: expected one of {names}, got {type(estimator).__name__}")
    model = Model() if mlflow_model is None else mlflow_model
    model.add_flavor(FLAVOR_NAME, data=f"data/{FILE}", version=__version__, model_class=type(estimator).__name__)
    if pip_requirements is None and "conda_env" not in options:
        pip_requirements = get_default_pip_requirements()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*input example was not provided")  # the signature is that of training
        file = os.path.join(folder, FILE)
        estimator.save(file)
        mlflow.pyfunc.save_model(
            os.fspath(path), loader_module=__name__, data_path=file, mlflow_model=model,
            signature=signature_of(estimator) if signature is None else signature, pip_requirements=pip_requirements,
            **options,
        )  # fmt: skip


def log_model(estimator: Any, name: str, *, registered_model_name: str | None = None, **options: Any) -> Any:
    """Log a fitted estimator as a model of the active run, and return what MLflow knows of it.

    Parameters
    ----------
    estimator, options
        As for :func:`save_model`.
    name : str
        Of the model.
    registered_model_name : str, optional
        In the registry, to which it is added as a new version.
    """
    return Model.log(
        artifact_path=None, name=name, flavor=sys.modules[__name__], estimator=estimator,
        registered_model_name=registered_model_name,
        **options,
    )  # fmt: skip


def load_model(model_uri: str, dst_path: str | None = None) -> Any:
    """Return the fitted estimator of a saved or logged model, which can train further.

    Parameters
    ----------
    model_uri : str
        Such as ``models:/m-...``, ``runs:/...`` or a path.
    dst_path : str, optional
        A folder to download to.
    """
    folder = mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(f"{model_uri}: no model of the flavor {FLAVOR_NAME!r}; there are {', '.join(flavors)}")
    return load(os.path.join(folder, flavors[FLAVOR_NAME]["data"]))


def signature_of(estimator: Any) -> ModelSignature | None:
    """Return what a fitted estimator takes and gives; ``None`` for rows of texts and dicts, which have no columns.

    Columns may have any type: how they are read decides, as for every other frame.
    ``params`` are the ``method`` ("predict", "predict_proba", "predict_set", "predict_interval" or "novelty") and the
    ``coverage`` of sets and intervals.
    """
    inputs = _inputs(estimator)
    if inputs is None:
        return None
    if estimator.predicts_numbers:
        outputs = Schema([TensorSpec(np.dtype(np.float64), (-1,))])
    else:
        outputs = Schema([ColSpec(_type_of(estimator.classes_.dtype))])
    return ModelSignature(inputs, outputs, PARAMS)


def _inputs(estimator: Any) -> Schema | None:
    source = getattr(estimator, "source_", None)
    if not source:
        names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            return Schema([TensorSpec(np.dtype(np.float64), (-1, estimator.n_features_in_))])
        return Schema([ColSpec(AnyType(), str(name)) for name in names])
    header = ReaderOptions.from_dict(source).header
    return Schema([ColSpec(AnyType(), name) for name in header]) if header else None


def _type_of(kind: np.dtype[Any]) -> str:
    """Return the type of classes."""
    return {"i": "long", "u": "long", "f": "double", "b": "boolean"}.get(kind.kind, "string")


class Predictor:
    """What MLflow calls to predict."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def get_raw_model(self) -> Any:
        """Return the fitted estimator."""
        return self.estimator

    def predict(self, model_input: Any, params: dict[str, Any] | None = None) -> Any:
        """Return predictions of rows.

        Parameters
        ----------
        model_input : data frame or array
        params : dict, optional
            ``method`` and ``coverage``, as in :func:`signature_of`.

        Returns
        -------
        array, list or pandas.DataFrame
            Of probabilities, a column for each class; of intervals, the columns ``lower`` and ``upper``; of sets, a
            list of classes for each row.
        """
        given: dict[str, Any] = {"method": "predict", "coverage": 0.9} | (params or {})
        estimator, method = self.estimator, given["method"]
        check_choice("method", method, OF_NUMBERS if estimator.predicts_numbers else OF_CLASSES)
        if method == "predict_proba":
            return _frame(estimator.predict_proba(model_input), estimator.classes_)
        if method == "predict_set":
            sets = estimator.predict_set(model_input, coverage=given["coverage"])
            return [estimator.classes_[row].tolist() for row in sets]
        if method == "predict_interval":
            return _frame(estimator.predict_interval(model_input, coverage=given["coverage"]), ["lower", "upper"])
        return getattr(estimator, method)(model_input)


def _frame(numbers: Any, columns: Any) -> Any:
    import pandas as pd  # which MLflow needs for this as well

    return pd.DataFrame(numbers, columns=columns)


def _load_pyfunc(path: str) -> Predictor:
    """Return what MLflow calls to predict, given the path of the model file."""
    return Predictor(load(path))
