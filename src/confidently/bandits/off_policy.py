"""Off-policy estimators: the value of a policy from decisions that another policy made.

Round i has a context, the action a_i that the logging policy chose with probability p_i (``pscore``), and its reward
r_i. The policy to evaluate would have chosen action a with probability pi_i(a) (``action_dist``), and w_i =
pi_i(a_i)/p_i is the weight of the round.
"""

from __future__ import annotations

import math

import numpy as np

from ..rules.parametric import parameter
from ..rules.ranges import Range
from .intervals import Floats, Interval
from .likelihood import likelihood_limits
from .off_policy_estimator import OffPolicyEstimator, Rounds, Terms


class InverseProbabilityWeighting(OffPolicyEstimator):
    """IPS: the mean of w_i r_i, unbiased if the logging policy may choose every action that the policy chooses.

    ``lambda_`` clips the weights, which trades variance for bias.

    Examples
    --------
    >>> ips = InverseProbabilityWeighting()
    >>> ips.estimate_policy_value([1, 0, 1], [0, 1, 1], [[0.5, 0.5]] * 3, pscore=[0.5, 0.5, 0.25])
    1.0
    """

    name = "ipw"
    lambda_: float = parameter(Range(0.0, math.inf, closed_high=True), "largest weight", default=math.inf)

    def _terms(self, rounds: Rounds) -> Terms:
        return Terms(self._weights(rounds) * rounds.reward, None, 0.0, self._largest(rounds))

    def _weights(self, rounds: Rounds) -> Floats:
        return np.minimum(rounds.weights, self.lambda_ * rounds.counts)

    def _largest(self, rounds: Rounds) -> float:
        return min(self.lambda_ * float(rounds.counts.max()), rounds.largest)

    def _likelihood_interval(self, rounds: Rounds, value: float, alpha: float) -> Interval:
        if math.isfinite(self.lambda_):
            raise ValueError(
                f"{type(self).__name__} with clipped weights has no interval by likelihood; use lambda_=inf"
            )
        if not math.isfinite(rounds.largest):
            raise ValueError(
                "method='likelihood' needs a bound of the weights; pass min_pscore, the smallest possible propensity"
            )
        w = rounds.weights
        if rounds.predicted is None:
            corners = [(0.0, 0.0), (rounds.largest, 0.0), (rounds.largest, rounds.largest)]
            return Interval(value, *likelihood_limits(w, w * rounds.reward, corners, alpha))
        most, alone = rounds.largest, float(rounds.counts.max())
        corners = [(0.0, 0.0), (0.0, alone), (most, -most), (most, alone + most)]
        return Interval(value, *likelihood_limits(w, self._terms(rounds).numerator, corners, alpha))

    def _bets(self, rounds: Rounds, terms: Terms) -> tuple[Floats, Floats, float, float]:
        # The expectation of w (1 - r) is 1 - v, since that of w is 1; smaller weights only lower both.
        w = self._weights(rounds)
        return w * rounds.reward, w * (1.0 - rounds.reward), 0.0, 1.0


class SelfNormalizedInverseProbabilityWeighting(InverseProbabilityWeighting):
    """SNIPS: the sum of w_i r_i divided by that of w_i.

    It is biased by O(1/n), does not depend on a factor on all weights, stays within the rewards, and mostly has a
    smaller variance than IPS.

    References
    ----------
    Swaminathan & Joachims, NIPS 2015.
    """

    name = "snipw"

    def _terms(self, rounds: Rounds) -> Terms:
        w = self._weights(rounds)
        return Terms(w * rounds.reward, w, 0.0, math.inf)


class DirectMethod(OffPolicyEstimator):
    """DM: the mean of sum_a pi_i(a) q_i(a) for the rewards q that a model expects; as biased as the model."""

    name = "dm"
    needs_pscore = False
    needs_predictions = True

    def _terms(self, rounds: Rounds) -> Terms:
        assert rounds.predicted is not None
        return Terms(rounds.direct, None, 0.0, float(rounds.counts.max()))


class DoublyRobust(InverseProbabilityWeighting):
    """DR: the direct method, corrected by the weighted errors of its model.

    The mean of sum_a pi_i(a) q_i(a) + w_i (r_i - q_i(a_i)): unbiased with the right propensities whatever the model q,
    and with the right model whatever the propensities.

    References
    ----------
    Dudik, Langford & Li, ICML 2011.
    """

    name = "dr"
    needs_predictions = True

    def _terms(self, rounds: Rounds) -> Terms:
        assert rounds.predicted is not None
        w = self._weights(rounds)
        corrected = rounds.direct + w * (rounds.reward - rounds.of_action(rounds.predicted))
        most = self._largest(rounds)
        return Terms(corrected, None, -most, float(rounds.counts.max()) + most)

    def _bets(self, rounds: Rounds, terms: Terms) -> tuple[Floats, Floats, float, float]:
        if math.isfinite(self.lambda_):
            raise ValueError(
                f"{type(self).__name__} with clipped weights has no interval of the policy's value; use lambda_=inf or "
                "InverseProbabilityWeighting"
            )
        return OffPolicyEstimator._bets(self, rounds, terms)


class SwitchDoublyRobust(DoublyRobust):
    """Switch-DR: doubly robust where weights are at most ``lambda_``, and by the model where they are larger.

    The mean of ``sum_a pi_i(a) q_i(a) + w_i [w_i <= lambda_] (r_i - q_i(a_i))``. Large weights then add no variance,
    but the errors of the model there remain.

    References
    ----------
    Wang, Agarwal & Dudik, ICML 2017.
    """

    name = "switch_dr"
    lambda_: float = parameter(Range(0.0, math.inf, closed_high=True), "largest weight that counts", default=10.0)

    def _weights(self, rounds: Rounds) -> Floats:
        w = rounds.weights
        return np.where(w <= self.lambda_ * rounds.counts, w, 0.0)


class ReplayMethod(OffPolicyEstimator):
    """Replay: the mean reward of the rounds whose logged action the policy chooses.

    Unbiased if the logging policy chose uniformly at random (Li et al., WSDM 2011). A policy that chooses at random
    counts each round with its probability of the logged action. :func:`replay` lets a bandit learn meanwhile.
    """

    name = "rm"
    needs_pscore = False

    def _terms(self, rounds: Rounds) -> Terms:
        w = self._weights(rounds)
        return Terms(w * rounds.reward, w, 0.0, math.inf)

    def _weights(self, rounds: Rounds) -> Floats:
        return rounds.counts * rounds.chosen

    def _bets(self, rounds: Rounds, terms: Terms) -> tuple[Floats, Floats, float, float]:
        w = self._weights(rounds) * rounds.action_dist.shape[1]  # as by inverse propensities of uniform choices
        return w * rounds.reward, w * (1.0 - rounds.reward), 0.0, 1.0
