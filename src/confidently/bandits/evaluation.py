"""What a policy would have earned, by several estimators and by period, and whether it is better than the log's."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..rules.ranges import check_number
from .betting import lower_bound
from .intervals import Interval
from .off_policy import (
    DoublyRobust,
    InverseProbabilityWeighting,
    SelfNormalizedInverseProbabilityWeighting,
    SwitchDoublyRobust,
)
from .off_policy_estimator import LEVEL, OffPolicyEstimator
from .overlap import OverlapWarning

ESTIMATORS: dict[str, type[OffPolicyEstimator]] = {
    kind.name: kind
    for kind in (
        InverseProbabilityWeighting, SelfNormalizedInverseProbabilityWeighting, DoublyRobust, SwitchDoublyRobust,
    )
}  # fmt: skip

PREDICTED = "estimated_rewards_by_reg_model"


class PolicyValue(NamedTuple):
    """An estimate of what a policy earns per decision.

    Attributes
    ----------
    estimator : str
        ``ipw``, ``snipw``, ``dr`` or ``switch_dr``.
    period : object
        Of the decisions; None for all of them.
    value, low, high : float
        The estimate with its interval.
    method : str
        Of the interval: ``likelihood`` or, for ``switch_dr``, whose bias it does not know, ``normal``.
    rounds, effective_rounds, largest_weight, mean_weight
        As in :class:`Overlap`.
    problem : str, optional
        Why the interval cannot be trusted: less than 50 effective rounds, a mean weight far from 1, or, for
        ``switch_dr``, rounds of which only the model knows.
    """

    estimator: str
    period: Any
    value: float
    low: float
    high: float
    method: str
    rounds: int
    effective_rounds: float
    largest_weight: float
    mean_weight: float
    problem: str | None


def evaluate_policy(
    reward: Any,
    action: Any,
    action_dist: Any,
    pscore: Any,
    estimated_rewards_by_reg_model: Any = None,
    sample_weight: Any = None,
    *,
    min_pscore: float | None = None,
    reward_range: tuple[float, float] = (0.0, 1.0),
    periods: Sequence[Any] | None = None,
    alpha: float = 0.05,
) -> list[PolicyValue]:
    """Return what a policy would have earned, by every estimator: over all decisions, then by period.

    Parameters
    ----------
    reward, action, action_dist, pscore
        As for :meth:`OffPolicyEstimator.estimate_policy_value`.
    estimated_rewards_by_reg_model : array of shape (n, n_actions), optional
        Expected rewards, for the estimators ``dr`` and ``switch_dr``, which are left out without them.
    sample_weight : array of shape (n,), optional
        As for :meth:`OffPolicyEstimator.estimate_policy_value`.
    min_pscore : float, optional
        As for :meth:`OffPolicyEstimator.estimate_interval`. By default the smallest one of these rounds, with which
        intervals are too narrow if smaller ones were possible.
    reward_range : pair of float
        The least and the largest reward that are possible.
    periods : sequence of shape (n,), optional
        The period of each decision, such as its day.
    alpha : float
        Intervals cover the value with probability 1 - alpha.

    Returns
    -------
    list of PolicyValue

    Raises
    ------
    ValueError
        As :meth:`OffPolicyEstimator.estimate_interval`, or if rewards are outside of their range.

    Examples
    --------
    >>> reward, action = [1, 0, 1, 1] * 50, [0, 1, 0, 1] * 50
    >>> first = evaluate_policy(reward, action, [[1.0, 0.0]] * 200, [0.5] * 200, min_pscore=0.5)[0]
    >>> first.estimator, first.value, first.effective_rounds, first.problem
    ('ipw', 1.0, 100.0, None)
    """
    low, width = reward_range[0], reward_range[1] - reward_range[0]
    if not width > 0:
        raise ValueError(f"reward_range: expected two numbers, the larger one last, got {reward_range!r}")
    given = {
        "reward": (np.asarray(reward, dtype=np.float64) - low) / width,
        "action": np.asarray(action),
        "action_dist": np.asarray(action_dist, dtype=np.float64),
        "pscore": np.asarray(pscore, dtype=np.float64),
    }
    if not ((given["reward"] >= 0.0) & (given["reward"] <= 1.0)).all():
        raise ValueError(f"reward: expected numbers in {tuple(reward_range)!r}; pass their reward_range")
    if sample_weight is not None:
        given["sample_weight"] = np.asarray(sample_weight, dtype=np.float64)
    if estimated_rewards_by_reg_model is not None:
        predicted = (np.asarray(estimated_rewards_by_reg_model, dtype=np.float64) - low) / width
        given[PREDICTED] = predicted.clip(0.0, 1.0)
    if min_pscore is None and len(given["pscore"]):
        min_pscore = float(given["pscore"].min())
    names = [name for name, kind in ESTIMATORS.items() if not kind.needs_predictions or PREDICTED in given]
    which: list[tuple[Any, Any]] = [(None, slice(None))]
    if periods is not None:
        labels = list(periods)
        which += [(one, [k for k, label in enumerate(labels) if label == one]) for one in dict.fromkeys(labels)]
    found = []
    for period, rows in which:
        part = {name: array[rows] for name, array in given.items()}
        for name in names:
            estimator = ESTIMATORS[name]()
            rounds = {key: array for key, array in part.items() if estimator.needs_predictions or key != PREDICTED}
            overlap = estimator.overlap(**rounds)
            if not overlap.mean_weight:  # the policy never agrees with the log: ratios are not defined
                continue
            found.append(_value_of(estimator, period, rounds, min_pscore, low, width, alpha))
    return found


def _value_of(
    estimator: OffPolicyEstimator, period: Any, rounds: dict[str, Any], min_pscore: float | None, low: float,
    width: float, alpha: float,
) -> PolicyValue:  # fmt: skip
    method = "normal" if isinstance(estimator, SwitchDoublyRobust) else "likelihood"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # it is the problem that is returned
        found = estimator.estimate_interval(**rounds, alpha=alpha, method=method, min_pscore=min_pscore)
    value, least, most = (low + width * number for number in found)
    problem = estimator.problem(**rounds)
    if problem is None and isinstance(estimator, SwitchDoublyRobust):
        largest = float(InverseProbabilityWeighting().weights(**rounds).max())
        if largest > estimator.lambda_:
            problem = f"weights reach {largest:.4g}, and above {estimator.lambda_:g} the model is taken to be right"
    return PolicyValue(estimator.name, period, value, least, most, method, *estimator.overlap(**rounds), problem)


def estimate_gain(
    reward: Any, action: Any, action_dist: Any, pscore: Any, *, other_dist: Any = None,
    reward_range: tuple[float, float] = (0.0, 1.0), alpha: float = 0.05,
) -> Interval:  # fmt: skip
    """Return by how much a policy would have earned more per decision than another one, by default the log's.

    The limits are by bets (``confidently.bandits.betting``). They hold for every number of decisions at
    once, with whatever propensities: a policy may be promoted at the first decision after which the lower one is above
    0, and is then no better with a probability of at most alpha/2.

    Parameters
    ----------
    reward, action, action_dist, pscore
        As for :meth:`OffPolicyEstimator.estimate_policy_value`.
    other_dist : array of shape (n, n_actions), optional
        Probabilities of the other policy; by default it is the one that made the log.
    reward_range : pair of float
        The least and the largest reward that are possible.
    alpha : float
        In (0, 1).

    Raises
    ------
    ValueError
        As there, or if rewards are outside of their range.

    Examples
    --------
    >>> reward, action = [1, 0] * 200, [0, 1] * 200
    >>> found = estimate_gain(reward, action, [[1.0, 0.0]] * 400, [0.5] * 400)
    >>> found.value, found.low > 0
    (0.5, True)
    """
    low, width = reward_range[0], reward_range[1] - reward_range[0]
    scaled = (np.asarray(reward, dtype=np.float64) - low) / width
    if not ((scaled >= 0) & (scaled <= 1)).all():
        raise ValueError(f"reward: expected numbers in {reward_range!r}; pass their reward_range")
    estimator = InverseProbabilityWeighting()
    check_number("estimate_gain", "alpha", alpha, LEVEL)
    w = estimator.weights(scaled, action, action_dist, pscore)
    w0 = np.ones(len(w)) if other_dist is None else estimator.weights(scaled, action, other_dist, pscore)
    value = float(((w - w0) * scaled).mean())
    # With the values v and v0, w r + w0 (1 - r) >= 0 has the expectation 1 + v - v0, and w (1 - r) + w0 r 1 - v + v0.
    more, less = (
        lower_bound(0.5 * terms, alpha / 2.0)
        for terms in (w * scaled + w0 * (1.0 - scaled), w * (1.0 - scaled) + w0 * scaled)
    )
    return Interval(width * value, width * (2.0 * more - 1.0), width * (1.0 - 2.0 * less))
