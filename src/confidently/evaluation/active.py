"""Active learning: which labels to ask for, when labels cost more than rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..covariances import table as geometry
from ..learner import calibration
from ..learner.learner import Learner, check_choice

if TYPE_CHECKING:
    from ..estimators.classifier import OnlineClassifier
    from ..rules.rule import Rule

STRATEGIES = ("confidence", "margin", "change", "random")
RATE = 0.05  # of the threshold's logarithm: it can double within some 20 rows that find it too low
START = 1.0  # the first threshold: one standard deviation, or a margin of 1


def certainty(classifier: OnlineClassifier, X: Any, strategy: str = "confidence") -> np.ndarray:
    """How far each row's prediction is from being another one: small where its label is worth asking for.

    With m the margin between the two best classes and v its variance: ``|m|/sqrt(v)`` for "confidence", the number
    of standard deviations between the mean classifier and one that decides otherwise; ``|m|`` for "margin"; for
    "change" one over the change of the posterior that the label is expected to make, the sum over both labels of
    ``p KL(new || old)`` with the share p = Phi(+-m/sqrt(v)) of the posterior's classifiers that vote for it and::

        KL = (alpha^2 v - zeta v/(1 + zeta v) + log(1 + zeta v))/2

    which is exact for a full covariance and leaves out the scale of the ellipsoid rules.

    Parameters
    ----------
    classifier : OnlineClassifier
        Fitted.
    X : array, data frame or sparse matrix of shape (n, d)
    strategy : {"confidence", "margin", "change"}

    Returns
    -------
    array of shape (n,)
        >= 0. For sets of labels, that of the least sure label.

    Examples
    --------
    >>> from confidently import OnlineClassifier
    >>> classifier = OnlineClassifier("arow", fit_intercept=False).fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
    >>> certainty(classifier, [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]).round(2)
    array([4.36, 0.93, 0.  ])
    """
    check_choice("strategy", strategy, STRATEGIES[:-1])
    margin, variance = _two_best(classifier.learner_, classifier._matrix(X))
    if strategy == "margin":
        found = np.abs(margin)
    elif strategy == "confidence":
        found = np.divide(np.abs(margin), np.sqrt(variance), out=np.zeros_like(margin), where=variance > 0)
    else:
        rule, p = classifier.learner_.settings.rule, calibration.vote(margin, variance)
        change = p * _change(rule, margin, variance) + (1.0 - p) * _change(rule, -margin, variance)
        found = np.divide(1.0, change, out=np.full_like(change, np.inf), where=change > 0)
    doubts: np.ndarray = found.min(axis=1, initial=np.inf) if found.ndim == 2 else found
    return doubts


def _two_best(learner: Learner, matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Margin between the two best classes and its variance, a number a row; of sets of labels, a number a label."""
    if learner.settings.task in ("binary", "multilabel"):
        return learner.margin_distribution(matrix)
    scores = learner.decision(matrix)
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T
    return first - second, geometry.top_variances(learner, matrix, scores)


def _change(rule: Rule, margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """KL(new || old) of the Gaussian over weights when examples of these margins are learned."""
    step = np.vectorize(lambda m, v: rule.compiled.step(m, v, 1.0, 0)[:2] if v > 0 else (0.0, 0.0), otypes="dd")
    alpha, zeta = step(margin, variance)
    gain = zeta * variance
    change: np.ndarray = 0.5 * (alpha**2 * variance - gain / (1 + gain) + np.log1p(gain))
    return change


def query(
    classifier: OnlineClassifier,
    pool: Any,
    k: int,
    strategy: str = "confidence",
    random_state: int | np.random.Generator | None = None,
) -> np.ndarray:
    """The rows of a pool whose labels to ask for next.

    Parameters
    ----------
    classifier : OnlineClassifier
        One that has learned nothing yet chooses at random.
    pool : array, data frame or sparse matrix of shape (n, d)
    k : int
        How many, 1 to n.
    strategy : {"confidence", "margin", "change", "random"}
        The least sure ones, by :func:`certainty`; or any.
    random_state : int or Generator, optional
        Decides between rows of equal doubt, too.

    Returns
    -------
    array of shape (k,)
        Their numbers, the least sure first.

    Raises
    ------
    ValueError
        If there are fewer than k rows.
    """
    check_choice("strategy", strategy, STRATEGIES)
    n = pool.shape[0] if hasattr(pool, "shape") else len(pool)
    if isinstance(k, bool) or not 1 <= k <= n:
        raise ValueError(f"k must be from 1 to the pool's {n} rows, got {k!r}")
    shuffled = np.random.default_rng(random_state).permutation(n)
    if strategy == "random" or not hasattr(classifier, "learner_"):
        return shuffled[:k]
    return shuffled[np.argsort(certainty(classifier, pool, strategy)[shuffled], kind="stable")[:k]]


class Selector:
    """Decides row by row of a stream whether to ask for the label, within a budget.

    A row is asked for if its doubt is below a threshold theta, which follows the stream: after every row log(theta)
    moves by 0.05 (budget - below) / budget, with below = 1 for a doubt below it and else 0. So in the long run the
    budget's share of the rows is asked for, those that are least sure, however sure the classifier becomes. At no time
    are more than 1 + budget n of n rows.

    Parameters
    ----------
    classifier : OnlineClassifier
        Which the caller goes on training; nothing else is kept of it.
    budget : float
        Share of the rows to ask for, in (0, 1].
    strategy : {"confidence", "margin", "change", "random"}
    random_state : int or Generator, optional
        For "random".

    Attributes
    ----------
    n_seen, n_asked : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, classifier = scale(X), OnlineClassifier("arow")
    >>> selector = Selector(classifier, budget=0.2)
    >>> for x, label in zip(X[:400], y[:400]):
    ...     if selector.should_query(x):  # label is not looked at before
    ...         _ = classifier.partial_fit([x], [label], classes=[0, 1])
    >>> selector.n_asked, round(classifier.score(X[400:], y[400:]), 2)
    (68, 0.98)
    """

    def __init__(
        self,
        classifier: OnlineClassifier,
        budget: float = 0.2,
        strategy: str = "confidence",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        check_choice("strategy", strategy, STRATEGIES)
        if not 0.0 < budget <= 1.0:
            raise ValueError(f"budget must be a share of the rows, in (0, 1]; got {budget!r}")
        self.classifier, self.budget, self.strategy = classifier, budget, strategy
        self.random = np.random.default_rng(random_state)
        self.n_seen = self.n_asked = 0
        self._log_threshold = float(np.log(START))

    def should_query(self, x: Any) -> bool:
        """Whether to ask for the label of one row: an array of shape (d,), or a matrix of one row."""
        row = np.asarray(x)[None] if getattr(x, "ndim", 1) == 1 and not hasattr(x, "tocsr") else x
        return bool(self.choose(row)[0])

    def choose(self, X: Any) -> np.ndarray:
        """The same of several rows in their order, by the classifier as it is: booleans, shape (n,)."""
        n = X.shape[0]
        if self.strategy == "random":
            return np.array([self._decide(asks) for asks in self.random.random(n) < self.budget], dtype=bool)
        unknown = not hasattr(self.classifier, "learner_")
        doubts = np.zeros(n) if unknown else certainty(self.classifier, X, self.strategy)
        return np.array([self._decide(d <= exp(self._log_threshold)) for d in doubts], dtype=bool)

    def _decide(self, wanted: bool) -> bool:
        self.n_seen += 1
        wanted = bool(wanted) or self.budget == 1.0
        asked = wanted and self.n_asked <= self.budget * self.n_seen
        self.n_asked += asked
        self._log_threshold += RATE * (self.budget - wanted) / self.budget
        return asked


def simulate(
    classifier: OnlineClassifier,
    X: Any,
    y: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    labels: Sequence[int],
    strategy: str = "confidence",
    random_state: int | None = None,
) -> np.ndarray:
    """Test error after so many labels, asked for in rounds from a pool.

    The first round is random. In each of the others those rows are asked for, among the rest, of which the
    classifier then is least sure, and are learned in a random order. A classifier of several ``passes`` is fitted anew
    in every round to all rows asked for so far: where labels are dear, reading them again is cheap.

    Parameters
    ----------
    classifier : OnlineClassifier
        Its settings; it stays as it is.
    X, y, X_test, y_test
        The pool, whose labels are looked at when they are asked for, and rows to test on.
    labels : sequence of int
        After how many labels to test, ascending; a round each.
    strategy : {"confidence", "margin", "change", "random"}
    random_state : int, optional

    Returns
    -------
    array of shape (len(labels),)
        Share of the test rows predicted wrongly; NaN while nothing can be fitted, since all labels are alike.
    """
    random, learner, classes = np.random.default_rng(random_state), clone(classifier), np.unique(y)
    rest, asked, errors = np.arange(len(y)), np.empty(0, dtype=int), []
    for more in np.diff([0, *labels]):
        chosen = random.permutation(query(learner, X[rest], int(more), strategy, random))
        asked = np.concatenate([asked, rest[chosen]])
        if learner.passes == 1:
            learner.partial_fit(X[rest[chosen]], y[rest[chosen]], classes=classes)
        elif len(np.unique(y[asked])) > 1:
            learner.fit(X[asked], y[asked])
        rest = np.delete(rest, chosen)
        errors.append(1.0 - learner.score(X_test, y_test) if hasattr(learner, "learner_") else np.nan)
    return np.array(errors)
