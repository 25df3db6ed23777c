"""The parameters of an estimator of the package as those of pyspark.ml, and as JSON."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from pyspark.ml.param import Param, Params

from ..entities import EntityModels
from ..estimators.auto import AutoClassifier, AutoRegressor
from ..estimators.classifier import OnlineClassifier
from ..estimators.regressor import OnlineRegressor
from ..rules import make_rule
from ..rules.rule import Rule
from ..views.table import make_view
from ..views.view import View

NATIVE = {
    kind.__name__: kind for kind in (OnlineClassifier, AutoClassifier, OnlineRegressor, AutoRegressor, EntityModels)
}
READING = {  # options of reading, and what they do
    "drop": "columns to leave out",
    "only": "the only columns to read besides labels and weights",
    "category": "columns of numbers to read as categories",
    "text": "columns of text to read as n-grams",
    "dates": "columns of text or numbers to read as dates and times",
    "units": "columns of numbers in text with a unit",
    "analyzer": "unit of the n-grams: word or char",
    "ngrams": "shortest and longest n-gram",
    "counts": "value of an n-gram: count or binary",
    "bits": "names of features are hashed into 2^bits columns",
    "vocabulary": "keep every name exactly instead of hashing",
    "normalize": "whether rows are scaled to unit norm: l2 or none",
    "missing_label": "action on a row without a label: error or skip",
    "zeros": "whether a number that is 0 is an entry of its row",
}


def defaults_of(native: type) -> dict[str, Any]:
    """Return the parameters of an estimator of the package, and their defaults."""
    parameters = signature(native).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not Parameter.empty}


def declare(kind: type, described: dict[str, str]) -> None:
    """Give a class of pyspark.ml these parameters; a class attribute for each is where pyspark looks for them."""
    for name, text in described.items():
        setattr(kind, name, Param(Params._dummy(), name, text))


def as_json(value: Any) -> Any:
    """Return the value of a parameter as JSON can hold it.

    Raises
    ------
    ValueError
        For one that JSON cannot hold.
    """
    if isinstance(value, Rule):
        return {"rule": value.name, "of": as_json(value.get_params())}
    if isinstance(value, View):
        return {"view": value.name, "of": as_json(value.get_params())}
    if type(value).__name__ in NATIVE:
        return {"estimator": type(value).__name__, "of": as_json(value.get_params(deep=False))}
    if isinstance(value, dict):
        return {"dict": [[as_json(key), as_json(one)] for key, one in value.items()]}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    if hasattr(value, "item"):  # a number of NumPy
        value = value.item()
    if isinstance(value, str | bool | int | float | None):
        return value
    raise ValueError(f"a parameter that is {type(value).__name__} cannot be saved, got {value!r}")


def from_json(value: Any) -> Any:
    """Return the value of a parameter that :func:`as_json` wrote."""
    if isinstance(value, list):
        return [from_json(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "dict" in value:
        return {from_json(key): from_json(one) for key, one in value["dict"]}
    own = from_json(value["of"])
    if "rule" in value:
        return make_rule(value["rule"], **own)
    return make_view(value["view"], **own) if "view" in value else NATIVE[value["estimator"]](**own)
