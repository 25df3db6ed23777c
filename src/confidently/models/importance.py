"""The importance of features: by how much each of them moves what a model predicts.

The importance of a feature in a learner is the mean, over classes or numbers, of its squared effects, where an effect
is the mean of a weight times a typical value of the feature (:mod:`confidently.models.inspection`). Of a product of
two features, and of what else a view makes of a feature, the largest counts. A score of cosines, s(x) =
sum_c v_c cos(w_c'x + b_c), has the squared effect E (ds/dx_j)^2 over rows x of independent standard normal columns (a
derivative-based measure: Sobol' & Kucherenko, Mathematics and Computers in Simulation 2009).

Importances are divided by their sum. Those of a stack are the mean over its members, by their absolute weights.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import fmean

import numpy as np

from ..learner.learner import Learner
from ..stack.generative import Generative
from ..views.chain import Chain
from ..views.cosines import DIRECTION, PHASE, Cosines
from .inspection import Naming, typical_values
from .model import Model

ROWS = 1024  # drawn for the effects of columns on scores of cosines
ENDS = re.compile(r"[=:^.]")  # of a column's name, in those of its features


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
    names = [naming.given(int(j)) for j in seen]
    columns = [name.partition("=")[0] if isinstance(name, str) else name for name in names]
    return dict(sorted(_by_column(columns, names, found[seen]).items(), key=lambda item: -item[1]))


def importances_of_columns(model: Model, columns: Sequence[str]) -> np.ndarray:
    """Return the importances of the columns of a table, each that of all features that were made of it."""
    assert model.features is not None
    known, found, name_of = set(columns), importances(model), model.features.name_of()
    names = [name_of.get(j, "") for j in range(len(found))]
    of_column = np.array([_column_of(name, known) for name in names])
    named = of_column != ""
    by_column = _by_column(of_column[named].tolist(), np.array(names)[named].tolist(), found[named])
    return np.array([by_column.get(column, 0.0) for column in columns])


def _by_column(columns: Sequence[str | int], names: Sequence[str | int], found: np.ndarray) -> dict[str | int, float]:
    """Return the importance of columns: the mean of the values of a category, the largest of words, the sum of others.

    A row has one value of a category, some of many words, and all parts of a date.
    """
    parts = dict[str | int, dict[str, list[float]]]()
    for column, name, size in zip(columns, names, found.tolist(), strict=True):
        parts.setdefault(column, {}).setdefault(str(name)[len(str(column)) :][:1], []).append(size)
    joined: dict[str, Callable[[list[float]], float]] = {"=": fmean, "^": max, ":": max}
    by_column = {c: sum(joined.get(mark, sum)(sizes) for mark, sizes in kinds.items()) for c, kinds in parts.items()}
    total = sum(by_column.values()) or 1.0
    return {column: part / total for column, part in by_column.items()}


def _column_of(name: str, known: set[str]) -> str:
    """Return the column that a feature is of."""
    ends = [match.start() for match in ENDS.finditer(name)]
    return next((name[:end] for end in [len(name), *reversed(ends)] if name[:end] in known), "")


def _has_weights(member: Learner | Generative) -> bool:
    return isinstance(member, Generative) or "explain" not in {*member.covariance.unsupported, *member.task.unsupported}


def _sizes(model: Model, member: Learner | Generative) -> np.ndarray:
    """Return the mean squared effect of every feature in a member."""
    if isinstance(member, Generative):
        by_class = member.class_weights(slice(None))
        return _mean_square(by_class - by_class.mean(axis=1, keepdims=True), axis=1)
    views = () if member.view is None else member.view.views
    if views and isinstance(views[-1], Cosines):
        sizes = _of_cosines(member, views[-1])
        before = Chain(views[:-1])
        return sizes if len(views) == 1 else before.by_feature(member.state, sizes)
    typical, _ = typical_values(Model(member, model.classes, model.features, source=model.source))
    effects = (member.mean() * typical)[:, : member.width]
    sizes = _mean_square(effects, axis=0)
    return sizes if member.view is None else member.view.by_feature(member.state, sizes)


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
