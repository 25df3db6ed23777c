"""Inspection of a model: the weights of each class that matter most, the most uncertain ones, or the kept examples.

Everything is computed from the Gaussian over weights. A weight's *effect* is its mean times a typical value of its
feature, and its *decisiveness* is |mean|/std, its distance from 0 in standard deviations. Every update reduces the
variances of the weights of its features, so a feature with a small variance took part in many updates or had large
values in them. The *well-known* weights are the half of the updated weights whose variance has shrunk most. Those of
them with the smallest |mean|/std belong to frequent features whose effect is still uncertain: the sign of the mean may
be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..covariances.state import State
from ..data.class_order import positive_number, sorted_numbers
from ..data.formats.table import BY_NAME
from ..learner.learner import Learner
from ..learner.posterior import Posterior
from ..views.columns import MARKS
from ..views.view import View
from .model import Model, SavedModel

INTERCEPT = "(intercept)"
MAX_FEATURES = 6  # shown per example
SURE = 2.0  # standard deviations between a weight and 0
ROUNDING = 1e-12  # an updated variance is below the prior's by more than this fraction of it


@dataclass(frozen=True)
class Weight:
    """One weight's Gaussian.

    Attributes
    ----------
    feature : str or int
        Its name, or its number in the input.
    mean, std : float
    variance_left : float
        Its variance as a fraction of an unseen feature's; 1 if the rule keeps no variances.
    effect : float
        The mean times a typical value of the feature.
    """

    feature: str | int
    mean: float
    std: float
    variance_left: float
    effect: float

    @property
    def decisive(self) -> float:
        """|mean|/std."""
        return abs(self.mean) / self.std if self.std > 0 else math.inf if self.mean else 0.0

    @property
    def is_sure(self) -> bool:
        """Whether the mean is at least two standard deviations of a known size from 0."""
        return self.variance_left < 1.0 and self.decisive >= SURE

    @property
    def sign_error(self) -> float:
        """Probability that the weight's sign differs from its mean's: Phi(-|mean|/std)."""
        return 0.5 * math.erfc(self.decisive / math.sqrt(2.0))


@dataclass(frozen=True)
class ClassView:
    """The weights of one class; positive ones favor it.

    Attributes
    ----------
    name : object
        The class or label. With two classes there is one view, for the second.
    top : list of Weight
        Those with the largest |effect| first, the sure ones before the others, or those with the largest |mean|/std.
    uncertain : list of Weight or None
        Of the well-known weights, those with the smallest |mean|/std first; None if the rule keeps no variances.
    updated : int
        Number of weights that have left the prior, the intercept's included.
    is_scaled : bool
        Whether a typical value of every feature is known; otherwise it is taken to be 1.
    """

    name: Any
    top: list[Weight]
    uncertain: list[Weight] | None
    updated: int
    is_scaled: bool


def class_views(
    model: Model, top: int = 20, sort: str = "effect", class_name: str | None = None, most: int | None = None
) -> list[ClassView]:
    """Return the weights of every class that matter most, and the most uncertain ones.

    Parameters
    ----------
    model : Model
        See :class:`confidently.models.model.Model`.
    top : int
        Maximum number of each.
    sort : {"effect", "sure"}
        By \\|effect\\|, weights whose \\|mean\\|/std is at least 2 before the others, or by \\|mean\\|/std.

    class_name : str, optional
        One of three or more classes, by default all.
    most : int, optional
        Maximum number of classes of a model that stores few of their weights. Those with the most stored weights are
        chosen, since a table of all weights may not fit the memory.

    Returns
    -------
    list of ClassView
        One for two classes, otherwise one per class or label. Of a regression, one per number that it predicts, whose
        standard deviations are in units of the targets.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow", fit_intercept=False), n_features=2)
    >>> learner.learn(as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([1, 0], dtype=np.int32))
    >>> view = class_views(Model(learner, ["ham", "spam"]))[0]
    >>> view.name, [(w.feature, round(w.mean, 3), round(w.variance_left, 3)) for w in view.top]
    ('spam', [(0, 0.909, 0.091), (1, -0.909, 0.091)])
    """
    learner: Posterior = model.learner
    learner.require("explain")
    names, sign = _names_of_rows(model)
    shown = [k for k in sorted_numbers(names) if class_name in (None, str(names[k])) or len(names) == 1]
    if len(names) == 1 or not learner.covariance.finds_best or (class_name is None and most is None):
        return _views(model, learner, names, sign, shown, top, sort)
    if most is not None and most < len(shown):
        largest = set(learner.covariance.largest_columns(learner.state, most).tolist())
        shown = [k for k in shown if k in largest]
    ordered = np.array(sorted(shown), np.int64)
    few, found = learner.of_classes(ordered), list[ClassView]()
    for k in shown:  # one at a time, whose weights are a table
        one = few.of_classes(np.searchsorted(ordered, [k]))
        found += _views(model, one, [names[k]], sign, [0], top, sort)
    return found


def _views(
    model: Model, learner: Posterior, names: list[Any], sign: float, shown: list[int], top: int, sort: str
) -> list[ClassView]:
    """Return the views of some of the classes of a learner, which may be one of fewer classes than the model has."""
    mean, variance = learner.mean(), learner.variance()
    left = variance / learner.unseen_variances()[:, None]
    variance = variance * model.learner.variance_unit(model.calibration is not None)[:, None]
    mean, naming = sign * mean, Naming(model)
    typical, is_scaled = typical_values(model)
    effect = mean * typical
    learns = learner.settings.rule.learns_precision
    return [
        _class_view(names[k], mean[k], variance[k], left[k], effect[k], naming, top, sort, learns, is_scaled)
        for k in shown
    ]


def typical_values(model: Model) -> tuple[np.ndarray, bool]:
    """Return a typical value of every column that has a weight, and whether all of them are known.

    It is 1 for words, categories and numbers to which a view gives a deviation of 1, times what the view multiplies
    them by. The model does not know how large other numbers are: 1 is one unit of them.
    """
    view, state = model.learner.view, model.learner.state
    typical = np.ones(model.learner.width + model.learner.settings.fit_intercept)
    if view is not None:
        typical[: model.learner.width] *= view.factors(view.arrays(state))
    return typical, (view is not None and view.has_scale) or not _has_numbers(model)


def _has_numbers(model: Model) -> bool:
    """Return whether features may be numbers, rather than words and categories."""
    found = BY_NAME.get(model.source.get("format", ""))
    if found is None or not found.named or not found.columns or model.features is None:
        return found is None or not found.named
    return len(model.features.names.having(MARKS)) < len(model.features.names)


def _class_view(
    name: Any,
    mean: np.ndarray,
    variance: np.ndarray,
    left: np.ndarray,
    effect: np.ndarray,
    naming: Naming,
    top: int,
    sort: str,
    learns_precision: bool,
    is_scaled: bool,
) -> ClassView:
    updated = np.flatnonzero((mean != 0.0) | (left < 1.0 - ROUNDING))
    deviation = np.sqrt(variance[updated])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(mean[updated]) / deviation, nan=0.0, posinf=np.inf)

    def listed(which: np.ndarray) -> list[Weight]:
        return [
            Weight(naming.of(int(j)), float(mean[j]), math.sqrt(variance[j]), float(left[j]), float(effect[j]))
            for j in updated[which[:top]]
        ]

    unsure = (ratio < SURE) & learns_precision
    order = (-ratio,) if sort == "sure" else (-np.abs(effect[updated]), unsure)  # the last one decides
    first = listed(np.lexsort(order))
    if not learns_precision:
        return ClassView(name, first, None, len(updated), is_scaled)
    known = np.flatnonzero(left[updated] <= np.median(left[updated])) if len(updated) else updated
    uncertain = listed(known[np.argsort(ratio[known], kind="stable")])
    return ClassView(name, first, uncertain, len(updated), is_scaled)


@dataclass(frozen=True)
class KeptExample:
    """An example that a kernel model keeps.

    Attributes
    ----------
    number : int
        From 1, in the order of training.
    coefficient : float
        Coefficient in the mean of the view's class; a positive one makes that class more probable for similar rows.
    features : dict
        Values of its features with the largest absolute values, by name or number.
    """

    number: int
    coefficient: float
    features: dict[str | int, float]


def kept_examples(model: Model, top: int = 20) -> list[tuple[Any, list[KeptExample]]]:
    """Return the most decisive examples of a kernel model: those with the largest coefficients, for every class.

    Parameters
    ----------
    model : Model
        A model of a learner with covariance="kernel".
    top : int
        Maximum number per class.

    Returns
    -------
    list of (name, list of KeptExample)
        With two classes one, for the second; otherwise one per class or label.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow", "kernel", kernel="linear", fit_intercept=False), n_features=2)
    >>> learner.learn(as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([1, 0], dtype=np.int32))
    >>> [(name, [(e.number, round(e.coefficient, 3)) for e in kept]) for name, kept in
    ...  kept_examples(Model(learner, ["ham", "spam"]))]
    [('spam', [(1, 0.909), (2, -0.909)])]
    """
    from scipy.sparse import csr_array

    learner, naming = model.learner, Naming(model)
    coefficients, support = learner.dual()
    support = csr_array(support)
    if learner.settings.task.has_threshold:  # the calibration label comes first
        coefficients = coefficients[1:] - coefficients[:1]
    names, sign = _names_of_rows(model)
    coefficients = sign * coefficients

    def kept(row: int, coefficient: float) -> KeptExample:
        entries = slice(support.indptr[row], support.indptr[row + 1])
        values, columns = support.data[entries], support.indices[entries]
        largest = np.argsort(-np.abs(values), kind="stable")[:MAX_FEATURES]
        return KeptExample(row + 1, coefficient, {naming.given(int(columns[k])): float(values[k]) for k in largest})

    found = []
    for k in sorted_numbers(names):
        weights = coefficients[k]
        order = [int(row) for row in np.argsort(-np.abs(weights), kind="stable")[:top] if weights[row]]
        found.append((names[k], [kept(row, float(weights[row])) for row in order]))
    return found


def _names_of_rows(model: Model) -> tuple[list[Any], float]:
    """Return the class of each row of the mean, and the sign with which it is presented as favoring that class."""
    if not model.learner.task.binary:
        return model.classes, 1.0
    positive = positive_number(model.classes)
    return [[*model.classes, None][positive]], 1.0 if positive == 1 else -1.0


class Naming:
    """Maps columns to the features' names, or without names to their numbers in the input.

    A column that a view makes is called by the features that it is made of.
    """

    def __init__(self, model: SavedModel) -> None:
        of_learner = isinstance(model, Model) and isinstance(model.learner, Learner)
        has_intercept = of_learner and model.learner.settings.fit_intercept
        self.touched = model.touched
        self.intercept = model.learner.width if has_intercept else None
        self.view: View | None = model.learner.view if of_learner else None
        self.state: State = model.learner.state if of_learner else {}
        self.names = {} if model.features is None else model.features.name_of()
        self.keys = None if model.features is None else model.features.key
        source = model.source
        found = BY_NAME.get(source.get("format", ""))  # None for arrays, whose columns are numbered from 0
        self.first = int(found is not None and not found.named and not source.get("zero_based", False))

    def of(self, column: int) -> str | int:
        """Return the name of a column of weights; the intercept's comes after the features'."""
        return INTERCEPT if column == self.intercept else self.seen(column)

    def seen(self, column: int) -> str | int:
        """Return the name of a column of the rows that the learner sees."""
        if self.view is None or self.view.keeps_columns:
            return self.given(column)
        return self.view.column_name(self.state, column, lambda j: str(self.given(j)))

    def taken(self, column: int) -> str | int:
        """Return the name of a column of the rows that the view takes, or the last of several."""
        assert self.view is not None
        return self.view.taken_name(self.state, column, lambda j: str(self.given(j)))

    def given(self, column: int) -> str | int:
        """Return the name of a column of the input; without a name, its hash."""
        if self.keys is None:
            return self.first + (column if self.touched is None else int(self.touched.columns[column]))
        if column in self.names:
            return self.names[column]
        return f"#{self.keys[column]}"
