"""What a model has learned: its most decisive weights, those it doubts, and why it says what it says of one row.

All of it is read off the Gaussian over weights. A weight is *decisive* by |mean|/std: how many standard deviations lie
between it and having no effect. What is known of how often a feature was met is the variance of its weight: every
update takes some of it away, so that a feature whose variance has shrunk much was part of many updates, or had large
values in them. *Well known* is here the half of the features met whose variance has shrunk most. Those of them with
the smallest |mean|/std are features that came often and that the model still cannot place: their sign may be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.formats.table import BY_NAME
from ..learner.learner import Learner
from .model import Model, SavedModel

INTERCEPT = "(intercept)"
MAX_FEATURES = 6  # of an example that is shown
TOUCHED = 1e-12  # a variance below the prior's by this share of it has been learned from; less is rounding


@dataclass(frozen=True)
class Weight:
    """One weight's Gaussian.

    Attributes
    ----------
    feature : str or int
        Its name, or its number as the input has it.
    mean, std : float
    variance_left : float
        Its variance as a share of what a feature never met has; 1 where the rule keeps no variances.
    """

    feature: str | int
    mean: float
    std: float
    variance_left: float

    @property
    def decisive(self) -> float:
        """|mean|/std."""
        return abs(self.mean) / self.std if self.std > 0 else math.inf if self.mean else 0.0

    @property
    def sign_error(self) -> float:
        """Probability that the weight's sign differs from its mean's: Phi(-|mean|/std)."""
        return 0.5 * math.erfc(self.decisive / math.sqrt(2.0))


@dataclass(frozen=True)
class ClassView:
    """The weights of one class: positive ones speak for it.

    Attributes
    ----------
    name : object
        The class (label). Of two classes there is one view, that of the second.
    decisive : list of Weight
        Largest |mean|/std first.
    uncertain : list of Weight or None
        Among the well known, smallest |mean|/std first; None where the rule keeps no variances.
    met : int
        Weights that have left the prior, the intercept's among them.
    """

    name: Any
    decisive: list[Weight]
    uncertain: list[Weight] | None
    met: int


def class_views(model: Model, top: int = 20) -> list[ClassView]:
    """The most decisive and the most doubtful weights of every class.

    Parameters
    ----------
    model : Model
        See :class:`confidently.models.model.Model`.
    top : int
        How many of each, at most.

    Returns
    -------
    list of ClassView
        One for two classes, else one a class or label.

    Examples
    --------
    >>> import numpy as np
    >>> from confidently.covariances.settings import Settings
    >>> from confidently.data.memory.matrix import as_matrix
    >>> learner = Learner(Settings("arow", fit_intercept=False), n_features=2)
    >>> learner.learn(as_matrix(np.array([[1.0, 0.0], [0.0, 1.0]])), np.array([1, 0], dtype=np.int32))
    >>> view = class_views(Model(learner, ["ham", "spam"]))[0]
    >>> view.name, [(w.feature, round(w.mean, 3), round(w.variance_left, 3)) for w in view.decisive]
    ('spam', [(0, 0.909, 0.091), (1, -0.909, 0.091)])
    """
    learner = model.learner
    learner.covariance.require("explain")
    mean, variance = learner.mean(), learner.variance()
    left = variance / unseen_variances(learner)[:, None]
    names = model.classes[1:2] or [None] if learner.settings.task == "binary" else model.classes
    naming = Naming(model)
    learns = learner.settings.rule.learns_precision
    return [_class_view(*arrays, naming, top, learns) for arrays in zip(names, mean, variance, left, strict=True)]


def _class_view(
    name: Any,
    mean: np.ndarray,
    variance: np.ndarray,
    left: np.ndarray,
    naming: Naming,
    top: int,
    learns_precision: bool,
) -> ClassView:
    met = np.flatnonzero((mean != 0.0) | (left < 1.0 - TOUCHED))
    deviation = np.sqrt(variance[met])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(np.abs(mean[met]) / deviation, nan=0.0, posinf=np.inf)

    def listed(which: np.ndarray) -> list[Weight]:
        return [
            Weight(naming.of(int(j)), float(mean[j]), math.sqrt(variance[j]), float(left[j])) for j in met[which[:top]]
        ]

    decisive = listed(np.argsort(-ratio, kind="stable"))
    if not learns_precision:
        return ClassView(name, decisive, None, len(met))
    known = np.flatnonzero(left[met] <= np.median(left[met])) if len(met) else met
    return ClassView(name, decisive, listed(known[np.argsort(ratio[known], kind="stable")]), len(met))


@dataclass(frozen=True)
class Kept:
    """An example that a kernel model keeps.

    Attributes
    ----------
    number : int
        From 1, in the order in which they were learned.
    coefficient : float
        In the mean of the class it is shown for: positive ones make similar rows likelier to be of it.
    features : dict
        Its features of largest size, by name or number.
    """

    number: int
    coefficient: float
    features: dict[str | int, float]


def kept_examples(model: Model, top: int = 20) -> list[tuple[Any, list[Kept]]]:
    """The examples that decide most in a kernel model: those with the largest coefficients, for every class.

    Parameters
    ----------
    model : Model
        Of a learner with covariance="kernel".
    top : int
        How many of each class, at most.

    Returns
    -------
    list of (name, list of Kept)
        One for two classes, for the second; else one a class or label.

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
    if learner.settings.task == "multilabel":  # the calibration label comes first
        coefficients = coefficients[1:] - coefficients[:1]
    names = model.classes[1:2] or [None] if learner.settings.task == "binary" else model.classes

    def kept(row: int, coefficient: float) -> Kept:
        entries = slice(support.indptr[row], support.indptr[row + 1])
        values, columns = support.data[entries], support.indices[entries]
        largest = np.argsort(-np.abs(values), kind="stable")[:MAX_FEATURES]
        return Kept(row + 1, coefficient, {naming.given(int(columns[k])): float(values[k]) for k in largest})

    found = []
    for name, weights in zip(names, coefficients, strict=True):
        order = [int(row) for row in np.argsort(-np.abs(weights), kind="stable")[:top] if weights[row]]
        found.append((name, [kept(row, float(weights[row])) for row in order]))
    return found


def unseen_variances(learner: Learner) -> np.ndarray:
    """Variance of the weights of a feature no example has had, one per class (of two classes: one in all)."""
    columns = learner.covariance.unseen_variances(learner.state)
    return columns[1:] + columns[0] if learner.settings.task == "multilabel" else columns


class Naming:
    """What features are called: their names, else their numbers as the input has them."""

    def __init__(self, model: SavedModel) -> None:
        has_intercept = isinstance(model, Model) and model.learner.settings.fit_intercept
        self.intercept = model.learner.n_features if has_intercept else None
        self.names = {} if model.features is None else model.features.name_of()
        self.keys = None if model.features is None else model.features.key
        source = model.source
        read = BY_NAME.get(source.get("format", ""))  # none: arrays, whose columns count from 0
        self.first = int(read is not None and not read.named and not source.get("zero_based", False))

    def of(self, column: int) -> str | int:
        """The name of a column; the intercept's comes after the features'."""
        if column == self.intercept:
            return INTERCEPT
        return self.given(column)

    def given(self, column: int) -> str | int:
        """The name of a column of the input; where it has none, the hash of it."""
        if self.keys is None:
            return column + self.first
        if column in self.names:
            return self.names[column]
        return f"#{self.keys[column]}"
