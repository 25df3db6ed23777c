"""What off-policy estimators share: the logged rounds, the estimate, its interval and the overlap of policies."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..rules.parametric import Parametric
from ..rules.ranges import Range, check_choice, check_integer, check_number
from .intervals import (
    METHODS,
    Floats,
    Interval,
    bernstein_interval,
    betting_interval,
    bootstrap_interval,
    normal_interval,
)
from .overlap import Overlap, overlap_of, problem_of, warn_of_little_overlap

LEVEL = Range(0.0, 1.0)
PROPENSITY = Range(0.0, 1.0, closed_high=True)


class Terms(NamedTuple):
    """The estimate is mean(numerator)/mean(denominator); without a denominator, mean(numerator).

    ``low`` and ``high`` bound all numerators that are possible, for rewards in [0, 1]; infinite ones if
    weights have no known bound.
    """

    numerator: Floats
    denominator: Floats | None
    low: float
    high: float


class Rounds(NamedTuple):
    """Logged rounds, checked.

    ``chosen``: pi_i(a_i); ``counts``: how many rounds each stands for, 1 in the mean; ``largest``: the largest weight
    that is possible.
    """

    reward: Floats
    action: NDArray[np.intp]
    action_dist: Floats
    pscore: Floats | None
    predicted: Floats | None
    counts: Floats
    largest: float = math.inf

    @property
    def range(self) -> tuple[float, float]:
        """What rewards, and so the value of a policy, can be: [0, 1] if all of them are, and otherwise any number."""
        inside = ((self.reward >= 0.0) & (self.reward <= 1.0)).all()
        return (0.0, 1.0) if inside else (-math.inf, math.inf)

    @property
    def chosen(self) -> Floats:
        return self.of_action(self.action_dist)

    @property
    def weights(self) -> Floats:
        """The weights w_i, not clipped, times the counts."""
        assert self.pscore is not None
        return self.counts * self.chosen / self.pscore

    @property
    def direct(self) -> Floats:
        """What the policy earns by the expected rewards, times the counts."""
        assert self.predicted is not None
        return self.counts * (self.action_dist * self.predicted).sum(axis=1)

    def of_action(self, table: Floats) -> Floats:
        return table[np.arange(len(self.action)), self.action]


class OffPolicyEstimator(Parametric, ABC):
    """Base of the estimators, with the methods and arguments of the Open Bandit Pipeline."""

    needs_pscore: ClassVar[bool] = True
    needs_predictions: ClassVar[bool] = False

    @abstractmethod
    def _terms(self, rounds: Rounds) -> Terms:
        """Return the terms of the estimate."""

    def estimate_policy_value(
        self,
        reward: Any,
        action: Any,
        action_dist: Any,
        pscore: Any = None,
        estimated_rewards_by_reg_model: Any = None,
        sample_weight: Any = None,
    ) -> float:
        """Return the estimated mean reward of the policy.

        Parameters
        ----------
        reward : array of shape (n,)
        action : array of shape (n,)
            Numbers of the logged actions, from 0.
        action_dist : array of shape (n, n_actions)
            Probabilities of the policy to evaluate, of :meth:`ContextualBandit.propensities`.
        pscore : array of shape (n,), optional
            Probabilities with which the logging policy chose the logged actions, in (0, 1].
        estimated_rewards_by_reg_model : array of shape (n, n_actions), optional
            Expected rewards by a model that was not trained on these rounds, for ``DirectMethod`` and ``DoublyRobust``.
        sample_weight : array of shape (n,), optional
            How many rounds each stands for, > 0, where a log has a part of them: 1/(1 - pdrop).

        Returns
        -------
        float
            In [0, 1] if all rewards are: weights may add up to more.

        Raises
        ------
        ValueError
            If an array is missing, has the wrong shape, or holds impossible values; or if no round counts.
        """
        rounds = self._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight)
        low, high = rounds.range
        return min(max(self._value(self._terms(rounds)), low), high)

    def estimate_interval(
        self,
        reward: Any,
        action: Any,
        action_dist: Any,
        pscore: Any = None,
        estimated_rewards_by_reg_model: Any = None,
        sample_weight: Any = None,
        *,
        alpha: float = 0.05,
        method: str = "normal",
        n_bootstrap_samples: int = 1000,
        random_state: int | None = None,
        min_pscore: float | None = None,
    ) -> Interval:
        """Return the estimate with an interval that covers the policy's value with probability 1 - alpha.

        Where propensities come near 0, large weights are rare, and a log without them looks more certain than it is:
        then only "betting" keeps its promise without knowing more. The interval need not contain the estimate.

        Parameters
        ----------
        reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight
            As for :meth:`estimate_policy_value`. The rounds are independent.
        alpha : float
            In (0, 1).
        method : {"normal", "bootstrap", "likelihood", "bernstein", "betting"}
            The central limit theorem (for a ratio, by its linearization); percentiles of the bootstrap; the empirical
            likelihood of distributions whose mean weight is 1; the empirical Bernstein inequality; or bets against too
            low and too high values. The first two hold for many effective rounds, "likelihood" for fewer, since it
            counts on large weights that the log lacks. It needs rewards in [0, 1] and a bound of the weights,
            ``min_pscore``. The last two hold for every number of rounds, with the right propensities and rewards in
            [0, 1]. "bernstein" also needs a bound of the weights, ``min_pscore`` or ``lambda_``, and is not for ratios.
            "betting" needs one for ``DoublyRobust`` only; its bounds of the first n rounds hold for all n at once.
        n_bootstrap_samples : int
        random_state : int, optional
            Seed of the bootstrap.
        min_pscore : float, optional
            A lower bound, in (0, 1], of the probabilities with which the logging policy chooses any action that the
            policy to evaluate may choose: known from how the log was made, as epsilon/K, not read off these rounds.

        Returns
        -------
        Interval
            With ``value``, ``low`` and ``high``, in [0, 1] if all rewards are.

        Raises
        ------
        ValueError
            As :meth:`estimate_policy_value`; if a propensity is below ``min_pscore``; for "bernstein" and "betting"
            also if rewards lie outside of [0, 1] or the bound of the weights is missing, and for "bernstein" if the
            estimate is a ratio.

        Warns
        -----
        OverlapWarning
            With "normal" and "bootstrap", if there are fewer than 50 effective rounds, or the mean weight is more than
            4 standard errors away from 1 (:meth:`overlap`).

        Notes
        -----
        Clipped weights (``lambda_``) make the estimate biased. Intervals are then of its expectation, except for
        "betting": less weight only makes its bounds of the policy's value wider.
        """
        check_number("estimate_interval", "alpha", alpha, LEVEL)
        check_choice("method", method, METHODS)
        check_integer("estimate_interval", "n_bootstrap_samples", n_bootstrap_samples, 1)
        rounds = self._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight)
        if min_pscore is not None:
            check_number("estimate_interval", "min_pscore", min_pscore, PROPENSITY)
            least = 1.0 if rounds.pscore is None else rounds.pscore[rounds.chosen > 0].min(initial=1.0)
            if least < min_pscore:
                raise ValueError(f"pscore: {least:g} is below min_pscore={min_pscore:g}; pass a lower bound")
            rounds = rounds._replace(largest=float(rounds.counts.max()) / min_pscore)
        found = self._interval(rounds, method, alpha, n_bootstrap_samples, random_state)
        return found.within(*rounds.range)

    def _interval(
        self, rounds: Rounds, method: str, alpha: float, n_bootstrap_samples: int, random_state: int | None
    ) -> Interval:
        terms = self._terms(rounds)
        value = self._value(terms)
        if method in ("normal", "bootstrap"):
            warn_of_little_overlap(type(self).__name__, self._problem(rounds))
        if method == "bootstrap":
            return bootstrap_interval(
                value, terms.numerator, terms.denominator, alpha, n_bootstrap_samples, random_state
            )
        if method == "normal":
            if terms.denominator is None:
                return normal_interval(value, terms.numerator - value, alpha)
            influence = (terms.numerator - value * terms.denominator) / terms.denominator.mean()
            return normal_interval(value, influence, alpha)
        known = (rounds.reward,) if rounds.predicted is None else (rounds.reward, rounds.predicted)
        if any(((array < 0) | (array > 1)).any() for array in known):
            raise ValueError(f"method={method!r} needs rewards in [0, 1]; scale them, or use method='normal'")
        if method == "likelihood":
            return self._likelihood_interval(rounds, value, alpha)
        if method == "betting":
            return betting_interval(value, *self._bets(rounds, terms), alpha)
        if terms.denominator is not None:
            raise ValueError(
                f"{type(self).__name__} is a ratio, which has no Bernstein interval; use method='betting' or 'normal'"
            )
        _require_bounds(method, terms)
        return bernstein_interval(terms.numerator, terms.low, terms.high, alpha)

    def weights(
        self, reward: Any, action: Any, action_dist: Any, pscore: Any = None,
        estimated_rewards_by_reg_model: Any = None, sample_weight: Any = None,
    ) -> Floats:  # fmt: skip
        """Return the weight of each round; parameters and errors: :meth:`estimate_policy_value`."""
        rounds = self._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight)
        return self._weights(rounds)

    def problem(
        self, reward: Any, action: Any, action_dist: Any, pscore: Any = None,
        estimated_rewards_by_reg_model: Any = None, sample_weight: Any = None,
    ) -> str | None:  # fmt: skip
        """Return why the rounds say too little about the policy, or None; parameters: :meth:`estimate_policy_value`."""
        rounds = self._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight)
        return self._problem(rounds)

    def _problem(self, rounds: Rounds) -> str | None:
        return problem_of(self._weights(rounds), rounds.weights if self.needs_pscore else None)

    def _likelihood_interval(self, rounds: Rounds, value: float, alpha: float) -> Interval:
        raise ValueError(f"{type(self).__name__} has no interval by likelihood; use method='betting' or 'normal'")

    def overlap(
        self, reward: Any, action: Any, action_dist: Any, pscore: Any = None,
        estimated_rewards_by_reg_model: Any = None, sample_weight: Any = None,
    ) -> Overlap:  # fmt: skip
        """Return how much the rounds say about the policy; parameters and errors: :meth:`estimate_policy_value`."""
        rounds = self._rounds(reward, action, action_dist, pscore, estimated_rewards_by_reg_model, sample_weight)
        return overlap_of(self._weights(rounds))

    def _weights(self, rounds: Rounds) -> Floats:
        """Return the weights of the rounds; those of an estimate without weights are equal."""
        return rounds.counts

    def _bets(self, rounds: Rounds, terms: Terms) -> tuple[Floats, Floats, float, float]:
        """Return terms >= 0 with the expectations (v - low)/(high - low) and (high - v)/(high - low), low and high."""
        _require_bounds("betting", terms)
        below = (terms.numerator - terms.low) / (terms.high - terms.low)
        return below, 1.0 - below, terms.low, terms.high

    def _value(self, terms: Terms) -> float:
        if terms.denominator is None:
            return float(terms.numerator.mean())
        if not terms.denominator.sum() > 0:
            raise ValueError(
                f"{type(self).__name__}: the policy never chooses a logged action, so no round counts; use more rounds "
                "or another policy"
            )
        return float(terms.numerator.sum() / terms.denominator.sum())

    def _rounds(
        self, reward: Any, action: Any, action_dist: Any, pscore: Any, predicted: Any, sample_weight: Any = None
    ) -> Rounds:  # fmt: skip
        name = type(self).__name__
        r, a = np.asarray(reward, dtype=np.float64), np.asarray(action)
        n = len(r) if r.ndim == 1 else 0
        if not n or a.shape != (n,):
            raise ValueError(f"{name}: reward and action must have one shape (n,), got {r.shape} and {a.shape}")
        dist = _table(name, "action_dist", action_dist, n)
        if a.dtype.kind not in "iu" or a.min() < 0 or a.max() >= dist.shape[1]:
            raise ValueError(
                f"{name}: action must hold integers from 0 to {dist.shape[1] - 1}, as action_dist has columns"
            )
        if not np.isfinite(r).all():
            raise ValueError(f"{name}: reward must be finite")
        if not ((dist >= 0).all() and np.allclose(dist.sum(axis=1), 1.0, atol=1e-6)):
            raise ValueError(f"{name}: each row of action_dist must be probabilities that sum to 1")
        p = None
        if self.needs_pscore:
            if pscore is None:
                raise ValueError(f"{name} needs pscore, the probabilities of the logged actions; pass an array (n,)")
            p = np.asarray(pscore, dtype=np.float64)
            if p.shape != (n,) or not ((p > 0) & (p <= 1)).all():
                raise ValueError(f"{name}: pscore must be {n} probabilities in (0, 1]")
        q = None
        if self.needs_predictions:
            if predicted is None:
                raise ValueError(f"{name} needs estimated_rewards_by_reg_model; pass an array (n, n_actions)")
            q = _table(name, "estimated_rewards_by_reg_model", predicted, n)
            if q.shape != dist.shape or not np.isfinite(q).all():
                raise ValueError(f"{name}: estimated_rewards_by_reg_model must be finite, of shape {dist.shape}")
        counts = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        if counts.shape != (n,) or not ((counts > 0) & np.isfinite(counts)).all():
            raise ValueError(f"{name}: sample_weight must be {n} finite numbers > 0")
        return Rounds(r, a.astype(np.intp), dist, p, q, counts / counts.mean())


def _require_bounds(method: str, terms: Terms) -> None:
    if not math.isfinite(terms.high - terms.low):
        raise ValueError(
            f"method={method!r} needs a bound of the weights; pass min_pscore, the smallest possible propensity, or "
            "use InverseProbabilityWeighting with method='betting', which needs none"
        )


def _table(name: str, argument: str, given: Any, n: int) -> Floats:
    table = np.asarray(given, dtype=np.float64)
    if table.ndim == 3 and table.shape[2] == 1:  # the Open Bandit Pipeline has an axis of positions in a list
        table = table[:, :, 0]
    if table.ndim != 2 or table.shape[0] != n or not table.shape[1]:
        raise ValueError(f"{name}: {argument} must have the shape ({n}, n_actions), got {table.shape}")
    return table
