"""The importance of features: by how much each of them moves what a model predicts.

A feature's importance in a learner is mu_j^2 (P_jj - P0_jj), in the mean over classes or numbers, where P is the
precision of the weights and P0 its prior: since every row adds a multiple of x_j^2 to P_jj, it is the sum over rows of
(mu_j x_j)^2, weighted as the rule weighs rows. It does not depend on the unit of a feature. Rules that learn no
precision have mu_j^2 times the square of a typical value (:mod:`confidently.models.inspection`). Of a product of two
features, and of what else a view makes of a feature, the largest counts. Of a score of cosines it is the total effect
E (s(x) - s(x with another x_j))^2/2 over independent standard normal columns (Homma & Saltelli, Reliability Engineering
& System Safety 52, 1996). In naive Bayes, the squared difference of a word's weights to their mean counts as often as
the word.

Importances are divided by their sum. A stack's score is sum_k w_k c_k s_k, with the weight w_k of member k and the
slope c_k of its calibration. Members learn the same labels, so that a feature moves their scores the same way: its
importance is (sum_k w_k c_k e_kj)^2, where e_kj^2 is what it has in member k, in the mean over rows. A column of a
table has the sum of those of its features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..learner.learner import Learner
from ..stack.generative import Generative
from ..stack.naive_bayes import FREQUENCY
from ..views.chain import Chain
from ..views.cosines import DIRECTION, PHASE, Cosines
from .inspection import Naming, typical_values
from .model import Model

ROWS, MOST_COSINES = (32, 512), 2e7  # drawn for the effects of columns on scores of cosines
ENDS = re.compile(r"[=:^.]")  # of a column's name, in those of its features
MATRICES, MAX_WIDTH = ("full", "shared"), 1024  # whose inverse is computed, up to so many weights of a class


def importances(model: Model) -> np.ndarray:
    """Return the importance of every feature, by its number; they sum to 1, or are 0 before anything was learned.

    Raises
    ------
    ValueError
        If no learner of the model has weights of features (kernels).
    """
    learner = model.learner
    members = [learner] if isinstance(learner, Learner) else learner.members
    known = [k for k, member in enumerate(members) if _has_weights(member)]
    if not known:
        members[0].require("explain")
    weights = np.ones(1) if isinstance(learner, Learner) else learner.member_weights
    by_member = weights.reshape(-1, len(members)).mean(axis=0)
    total = np.zeros(learner.n_features)
    for k in known:
        effects = np.sqrt(_mean_squares(model, members[k]))
        total[: len(effects)] += by_member[k] * _slope(learner, k) * effects
    total *= total
    return total / (total.sum() or 1.0)


def importances_by_name(model: Model) -> dict[str | int, float]:
    """Return the importances of features that are not 0, the largest first; the values of a category count as one."""
    found, naming = importances(model), Naming(Model(model.learner, model.classes, model.features, source=model.source))
    seen = np.flatnonzero(found)
    names = (naming.given(int(j)) for j in seen)
    columns = (name.partition("=")[0] if isinstance(name, str) else name for name in names)
    return dict(sorted(_summed(columns, found[seen]).items(), key=lambda item: -item[1]))


def importances_of_columns(model: Model, columns: Sequence[str]) -> np.ndarray:
    """Return the importances of the columns of a table, each that of all features that were made of it."""
    assert model.features is not None
    known, found, name_of = set(columns), importances(model), model.features.name_of()
    by_column = _summed((_column_of(name_of.get(j, ""), known) for j in range(len(found))), found)
    total = np.array([by_column.get(column, 0.0) for column in columns])
    return total / (total.sum() or 1.0)


def _summed(columns: Iterable[str | int], found: np.ndarray) -> dict[str | int, float]:
    by_column = dict[str | int, float]()
    for column, part in zip(columns, found.tolist(), strict=True):
        by_column[column] = by_column.get(column, 0.0) + part
    return by_column


def _column_of(name: str, known: set[str]) -> str:
    """Return the column that a feature is of."""
    ends = [match.start() for match in ENDS.finditer(name)]
    return next((name[:end] for end in [len(name), *reversed(ends)] if name[:end] in known), "")


def _has_weights(member: Learner | Generative) -> bool:
    return isinstance(member, Generative) or "explain" not in {*member.covariance.unsupported, *member.task.unsupported}


def _slope(learner: Any, k: int) -> float:
    """Return the factor from a member's score to what is weighed; of a logarithm, that of its number at an average."""
    if isinstance(learner, Learner):
        return 1.0
    member = learner.members[k]
    if isinstance(member, Generative):
        return member.slope
    if not member.task.regression:
        return float(member.task.slopes(member.state["calibration"]).mean())
    if not learner.is_log(k):
        return 1.0
    _, factors = learner.limits_and_factors(k)
    return float((factors * np.exp(member.targets.mean)).mean())


def _mean_squares(model: Model, member: Learner | Generative) -> np.ndarray:
    """Return the mean over rows of the squared effects of every feature on a member's score."""
    if isinstance(member, Generative):
        by_class = member.class_weights(slice(None))
        centered = by_class - by_class.mean(axis=1, keepdims=True)
        squares = (centered**2).mean(axis=1) * (4.0 if member.n_classes == 2 else 1.0)  # a margin is their difference
        counts = member.state.get(FREQUENCY)
        often = np.ones(len(squares)) if counts is None else counts.sum(axis=1)
        return squares * often / (often.sum() or 1.0)  # rows have unit norm
    views = () if member.view is None else member.view.views
    if views and isinstance(views[-1], Cosines):
        squares, before = _of_cosines(member, views[-1]), Chain(views[:-1])
        return squares if len(views) == 1 else before.by_feature(member.state, squares)
    squares = (member.mean() ** 2 * _values_squared(model, member)).mean(axis=0)[: member.width]
    return squares if member.view is None else member.view.by_feature(member.state, squares)


def _values_squared(model: Model, member: Learner) -> np.ndarray:
    """Return the mean squared value of every column of what a member sees, shape (classes, width + intercept).

    Rows are weighted as the rule weighs them: by the precision that they have added, relative to that of the intercept,
    whose value is 1 in every row. Without an intercept, that of the column with the most is taken to be 1.
    """
    if not member.settings.rule.learns_precision:
        typical, _ = typical_values(Model(member, model.classes, model.features, source=model.source))
        return typical[None] ** 2
    gained = _gained(member)
    ones = gained[:, member.width :].mean() if member.settings.fit_intercept else gained.max(initial=0.0)
    return gained / (ones or 1.0)


def _gained(member: Learner) -> np.ndarray:
    """Return the precision that rows have added to every weight, shape (classes, width + intercept)."""
    prior = 1.0 / member.unseen_variances()[:, None]
    if member.settings.covariance in MATRICES and member.width < MAX_WIDTH:
        precision = np.diagonal(np.linalg.inv(member.covariance_matrix()), axis1=1, axis2=2)
        if len(precision) in (1, len(prior)):
            return np.maximum(precision - prior, 0.0)
    return np.maximum(1.0 / member.variance() - prior, 0.0)


def _of_cosines(member: Learner, view: Cosines) -> np.ndarray:
    """Return the mean squared effects of the columns that cosines are made of."""
    directions, phase, weights = member.state[DIRECTION], member.state[PHASE], member.mean()[:, : view.n]
    found = np.zeros(view.n_known(member.state))
    n = int(np.clip(MOST_COSINES / max(directions.size, 1), *ROWS))
    x, other = np.random.default_rng(0).standard_normal((2, n, len(directions)))
    along, length = x @ directions, (x**2).sum(axis=1)

    def scores(along: np.ndarray, length: np.ndarray) -> np.ndarray:
        turned = along / np.sqrt(length)[:, None] if view.unit_norm else along
        return np.cos(turned + phase) @ weights.T

    before = scores(along, length)
    for j, direction in enumerate(directions):
        moved = along + np.outer(other[:, j] - x[:, j], direction)
        change = scores(moved, length + other[:, j] ** 2 - x[:, j] ** 2) - before
        found[j] = (change**2).mean() / view.n  # half of the square, and 2/n is that of the cosines' factor
    return found
