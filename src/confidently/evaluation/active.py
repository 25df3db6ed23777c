"""Active learning: which labels to request when labels are expensive and rows are not."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from ..estimators.base_classifier import BaseOnlineClassifier
from ..rules.ranges import Range, check_choice, check_number
from ..tasks import calibration

if TYPE_CHECKING:
    from ..estimators.auto import AutoClassifier
    from ..estimators.classifier import OnlineClassifier
    from ..rules.rule import Rule

STRATEGIES = ("confidence", "margin", "expected_change", "random")
STRATEGIES_OF_STACKS = ("confidence", "margin", "disagreement", "random")
SHARE = Range(0.0, 1.0, closed_low=True, closed_high=True)
RATE = 0.05  # of the logarithm of the threshold, which can double within about 20 rows
INITIAL_THRESHOLD = 1.0  # one standard deviation, or a margin of 1


def certainty(classifier: OnlineClassifier | AutoClassifier, X: Any, strategy: str = "confidence") -> np.ndarray:
    """Return the certainty of each prediction; low values mark the rows whose labels are worth requesting.

    With m the margin between the two best classes and v its variance: ``|m|/sqrt(v)`` for "confidence", the number of
    standard deviations between the mean classifier and one with another prediction; ``|m|`` for "margin"; for
    "expected_change" one over the expected change of the posterior, the sum over both labels of ``p KL(new || old)``
    with the posterior probability p = Phi(+-m/sqrt(v)) of the label and::

        KL = (alpha^2 v - zeta v/(1 + zeta v) + log(1 + zeta v))/2

    which is exact for a full covariance and ignores the scale of the ellipsoid rules. For an :class:`AutoClassifier`
    there is no "expected_change", but "disagreement": one over the Jensen-Shannon divergence of the members'
    probabilities, the entropy of their mean minus their mean entropy.

    Parameters
    ----------
    classifier : OnlineClassifier or AutoClassifier
        Fitted.
    X : array, data frame or sparse matrix of shape (n, d)
    strategy : {"confidence", "margin", "expected_change", "disagreement"}

    Returns
    -------
    array of shape (n,)
        >= 0. For multilabel data, that of the least certain label.

    Examples
    --------
    >>> from confidently import OnlineClassifier
    >>> classifier = OnlineClassifier("arow", fit_intercept=False, view=None).fit([[1.0, 0.0], [-1.0, 0.0]], [1, 0])
    >>> certainty(classifier, [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]).round(2)
    array([4.36, 0.93, 0.  ])
    """
    check_choice("strategy", strategy, strategies_of(classifier)[:-1])
    matrix = classifier._matrix(X)
    learner: Any = classifier._learner_for(matrix)
    if strategy == "disagreement":
        return _inverse(learner.disagreement(matrix))
    margin, variance = learner.top_margins(matrix)
    if strategy == "margin":
        found = np.abs(margin)
    elif strategy == "confidence":
        found = np.divide(np.abs(margin), np.sqrt(variance), out=np.zeros_like(margin), where=variance > 0)
    else:
        rule, p = learner.settings.rule, calibration.posterior_probability(margin, variance)
        change = p * _change(rule, margin, variance) + (1.0 - p) * _change(rule, -margin, variance)
        found = _inverse(change)
    return found.min(axis=1, initial=np.inf) if found.ndim == 2 else found


def _inverse(x: np.ndarray) -> np.ndarray:
    """Return 1/x, infinite where x is 0."""
    return np.divide(1.0, x, out=np.full_like(x, np.inf), where=x > 0)


def strategies_of(classifier: Any) -> tuple[str, ...]:
    """Return the strategies for a classifier.

    Raises
    ------
    TypeError
        For anything else, which has no margins between classes.
    """
    if not isinstance(classifier, BaseOnlineClassifier):
        name = type(classifier).__name__
        raise TypeError(f"active learning takes an OnlineClassifier or an AutoClassifier, got {name}")
    return STRATEGIES_OF_STACKS if hasattr(classifier, "members") else STRATEGIES


def _change(rule: Rule, margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return KL(new || old) of the Gaussian over weights after an update on examples with these margins."""
    step = np.vectorize(lambda m, v: rule.compiled.step(m, v, 1.0, 0)[:2] if v > 0 else (0.0, 0.0), otypes="dd")
    alpha, zeta = step(margin, variance)
    gain = zeta * variance
    return 0.5 * (alpha**2 * variance - gain / (1 + gain) + np.log1p(gain))


def query(
    classifier: OnlineClassifier | AutoClassifier,
    pool: Any,
    k: int,
    strategy: str = "confidence",
    random_state: int | np.random.Generator | None = None,
    explore: float = 0.0,
) -> np.ndarray:
    """Select the rows of a pool whose labels to request next.

    Parameters
    ----------
    classifier : OnlineClassifier or AutoClassifier
        If it is not fitted, rows are selected at random.
    pool : array, data frame or sparse matrix of shape (n, d)
    k : int
        Number of rows, 1 to n.
    strategy : {"confidence", "margin", "expected_change", "disagreement", "random"}
        The least certain rows, by :func:`certainty`; or random ones.
    random_state : int or Generator, optional
        Also decides between rows of equal certainty.
    explore : float
        Expected fraction of the k rows that are random, in [0, 1]: a safeguard against mistakes that look certain.
        Where ``explore * k`` is not a whole number, it is rounded up or down at random.

    Returns
    -------
    array of shape (k,)
        Row numbers, the least certain first.

    Raises
    ------
    ValueError
        If there are fewer than k rows.
    """
    check_choice("strategy", strategy, strategies_of(classifier))
    check_number("query", "explore", explore, SHARE)
    n = pool.shape[0] if hasattr(pool, "shape") else len(pool)
    if isinstance(k, bool) or not 1 <= k <= n:
        raise ValueError(f"k must be between 1 and the {n} rows of the pool, got {k!r}")
    random = np.random.default_rng(random_state)
    shuffled = random.permutation(n)
    if strategy == "random" or not hasattr(classifier, "learner_"):
        return shuffled[:k]
    by_certainty = shuffled[np.argsort(certainty(classifier, pool, strategy)[shuffled], kind="stable")]
    at_random = int(explore * k + random.random()) if explore else 0
    least = by_certainty[: k - at_random]
    return np.concatenate([least, shuffled[~np.isin(shuffled, least)][: k - len(least)]])


class Selector:
    """Decides for each row of a stream whether to request its label, within a budget.

    The selector requests a label when certainty falls below a threshold theta, which follows the stream: after every
    row log(theta) moves by 0.05 (budget - below) / budget, where below is 1 for a certainty below it and 0 otherwise.
    In the long run it requests the budget's fraction of the labels, those of the least certain rows, however certain
    the classifier becomes. At any time it has requested at most 1 + budget n of n labels.

    Parameters
    ----------
    classifier : OnlineClassifier or AutoClassifier
        The caller continues to train it; the selector only reads it.
    budget : float
        Fraction of the labels to request, in (0, 1].
    strategy : {"confidence", "margin", "expected_change", "disagreement", "random"}
    random_state : int or Generator, optional
        For "random".

    Attributes
    ----------
    n_seen, n_queried : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from confidently import OnlineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, classifier = scale(X), OnlineClassifier("arow", view=None)
    >>> selector = Selector(classifier, budget=0.2)
    >>> for x, label in zip(X[:400], y[:400]):
    ...     if selector.should_query(x):  # the label is not used before
    ...         _ = classifier.partial_fit([x], [label], classes=[0, 1])
    >>> selector.n_queried, round(classifier.score(X[400:], y[400:]), 2)
    (68, 0.98)
    """

    def __init__(
        self,
        classifier: OnlineClassifier | AutoClassifier,
        budget: float = 0.2,
        strategy: str = "confidence",
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        check_choice("strategy", strategy, strategies_of(classifier))
        if not 0.0 < budget <= 1.0:
            raise ValueError(f"budget must be a fraction of the rows, in (0, 1]; got {budget!r}")
        self.classifier, self.budget, self.strategy = classifier, budget, strategy
        self.random = np.random.default_rng(random_state)
        self.n_seen = self.n_queried = 0
        self._log_threshold = float(np.log(INITIAL_THRESHOLD))

    def should_query(self, x: Any) -> bool:
        """Return whether to request the label of one row: an array of shape (d,), or a matrix of one row."""
        row = np.asarray(x)[None] if getattr(x, "ndim", 1) == 1 and not hasattr(x, "tocsr") else x
        return bool(self.choose(row)[0])

    def choose(self, X: Any) -> np.ndarray:
        """Return the decision for several rows in their order, with the classifier unchanged: booleans, shape (n,)."""
        n = X.shape[0]
        if self.strategy == "random":
            return np.array([self._decide(wanted) for wanted in self.random.random(n) < self.budget], dtype=bool)
        fitted = hasattr(self.classifier, "learner_")
        certainties = certainty(self.classifier, X, self.strategy) if fitted else np.zeros(n)
        return np.array([self._decide(value <= exp(self._log_threshold)) for value in certainties], dtype=bool)

    def _decide(self, wanted: bool) -> bool:
        self.n_seen += 1
        wanted = bool(wanted) or self.budget == 1.0
        queried = wanted and self.n_queried <= self.budget * self.n_seen
        self.n_queried += queried
        self._log_threshold += RATE * (self.budget - wanted) / self.budget
        return queried


def simulate(
    classifier: OnlineClassifier | AutoClassifier,
    X: Any,
    y: np.ndarray,
    X_test: Any,
    y_test: np.ndarray,
    labels: Sequence[int],
    strategy: str = "confidence",
    random_state: int | None = None,
    explore: float = 0.0,
) -> np.ndarray:
    """Return the test error after given numbers of labels, which are requested in rounds from a pool.

    The first round is random. Each other round requests the labels of the rows of which the classifier is then least
    certain and trains on them in random order. A classifier with several ``passes`` is trained from scratch in every
    round on all rows with labels: where labels are expensive, reading rows again is cheap.

    Parameters
    ----------
    classifier : OnlineClassifier or AutoClassifier
        Its settings are used; it is not changed.
    X, y, X_test, y_test
        The pool, whose labels are used only after they are requested, and rows to test on.
    labels : sequence of int
        Numbers of labels after which to test, ascending; one round each.
    strategy : {"confidence", "margin", "expected_change", "disagreement", "random"}
    random_state : int, optional
    explore : float
        As for :func:`query`.

    Returns
    -------
    array of shape (len(labels),)
        Fraction of the test rows predicted wrongly; NaN as long as all requested labels are alike.
    """
    random, learner, classes = np.random.default_rng(random_state), clone(classifier), np.unique(y)
    rest, queried, errors = np.arange(len(y)), np.empty(0, dtype=int), []
    for more in np.diff([0, *labels]):
        chosen = random.permutation(query(learner, X[rest], int(more), strategy, random, explore))
        queried = np.concatenate([queried, rest[chosen]])
        if learner._passes() == 1:
            learner.partial_fit(X[rest[chosen]], y[rest[chosen]], classes=classes)
        elif len(np.unique(y[queried])) > 1:
            learner.fit(X[queried], y[queried])
        rest = np.delete(rest, chosen)
        errors.append(1.0 - learner.score(X_test, y_test) if hasattr(learner, "learner_") else np.nan)
    return np.array(errors)
