"""Explanations of a stack's prediction: what each member, and over all of them each feature, adds to it.

The margin between two classes is sum_g w_g (l_g,plus - l_g,minus), that of label k is sum_g w_gk l_gk, and the
prediction of regressions is sum_g w_g m_g.
A member's score is linear in the row it sees, so its part is divided among that row's features, in proportion to what
they add to its own score. The scores of trees are divided among the columns compared on the way to their leaves. Of a
member on cosines, each of which is made of all columns, the part is not divided.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Batch
from ..data.class_order import positive_number
from ..learner.learner import Learner
from ..stack.generative import Generative
from ..stack.label_stack import LabelStack
from ..stack.members import WEIGHTS
from ..stack.number_stack import NumberStack
from ..stack.stack import Stack
from .explanation import (
    Entries,
    class_name,
    class_number,
    columns_of_label,
    explained_classes,
    output_number,
    require_one,
)
from .inspection import INTERCEPT, Naming
from .model import Model

Parts = list[tuple[str | int, float]]  # features, and what they add
ALL_COLUMNS = "(all columns together)"  # what cosines are made of


class MemberPart(NamedTuple):
    """What a member adds to the margin: ``weight`` times its own margin of calibrated scores, ``logit``."""

    name: str
    weight: float
    logit: float

    @property
    def mean(self) -> float:
        return self.weight * self.logit


class FeaturePart(NamedTuple):
    """What a feature, or a product of two, adds to the margin or the number over all members that see it."""

    feature: str | int
    mean: float
    members: int


@dataclass(frozen=True)
class StackExplanation:
    """A stack's prediction for a row, and what members and features add to it.

    Attributes
    ----------
    predicted : object
        The class; multilabel: the list of labels.
    supported, rival : object
        A positive margin favors ``supported`` over ``rival``, which is None for a label.
    mean, variance : float
        The margin of the mixed scores, and the upper bound of its variance
        (:meth:`confidently.stack.stack.Stack.margin_distribution`).
    classes : list of dict
        Name, mixed score and standard deviation, and probability of every class.
    members : list of MemberPart
        Their parts add up to the margin. The largest first.
    features : list of FeaturePart
        The largest first; the members' offsets are those of the intercept.
    """

    predicted: Any
    supported: Any
    rival: Any
    mean: float
    variance: float
    classes: list[dict[str, Any]]
    members: list[MemberPart]
    features: list[FeaturePart]


class NumberPart(NamedTuple):
    """What a member adds to the number that a stack predicts: ``weight`` times its own, ``number``."""

    name: str
    weight: float
    number: float

    @property
    def mean(self) -> float:
        return self.weight * self.number


@dataclass(frozen=True)
class NumberStackExplanation:
    """A number that a stack predicts for a row, and what members and features add to it.

    Attributes
    ----------
    predicted, std : float
        The prediction, and the standard deviation of the target around it.
    members : list of NumberPart
        Their parts add up to the prediction. The largest first.
    features : list of FeaturePart
        They add up to the prediction, too. The largest first; the members' offsets are those of the intercept.
    """

    predicted: float
    std: float
    members: list[NumberPart]
    features: list[FeaturePart]


def explain_stack(model: Model, batch: Batch, about: Any = None) -> StackExplanation:
    """Return what each member and each feature of a row adds to the margin.

    Parameters
    ----------
    model : Model
        Of a stack.
    batch : Batch
        One row.
    about : object, optional
        The class whose margin is explained; by default the second of two classes, sorted, or the predicted one of more.

    Raises
    ------
    ValueError
        If there is not exactly one row, or the class is unknown.
    """
    stack: Stack = _grown(model, batch)
    X = batch.matrix
    if isinstance(stack, LabelStack):
        return _of_label(model, batch, stack, class_number(model, about))
    (mean,), (variance,) = stack.margin_distribution(X)
    plus, minus = _pair(model, mean, class_number(model, about))
    margins = [_difference(own[0], plus, minus) for own in stack.logits(X)]
    return StackExplanation(
        predicted=class_name(model, int(mean > 0) if mean.ndim == 0 else int(mean.argmax())),
        supported=class_name(model, plus),
        rival=class_name(model, minus),
        mean=float(_difference(np.atleast_1d(mean), plus, minus)),
        variance=float(variance if mean.ndim == 0 else (variance[plus] ** 0.5 + variance[minus] ** 0.5) ** 2),
        classes=explained_classes(model, mean, variance, stack.probabilities(X)[0]),
        **_divided(model, batch, stack, MemberPart, margins, plus, minus),
    )


def _of_label(model: Model, batch: Batch, stack: LabelStack, chosen: int | None) -> StackExplanation:
    """Return what each member and each feature adds to the margin of a label, by default that of the most probable."""
    X = batch.matrix
    (mean,), (variance,), (p,) = stack.margins_and_probabilities(X)
    label = int(mean.argmax()) if chosen is None else chosen
    relevant = stack.decided(mean, p if stack.decides_by_probability(None) else None)
    margins = stack.logits(X)[:, 0, label].tolist()
    return StackExplanation(
        predicted=[name for name, one in zip(model.classes, relevant.tolist(), strict=True) if one],
        supported=class_name(model, label),
        rival=None,
        mean=float(mean[label]),
        variance=float(variance[label]),
        classes=explained_classes(model, mean, variance, p),
        **_divided(model, batch, stack, MemberPart, margins, label, None),
    )


def explain_number_stack(model: Model, batch: Batch, about: Any = None) -> NumberStackExplanation:
    """Return what each member and each feature of a row adds to the number that a stack of regressions predicts.

    Parameters
    ----------
    model : Model
        Of a stack.
    batch : Batch
        One row.
    about : object, optional
        The number of the output that is explained, if the model predicts several numbers per row.

    Raises
    ------
    ValueError
        If there is not exactly one row, or the output is unknown or one of several is not given.
    """
    stack: NumberStack = _grown(model, batch)
    output, found = output_number(model, about), stack.number_distribution(batch.matrix)
    numbers = stack.predictions(batch.matrix, uncertain=False)[0][output, :, 0].tolist()
    return NumberStackExplanation(
        predicted=float(found.mean[0, output]),
        std=float(stack.number_deviations(found)[0, output]),
        **_divided(model, batch, stack, NumberPart, numbers, output, None),
    )


def model_of_member(model: Model, k: int) -> Model | None:
    """Return a member as a model, or ``None`` if it has no weights of columns or of products of columns."""
    member = model.learner.members[k]
    if not isinstance(member, Learner) or _mixes_columns(member):
        return None
    return Model(member, model.classes, model.features, model.estimator, model.source)


def _mixes_columns(member: Learner) -> bool:
    return member.view is not None and any(view.mixes_columns for view in member.view.views)


def _grown(model: Model, batch: Batch) -> Any:
    """Return a copy of the stack with room for the features of one row."""
    require_one(batch)
    stack = copy(model.learner)
    stack.grow(n_features=batch.n_columns)
    return stack


def _divided(
    model: Model, batch: Batch, stack: Stack | NumberStack, kind: type[MemberPart] | type[NumberPart],
    wholes: list[float], plus: int = 1, minus: int | None = 0,
) -> dict[str, Any]:  # fmt: skip
    """Return what members and features add, the largest first; ``wholes`` are the members' own margins or numbers."""
    own = stack.state[WEIGHTS]  # one row per label or number where there are several
    weights = (own[plus] if own.ndim == 2 else own).tolist()
    parts = [
        _parts_of_log(model, batch, stack, k, plus, whole)
        if isinstance(stack, NumberStack) and stack.is_log(k)
        else _parts(model, batch, member, plus, minus, whole)
        for k, (member, whole) in enumerate(zip(stack.members, wholes, strict=True))
    ]
    if isinstance(stack, Stack) and (trust := stack.trust) is not None:
        t = float(min(trust.by_class[plus], trust.by_class[minus]))
        parts = [_with_late(own, parts[trust.means], t, whole) for own, whole in zip(parts, wholes, strict=True)]
    members = [kind(*part) for part in zip(stack.names, weights, wholes, strict=True)]
    return {
        "members": sorted(members, key=lambda part: -abs(part.mean)),
        "features": _features(weights, parts),
    }


def _with_late(parts: Parts, means: Parts, trust: float, whole: float) -> Parts:
    """Return what features add to a member's margin with a late class, by the trust in the member.

    ``trust`` is the smaller one of the two classes; the intercept has the rest.
    """
    added = dict.fromkeys((feature for feature, _ in [*parts[:-1], *means[:-1]]), 0.0)
    for factor, own in ((trust, parts), (1.0 - trust, means)):
        for feature, part in own[:-1]:
            added[feature] += factor * part
    return [*added.items(), (INTERCEPT, whole - sum(added.values()))]


def _features(weights: list[float], parts: list[Parts]) -> list[FeaturePart]:
    """Return what features add over all members, the largest first."""
    found: dict[str | int, list[float]] = {}
    for weight, of_member in zip(weights, parts, strict=True):
        for feature, added in of_member:
            found.setdefault(feature, []).append(weight * added)
    features = [FeaturePart(feature, sum(added), len(added)) for feature, added in found.items()]
    return sorted(features, key=lambda part: -abs(part.mean))


def _pair(model: Model, mean: np.ndarray, chosen: int | None) -> tuple[int, int]:
    """Return the class to explain and its rival."""
    if mean.ndim == 0:
        plus = positive_number(model.classes) if chosen is None else chosen
        return plus, 1 - plus
    plus = int(mean.argmax()) if chosen is None else chosen
    return plus, int(np.where(np.arange(len(mean)) == plus, -np.inf, mean).argmax())


def _difference(scores: np.ndarray, plus: int, minus: int) -> float:
    """Return the margin between two classes; one score is that of class 1 against class 0."""
    if len(scores) == 1:
        return float(scores[0] if plus == 1 else -scores[0])
    return float(scores[plus] - scores[minus])


def _parts(
    model: Model, batch: Batch, member: Learner | Generative, plus: int, minus: int | None, whole: float
) -> Parts:
    """Return what each feature adds to a member's calibrated margin or its number; the rest is the intercept's."""
    if isinstance(member, Generative):
        assert minus is not None  # the others are of classes
        columns, added = batch.columns, member.contributions(batch.columns, batch.values, plus, minus)
        return _named(model, batch, None, columns, member.slope * added, whole)
    seen = batch if member.view is None else member.view.see(member.state, batch.matrix, 0, 1)
    entries = Entries(member, seen.columns, seen.values)
    task, label = member.task, 0
    sides: tuple[int | None, int | None] = (0, None) if plus == 1 else (None, 0)
    if task.several or task.regression:
        sides = plus, minus
    elif task.multilabel:
        sides, label = columns_of_label(task, plus), plus
    weights = entries.weights(*sides) * (1.0 if task.regression else member.slope(batch.matrix, label))
    columns, added = entries.columns, weights * entries.values
    divided = None if member.view is None else member.view.divided(member.state, batch.matrix)
    if divided is not None:
        made = columns >= 0
        added = weights[made] @ divided[columns[made]]
        columns = np.arange(divided.shape[1])
    return _named(model, batch, member, columns, added, whole, divided is not None)


def _parts_of_log(model: Model, batch: Batch, stack: NumberStack, k: int, output: int, whole: float) -> Parts:
    """Return what each feature adds to the number of a member that learns logarithms.

    With b the intercept of the logarithm m, c exp(m) - c exp(b) is divided as m - b is.
    """
    member = stack.members[k]
    assert isinstance(member, Learner)
    (logarithm,) = member.numbers(batch.matrix)[:, output]
    *parts, (_, intercept) = _parts(model, batch, member, output, None, float(logarithm))
    limits, factors = stack.limits_and_factors(k)
    start = float(factors[output] * np.exp(min(intercept, limits[output])))
    added = float(logarithm) - intercept
    scale = (whole - start) / added if added else 0.0
    parts = [(feature, scale * part) for feature, part in parts]
    return [*parts, (INTERCEPT, whole - sum(part for _, part in parts))]


def _named(
    model: Model, batch: Batch, member: Learner | None, columns: np.ndarray, added: np.ndarray, whole: float,
    divided: bool = False,
) -> Parts:  # fmt: skip
    """Return what each feature adds to the score of a member, by name; the rest is the intercept's.

    ``divided``: columns are those that the view takes.
    """
    naming = Naming(Model(member or model.learner, model.classes, model.features, source=model.source))
    if model.features is not None and batch.new_features is not None:
        naming.names |= dict(enumerate(batch.new_features.names, len(model.features)))
    seen = columns >= 0
    if member is not None and _mixes_columns(member) and not divided:
        parts: Parts = [(ALL_COLUMNS, float(added[seen].sum()))]
    else:
        name = naming.taken if divided else naming.seen
        parts = [(name(int(j)), float(x)) for j, x in zip(columns[seen], added[seen], strict=True) if x]
    return [*parts, (INTERCEPT, whole - sum(x for _, x in parts))]
