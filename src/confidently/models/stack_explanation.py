"""Explanations of a stack's prediction: what each member, and over all of them each feature, adds to the margin.

The margin between two classes is sum_g w_g (l_g,plus - l_g,minus). A member's score is linear in the row it sees, so
its part is divided among that row's features, in proportion to what they add to its own margin.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from ..data import Batch
from ..data.class_order import positive_number
from ..learner.learner import Learner
from ..stack.members import WEIGHTS
from ..stack.naive_bayes import NaiveBayes
from ..stack.stack import Stack
from .explanation import Entries, class_name, class_number, explained_classes
from .inspection import INTERCEPT, Naming
from .model import Model


class MemberPart(NamedTuple):
    """What a member adds to the margin: ``weight`` times its own margin of calibrated scores, ``logit``."""

    name: str
    weight: float
    logit: float

    @property
    def mean(self) -> float:
        return self.weight * self.logit


class FeaturePart(NamedTuple):
    """What a feature, or a product of two, adds to the margin over all members that see it."""

    feature: str | int
    mean: float
    members: int


@dataclass(frozen=True)
class StackExplanation:
    """A stack's prediction for a row, and what members and features add to it.

    Attributes
    ----------
    predicted : object
        The class.
    supported, rival : object
        A positive margin favors ``supported`` over ``rival``.
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
    if len(batch) != 1:
        raise ValueError(f"explain takes one row at a time, got {len(batch)}")
    stack: Stack = copy(model.learner)
    stack.grow(n_features=batch.n_columns)
    X = batch.matrix
    (mean,), (variance,) = stack.margin_distribution(X)
    plus, minus = _pair(model, mean, class_number(model, about))
    margins = [_difference(own[0], plus, minus) for own in stack.logits(X)]
    weights = stack.state[WEIGHTS].tolist()
    found: dict[str | int, list[float]] = {}
    for member, weight, margin in zip(stack.members, weights, margins, strict=True):
        for feature, added in _parts(model, batch, member, X, plus, minus, margin):
            found.setdefault(feature, []).append(weight * added)
    features = [FeaturePart(feature, sum(added), len(added)) for feature, added in found.items()]
    members = [MemberPart(*part) for part in zip(stack.names, weights, margins, strict=True)]
    return StackExplanation(
        predicted=class_name(model, int(mean > 0) if mean.ndim == 0 else int(mean.argmax())),
        supported=class_name(model, plus),
        rival=class_name(model, minus),
        mean=float(_difference(np.atleast_1d(mean), plus, minus)),
        variance=float(variance if mean.ndim == 0 else (variance[plus] ** 0.5 + variance[minus] ** 0.5) ** 2),
        classes=explained_classes(model, mean, variance, stack.probabilities(X)[0]),
        members=sorted(members, key=lambda part: -abs(part.mean)),
        features=sorted(features, key=lambda part: -abs(part.mean)),
    )


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
    model: Model, batch: Batch, member: Learner | NaiveBayes, X: _core.Matrix, plus: int, minus: int, margin: float
) -> list[tuple[str | int, float]]:
    """Return what each feature adds to a member's margin of calibrated scores; the rest is the intercept's."""
    if isinstance(member, NaiveBayes):
        columns, added = batch.columns, member.contributions(batch.columns, batch.values, plus, minus)
        learner, scale = None, member.slope
    else:
        learner = member
        rows = (batch.columns, batch.values)
        if member.view is not None:
            seen = member.view.see(member.state, X, 0, 1)
            rows = seen.columns, seen.values
        entries = Entries(member, *rows)
        sides = (plus, minus) if member.n_classes > 2 else (0, None) if plus == 1 else (None, 0)
        columns, added = entries.columns, entries.weights(*sides) * entries.values
        scale = member.slope(X)
    naming = Naming(Model(learner or model.learner, model.classes, model.features, source=model.source))
    if model.features is not None and batch.new_features is not None:
        naming.names |= dict(enumerate(batch.new_features.names, len(model.features)))
    parts: list[tuple[str | int, float]] = [
        (naming.seen(int(column)), float(scale * x))
        for column, x in zip(columns, added, strict=True)
        if column >= 0 and x
    ]
    rest = margin - sum(added for _, added in parts)
    return [*parts, (INTERCEPT, rest)]
