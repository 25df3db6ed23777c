"""The importance of features: by how much each of them moves what a model predicts.

A feature's importance in a learner is mu_j^2 (P_jj - P0_jj), in the mean over classes or numbers, where P is the
precision of the weights and P0 its prior: since every row adds a multiple of x_j^2 to P_jj, it is the sum over rows of
(mu_j x_j)^2, weighted as the rule weighs rows. It does not depend on the unit of a feature. Rules that learn no
precision have mu_j^2 times the square of a typical value (:mod:`confidently.models.inspection`). Of a product of two
features, and of what else a view makes of a feature, the largest counts. A score of cosines, s(x) =
sum_c v_c cos(w_c'x + b_c), has E (ds/dx_j)^2 over rows x of independent standard normal columns (a derivative-based
measure: Sobol' & Kucherenko, Mathematics and Computers in Simulation 2009). In naive Bayes, the squared difference of
a word's weights to their mean counts as often as the word.

Importances are divided by their sum. Those of a stack are the mean over its members, by their absolute weights. A
column of a table has the sum of those of its features.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from ..learner.learner import Learner
from ..stack.generative import Generative
from ..stack.naive_bayes import FREQUENCY
from ..views.chain import Chain
from ..views.cosines import DIRECTION, PHASE, Cosines
from .inspection import Naming, typical_values
from .model import Model

ROWS = 1024  # drawn for the effects of columns on scores of cosines
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
    weights = np.ones(1) if isinstance(learner, Learner) else np.abs(learner.member_weights)
    by_member = weights.reshape(-1, len(members)).mean(axis=0)
    known = [k for k, member in enumerate(members) if _has_weights(member)]
    if not known:
        members[0].require("explain")
    total = np.zeros(learner.n_features)
    for k in known:
        sizes = _sizes(model, members[k])
        if (whole := sizes.sum()) > 0.0:
            total[: len(sizes)] += by_member[k] / whole * sizes
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


def _sizes(model: Model, member: Learner | Generative) -> np.ndarray:
    """Return the importance of every feature in a member, whatever their sum."""
    if isinstance(member, Generative):
        by_class = member.class_weights(slice(None))
        size = _mean_square(by_class - by_class.mean(axis=1, keepdims=True), axis=1)
        counts = member.state.get(FREQUENCY)
        return size if counts is None else size * counts.sum(axis=1)
    views = () if member.view is None else member.view.views
    if views and isinstance(views[-1], Cosines):
        sizes, before = _of_cosines(member, views[-1]), Chain(views[:-1])
        return sizes if len(views) == 1 else before.by_feature(member.state, sizes)
    sizes = (member.mean() ** 2 * _gained(model, member)).mean(axis=0)[: member.width]
    return sizes if member.view is None else member.view.by_feature(member.state, sizes)


def _gained(model: Model, member: Learner) -> np.ndarray:
    """Return the precision that rows have added to every weight, shape (classes, width + intercept)."""
    if not member.settings.rule.learns_precision:
        typical, _ = typical_values(Model(member, model.classes, model.features, source=model.source))
        return typical[None] ** 2
    prior = 1.0 / member.unseen_variances()[:, None]
    if member.settings.covariance in MATRICES and member.width < MAX_WIDTH:
        precision = np.diagonal(np.linalg.inv(member.covariance_matrix()), axis1=1, axis2=2)
        if len(precision) in (1, len(prior)):
            return np.maximum(precision - prior, 0.0)
    gained: np.ndarray = np.maximum(1.0 / member.variance() - prior, 0.0)
    return gained


def _of_cosines(member: Learner, view: Cosines) -> np.ndarray:
    """Return the mean squared effects of the columns that cosines are made of."""
    directions, weights = member.state[DIRECTION], member.mean()[:, : view.n]
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((ROWS, len(directions)))
    if view.unit_norm:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    # A combination of the scores with random signs has their summed squared effect, in the mean.
    signs = generator.choice([-1.0, 1.0], (ROWS, len(weights)))
    slopes = np.sin(rows @ directions + member.state[PHASE]) * (signs @ weights)
    found = np.zeros(view.n_known(member.state))
    found[: len(directions)] = _mean_square(slopes @ directions.T, axis=0)
    return found


def _mean_square(x: np.ndarray, axis: int) -> np.ndarray:
    found: np.ndarray = (x**2).mean(axis=axis)
    return found
