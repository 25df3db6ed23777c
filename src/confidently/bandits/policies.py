"""Policies: which arm to choose, given mean and variance of every arm's score, and with what probability."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..rules.parametric import Parametric, parameter
from ..rules.ranges import Range, UnknownChoice
from .draws import drawn

Floats = NDArray[np.float64]
WEIGHT = Range(0.0, 1e9, closed_low=True, closed_high=True)
MANY, LEAST = 1000, 1e-9  # arms; deviation
SHARE = Range(0.0, 1.0, closed_low=True, closed_high=True)


class Policy(Parametric):
    """Base of all policies: functions of the Gaussians over the arms' scores, and of nothing else."""

    source: ClassVar[str]

    def propensities(self, mean: Any, variance: Any) -> Floats:
        """Return the probability with which each arm is chosen.

        Parameters
        ----------
        mean, variance : array of shape (n_arms,) or (n, n_arms)
            Of the arms' scores, the variance >= 0.

        Returns
        -------
        ndarray of the same shape
            Each row sums to 1.

        Raises
        ------
        ValueError
            If the shapes differ, there is no arm, or a number is not finite or a variance negative.
        """
        return self._apply(self._propensities, mean, variance)

    def choose(self, mean: Any, variance: Any, random: np.random.Generator) -> NDArray[np.intp]:
        """Draw an arm per row with the probabilities of :meth:`propensities`: its number, shape () or (n,).

        Rows are drawn one after the other, so several draw as each alone.
        """

        def each(m: Floats, v: Floats) -> NDArray[np.intp]:
            return np.array([self._choose(*row, random) for row in zip(m, v, strict=True)], dtype=np.intp)

        return self._apply(each, mean, variance)

    def propensity_of(self, arm: int, mean: Any, variance: Any) -> float:
        """Return the probability of one arm, by its number, for arrays of shape (n_arms,)."""
        return float(self.propensities(mean, variance)[arm])

    def quick_propensities(self, mean: Any, variance: Any) -> Floats:
        """Return :meth:`propensities`, of many arms possibly of ones nearly like them, for choices by these numbers."""
        return self.propensities(mean, variance)

    def _apply(self, compute: Any, mean: Any, variance: Any) -> Any:
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if m.shape != v.shape or m.ndim not in (1, 2) or not m.shape[-1]:
            raise ValueError(
                f"{type(self).__name__}: mean and variance must have one shape, (n_arms,) or (n, n_arms), got "
                f"{m.shape} and {v.shape}; pass a number per arm"
            )
        if not (np.isfinite(m).all() and np.isfinite(v).all() and (v >= 0).all()):
            raise ValueError(f"{type(self).__name__}: mean and variance must be finite, and no variance negative")
        found = compute(np.atleast_2d(m), np.atleast_2d(v))
        return found[0] if m.ndim == 1 else found

    def _index(self, mean: Floats, variance: Floats) -> Floats:
        """Return a number per arm; the arm with the largest one is chosen."""
        return mean

    def _propensities(self, mean: Floats, variance: Floats) -> Floats:
        return _shared(self._index(mean, variance))

    def _choose(self, mean: Floats, variance: Floats, random: np.random.Generator) -> int:
        return _largest(self._index(mean, variance), random)


class Greedy(Policy):
    """The arm with the largest mean; equal ones with equal probabilities.

    Examples
    --------
    >>> Greedy().propensities([0.1, 0.5, 0.5], [1.0, 1.0, 1.0])
    array([0. , 0.5, 0.5])
    """

    name = "greedy"
    source = "no exploration beyond that of the data"


class EpsilonGreedy(Policy):
    """With probability epsilon any arm, otherwise the one with the largest mean.

    p_a = epsilon/K + (1 - epsilon) p_a of :class:`Greedy`, with K arms.

    Examples
    --------
    >>> EpsilonGreedy(epsilon=0.2).propensities([0.1, 0.5], [1.0, 1.0])
    array([0.1, 0.9])
    """

    name = "epsilon_greedy"
    source = "Sutton & Barto, Reinforcement Learning, 1998, section 2.2"
    epsilon: float = parameter(SHARE, "probability of a random arm", default=0.1)

    def _propensities(self, mean: Floats, variance: Floats) -> Floats:
        return self.epsilon / mean.shape[1] + (1.0 - self.epsilon) * super()._propensities(mean, variance)

    def _choose(self, mean: Floats, variance: Floats, random: np.random.Generator) -> int:
        best, explored, any_arm = super()._choose(mean, variance, random), random.random(), random.integers(len(mean))
        return int(any_arm) if explored < self.epsilon else best


class LinUCB(Policy):
    """The arm with the largest upper confidence bound mean + alpha sqrt(variance); equal ones with equal probabilities.

    For ``Ridge(r)`` with a full covariance and the prior variance p, the mean plus alpha standard deviations bounds the
    expected reward of an arm for a context with probability 1 - delta/2, as the mean minus them does, if::

        alpha = S/sqrt(p) + sqrt(log(2/delta)/(2 r))

    The expected rewards must be linear in the context (and its constant 1) with weights of a norm of at most S, rewards
    lie in [0, 1], and be independent given the contexts of the arm, as in a log whose choices do not depend on earlier
    rewards. Li et al. have S = p = r = 1; with r = 1/4, the default of :class:`ContextualBandit`, the second term is
    twice theirs.

    Examples
    --------
    >>> LinUCB(alpha=1.0).propensities([0.5, 0.4], [0.01, 0.09])
    array([0., 1.])
    """

    name = "lin_ucb"
    source = "Li, Chu, Langford & Schapire, WWW 2010"
    alpha: float = parameter(WEIGHT, "standard deviations that are added to the mean", default=1.0)

    def _index(self, mean: Floats, variance: Floats) -> Floats:
        return mean + self.alpha * np.sqrt(variance)


class LinTS(Policy):
    """Thompson sampling: the arm whose draw from N(mean, alpha^2 variance) is the largest.

    Arms are drawn independently of each other. For one model per arm, that is the posterior; for one model of all arms,
    it is the product of the marginals of their scores. The propensities are then exact::

        p_a = integral of N(t; m_a, s_a^2) prod over b != a of Phi((t - m_b)/s_b) dt,    s = alpha sqrt(variance)

    by Gauss-Legendre quadrature with nodes halved until the sum over all arms is known to 1e-10.

    Examples
    --------
    >>> LinTS().propensities([1.0, 0.0], [0.5, 0.5]).round(4)  # Phi(1) and 1 - Phi(1)
    array([0.8413, 0.1587])
    """

    name = "lin_ts"
    source = "Thompson, Biometrika 25, 1933; Agrawal & Goyal, ICML 2013"
    alpha: float = parameter(WEIGHT, "factor on the standard deviations", default=1.0)

    def _centre(self, mean: Floats, variance: Floats) -> Floats:
        """Return the means of the Gaussians that are drawn from."""
        return mean

    def _propensities(self, mean: Floats, variance: Floats) -> Floats:
        return self._of_draws(self._centre(mean, variance), variance)

    def _of_draws(self, mean: Floats, variance: Floats) -> Floats:
        out = np.empty(mean.shape)
        _core.best_arm(np.ascontiguousarray(mean), np.ascontiguousarray(self.alpha * np.sqrt(variance)), out)
        return out

    def quick_propensities(self, mean: Any, variance: Any) -> Floats:
        """Return propensities; of more than 1,000 arms, deviations are rounded by 6 % and means by 1/16 of these.

        Arms that are then alike are one in the quadrature.
        """
        m, v = np.asarray(mean, dtype=np.float64), np.asarray(variance, dtype=np.float64)
        if m.shape[-1] > MANY and self.alpha:
            deviation = np.exp(np.round(np.log(np.maximum(self.alpha * np.sqrt(v), LEAST)) * 8.0) / 8.0)
            m = np.round(self._centre(m, v) / deviation * 8.0) * deviation / 8.0
            return self._apply(self._of_draws, m, np.square(deviation / self.alpha))
        return self.propensities(m, v)

    def _choose(self, mean: Floats, variance: Floats, random: np.random.Generator) -> int:
        z = random.standard_normal(len(mean))
        return _largest(self._centre(mean, variance) + self.alpha * np.sqrt(variance) * z, random)


class RandUCB(LinTS):
    """Bounds by random numbers of standard deviations: the arm with the largest mean + z sqrt(variance).

    Every arm has its own z from N(optimism, alpha^2), so these are draws as those of :class:`LinTS` from Gaussians
    whose means are moved up by ``optimism`` standard deviations. Without ``optimism`` it is that policy, and with
    alpha = 0 :class:`LinUCB`. The source has a discrete distribution of z in place of the Gaussian one.

    Examples
    --------
    >>> RandUCB().propensities([0.5, 0.4], [0.01, 0.09]).round(3)
    array([0.103, 0.897])
    """

    name = "rand_ucb"
    source = "Vaswani, Mehrabian, Durand & Kveton, AISTATS 2020, with a z of each arm"
    alpha: float = parameter(WEIGHT, "standard deviation of the number of standard deviations", default=0.25)
    optimism: float = parameter(WEIGHT, "mean of the number of standard deviations", default=1.0)

    def _centre(self, mean: Floats, variance: Floats) -> Floats:
        return mean + self.optimism * np.sqrt(variance)


class SquareCB(Policy):
    """Inverse gap weighting: the further the mean is below the largest, the smaller the probability.

    With K arms, of which b has the largest mean::

        p_a = 1/(K + gamma sqrt(K) z_a),    z_a = (m_b - m_a)/sqrt(v_a + v_b),

    for the other arms, and what is left for b. Foster & Rakhlin have gamma' (m_b - m_a), where gamma' grows with
    the number of decisions as the errors of the means shrink; here the posterior says how large these are. Arms of
    equal, largest mean share what is left.

    Examples
    --------
    >>> SquareCB(gamma=1.0).propensities([0.5, 0.1], [0.02, 0.02]).round(3)
    array([0.793, 0.207])
    """

    name = "square_cb"
    source = "Foster & Rakhlin, ICML 2020; Abe & Long, ICML 1999"
    gamma: float = parameter(WEIGHT, "weight of the gap to the largest mean, in standard deviations", default=10.0)

    def _propensities(self, mean: Floats, variance: Floats) -> Floats:
        n = mean.shape[1]
        best = mean == mean.max(axis=1, keepdims=True)
        of_best = np.where(best, variance, np.inf).min(axis=1, keepdims=True)
        gap = mean.max(axis=1, keepdims=True) - mean
        with np.errstate(divide="ignore", invalid="ignore"):  # known exactly: never chosen, or the best
            z = np.where(best, 0.0, gap / np.sqrt(variance + of_best))
        p = np.where(best, 0.0, 1.0 / (n + self.gamma * math.sqrt(n) * z))
        left = (1.0 - p.sum(axis=1, keepdims=True)) / best.sum(axis=1, keepdims=True)
        return np.where(best, left, p)

    def _choose(self, mean: Floats, variance: Floats, random: np.random.Generator) -> int:
        return drawn(self._propensities(mean[None], variance[None])[0], random.random())


POLICIES: dict[str, type[Policy]] = {
    policy.name: policy for policy in (RandUCB, LinTS, LinUCB, EpsilonGreedy, SquareCB, Greedy)
}
DEFAULT_POLICY = RandUCB()  # in the benchmark it earns more than LinTS, and its draws are of use to other policies


def make_policy(policy: str | Policy, **parameters: float) -> Policy:
    """Return a policy, from its name or from another policy, with some parameters set.

    Raises
    ------
    ValueError
        For an unknown name, an unknown parameter or a value out of its range. The message lists the allowed ones.

    Examples
    --------
    >>> make_policy("lin_ucb", alpha=0.5)
    LinUCB(alpha=0.5)
    """
    if isinstance(policy, str):
        if policy not in POLICIES:
            raise UnknownChoice.of("policy", policy, POLICIES)
        policy = POLICIES[policy]()
    elif not isinstance(policy, Policy):
        raise TypeError(f"policy: expected a policy such as LinTS() or one of {', '.join(POLICIES)}, got {policy!r}")
    return policy.with_params(**parameters) if parameters else policy


def _shared(index: Floats) -> Floats:
    """Return the probabilities of the largest numbers of each row, which share equally."""
    best = index == index.max(axis=1, keepdims=True)
    return best / best.sum(axis=1, keepdims=True)


def _largest(index: Floats, random: np.random.Generator) -> int:
    """Return the position of the largest number, one of equal ones at random."""
    best = np.flatnonzero(index == index.max())
    return int(best[0] if len(best) == 1 else random.choice(best))
