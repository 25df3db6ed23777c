"""The parameters of an estimator that its learner does not check, and which of them a model file keeps."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from operator import is_
from typing import Any

import numpy as np

from ..covariances.settings import Settings
from ..covariances.table import make_covariance
from ..data.memory.labels import check_class_weight, plain_class_weight
from ..encoders import check_encoder
from ..learner.recipe import Recipe
from ..rules import make_rule
from ..rules.rule import Rule
from ..tasks.targets import check_bounds
from ..views.table import AUTO, make_view
from ..views.view import View
from .groups import check_coverage_by
from .passing import check_tol

SHARED = tuple(field.name for field in fields(Settings) if field.name != "task")  # parameters that are the learner's
CONSTANT = (str, int, float, type(None), Rule)  # types of parameters that do not change in place


def chooses_view(estimator: Any) -> bool:
    """Return whether the rows choose the view of an estimator."""
    return isinstance(estimator.view, str) and estimator.view == AUTO


def view_of(estimator: Any, default: View | None) -> View | None:
    """Return the view of an estimator: the default, if the rows choose it."""
    return default if chooses_view(estimator) else make_view(estimator.view)


def _make_named_view(view: Any, **parameters: Any) -> View | None:
    """Return a view as :func:`make_view` does, and None for "auto", which has no parameters."""
    if not (isinstance(view, str) and view == AUTO):
        return make_view(view, **parameters)
    if parameters:
        raise ValueError(
            f"view='auto' has no parameter {next(iter(parameters))!r}; pass a view, too, such as view='standard'"
        )
    return None


WHOLES: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("rule", make_rule),
    ("view", _make_named_view),
)  # with parameters


def recipe_of(estimator: Any, view: View | None, dtype: str | None = None, targets: bool = False) -> Recipe:
    """Return the recipe of an estimator's learner with a view; the state has its type, or ``dtype``."""
    settings = {name: getattr(estimator, name) for name in SHARED if name != "rule" and hasattr(estimator, name)}
    settings |= {} if dtype is None else {"dtype": dtype}
    if settings.get("average") == AUTO:
        settings["average"] = estimator._averages
    multiclass = getattr(estimator, "multiclass", None)
    if targets:
        settings["bounds"] = check_bounds(estimator.bounds)
    return Recipe.of(make_rule(estimator.rule), view, multiclass, targets=targets, **settings)


def check_training(estimator: Any, partial: bool) -> None:
    """Raise ``ValueError`` for an invalid setting of the training; ``partial``: only some of the rows are there."""
    check_passes(estimator.passes, estimator.chooses_passes)
    check_shuffle(estimator.shuffle)
    check_tol(estimator.tol)
    check_class_weight(estimator.class_weight, partial)
    check_encoder(estimator.encoder)
    check_coverage_by(estimator)


def check_passes(passes: Any, chosen: bool = False) -> None:
    """Raise ``ValueError`` unless it is an integer >= 1, or "auto" if the number may be ``chosen``."""
    if chosen and isinstance(passes, str) and passes == AUTO:
        return
    if isinstance(passes, bool) or not isinstance(passes, numbers.Integral) or passes < 1:
        allowed = 'be "auto" or' if chosen else "be"
        raise ValueError(f"passes must {allowed} an integer >= 1, got {passes!r}")


def check_shuffle(shuffle: Any) -> None:
    """Raise ``ValueError`` unless it is "auto", True or False."""
    if not (isinstance(shuffle, bool | np.bool_) or (isinstance(shuffle, str) and shuffle == AUTO)):
        raise ValueError(f'shuffle must be "auto", True or False, got {shuffle!r}')


def check_average(average: Any) -> None:
    """Raise ``ValueError`` unless it is "auto", True or False."""
    if not (isinstance(average, bool | np.bool_) or (isinstance(average, str) and average == AUTO)):
        raise ValueError(f'average must be "auto", True or False, got {average!r}')


def check_unchanged(settings: Settings, wanted: Settings, same_view: bool) -> Settings:
    """Return a learner's settings with the wanted rule; raise ``ValueError`` if more has changed than the rule."""
    followed = replace(settings, rule=wanted.rule)
    stored_alike = type(make_covariance(wanted)) is type(make_covariance(settings))
    if not same_view or not stored_alike or replace(wanted, task=settings.task) != followed:
        fixed = ", ".join([*(name for name in SHARED if name != "rule"), "view"])
        raise ValueError(
            f"{fixed}, and whether the rule gains precision cannot change after training has begun; call fit to train "
            "from scratch, or restore the old settings"
        )
    return followed


def nested_params(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator's rule and view, as ``rule__...`` and ``view__...``."""
    found: dict[str, Any] = {}
    for whole, make in WHOLES:
        if not hasattr(estimator, whole):
            continue
        try:
            made = make(getattr(estimator, whole))
        except (TypeError, ValueError):
            continue  # fit reports an invalid one
        own = {} if made is None else made.get_params()
        found.update({f"{whole}__{name}": value for name, value in own.items()})
    return found


def set_nested(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters to set, with those of the rule and the view as a rule and a view that have them."""
    for whole, make in WHOLES:
        prefix = f"{whole}__"
        if not hasattr(estimator, whole):
            continue
        nested = {key.removeprefix(prefix): params[key] for key in params if key.startswith(prefix)}
        params = {key: value for key, value in params.items() if not key.startswith(prefix)}
        if nested:
            params[whole] = make(params.get(whole, getattr(estimator, whole)), **nested)
    return params


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(kind._get_param_names())  # type: ignore[attr-defined]


def parameters_of(estimator: Any) -> tuple[Any, ...]:
    """Return the parameters that are checked when training begins; the random state is looked at in every call."""
    own = vars(estimator)
    return tuple([own.get(name) for name in _names(estimator.__class__) if name != "random_state"])


def are_constant(estimator: Any, parameters: tuple[Any, ...]) -> bool:
    """Return whether none of the parameters can change in place, so that the same objects need no second check.

    Class weights may: they are looked at in every call.
    """
    class_weight = getattr(estimator, "class_weight", None)
    return all(isinstance(value, CONSTANT) or value is class_weight for value in parameters)


def are_the_same(before: tuple[Any, ...], parameters: tuple[Any, ...]) -> bool:
    """Return whether parameters are the very objects that others are."""
    return len(before) == len(parameters) and all(map(is_, before, parameters))


def saved_training(estimator: Any) -> dict[str, Any]:
    """Return the settings of the training that a model file keeps; a generator of random numbers is not saved."""
    seed = int(estimator.random_state) if isinstance(estimator.random_state, numbers.Integral) else None
    shuffle = AUTO if estimator.shuffle == AUTO else bool(estimator.shuffle)
    weights = {} if estimator.predicts_numbers else {"class_weight": plain_class_weight(estimator.class_weight)}
    passes = AUTO if estimator.passes == AUTO else int(estimator.passes)
    return {"passes": passes, "shuffle": shuffle, **weights, "random_state": seed}
