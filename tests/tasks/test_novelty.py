"""How uncertain margins were, against a slow twin, and the p-values of rows that are made of it."""

import math

import numpy as np
import pytest
from sklearn.base import clone

from confidently import OnlineClassifier, OnlineRegressor
from confidently.tasks import novelty
from tests.twins.conformal import Scores


class Variances:
    """Variances seen, relative to the mean of their logarithms so far; a bin for each quarter of an octave."""

    def __init__(self):
        self.scores, self.mean = Scores(), 0.0

    @staticmethod
    def log(variance):
        """To base 2, and linear between powers of 2."""
        mantissa, exponent = math.frexp(variance)
        return max(exponent + 2.0 * mantissa - 2.0, -200.0) if variance > 0.0 else -200.0

    def place(self, variance):
        return min(max((self.log(variance) - self.mean) * 4.0 + 96.0, 0.0), 192.0 - 1e-9)

    def learn(self, variance):
        own, log = self.scores, self.log(variance)
        if not own.bins:
            self.mean = log
        weight = own.gain
        own.add(0.0)
        own.bins[-1] = math.floor(self.place(variance))
        self.mean += weight / sum(own.weights) * (log - self.mean)

    def p_value(self, variance):
        at = math.floor(self.place(variance))
        as_large = sum(w for one, w in zip(self.scores.bins, self.scores.weights, strict=True) if one >= at)
        return (as_large / self.scores.gain + 1.0) / (self.scores.rows() + 1.0)


def counted(variances):
    """Return the twin, and the state that the core would have."""
    twin, state = Variances(), novelty.untrained()
    for one in variances:
        twin.learn(one)
    np.add.at(state[4:16], np.array(twin.scores.bins) // 16, twin.scores.weights)  # sums of 16 bins, then the bins
    np.add.at(state[16:], twin.scores.bins, twin.scores.weights)
    state[:4] = twin.mean, twin.scores.gain, sum(twin.scores.weights), len(variances)
    return twin, state


def test_p_values_are_those_of_the_rows_before_in_twins():
    rng = np.random.default_rng(0)
    twin, state = counted(np.exp(rng.normal(-3.0, 4.0, 400)))
    asked = [*np.exp(rng.normal(-3.0, 6.0, 100)), 0.0, 1e-300, 1e300, 1.0, 2.0]
    expected = [twin.p_value(v) for v in asked]
    np.testing.assert_allclose(novelty.p_values(state, np.array(asked)), expected, rtol=1e-12)
    assert novelty.rows(state) == pytest.approx(twin.scores.rows())
    renewed = novelty.renewed(state, 0.25)
    assert renewed[0] == state[0] and renewed[3] == 400
    assert novelty.rows(renewed) == pytest.approx(twin.scores.rows() / 4.0)


def test_variances_that_fall_while_a_learner_learns_are_as_large_as_those_before():
    rng, n = np.random.default_rng(4), 3000
    variances = rng.gamma(2.0, size=n + 4000) / np.minimum(np.arange(n + 4000) + 1, n + 1)
    _, state = counted(variances[:n])
    p = novelty.p_values(state, variances[n:])
    for level in (0.01, 0.05, 0.2):
        assert 0.5 * level < np.mean(p <= level) < 1.2 * level


def test_the_smallest_of_a_third_counts_for_all():
    rarities = [np.array([p]) for p in (0.01, 0.9, 0.02, 0.5, 0.8, 0.7)]
    assert novelty.combined(None, rarities, 0.0) == pytest.approx(0.02 * 6 / 2)
    assert novelty.combined(None, rarities[:1], 0.0) == pytest.approx(0.01)
    assert novelty.combined(None, rarities[1:2] * 3, 0.0) == 1.0


@pytest.mark.parametrize(("rows", "part"), [(10, 0.5), (200, 0.25), (10_000, 0.1)])
def test_variances_have_a_part_of_the_level(rows, part):
    one, other = np.array([0.001]), np.array([0.9])
    assert novelty.combined(other, [one], rows) == pytest.approx(0.001 / part)
    assert novelty.combined(one, [other], rows) == pytest.approx(0.001 / (1.0 - part))


def test_merged_counts_have_the_rows_of_all():
    rng = np.random.default_rng(1)
    parts = [counted(np.exp(rng.normal(mean, 1.0, 300))) for mean in (-4.0, 4.0)]
    merged = novelty.merged([state for _, state in parts], novelty.untrained())
    assert merged[3] == 600
    for part in (merged, *(state for _, state in parts)):
        assert all(allowed.includes(float(x)) for _, numbers, allowed in novelty.values(part) for x in numbers)
    (one, first), (other, second) = parts
    assert merged[0] == pytest.approx((one.mean + other.mean) / 2.0)
    np.testing.assert_allclose(2.0 * merged[4:] / merged[1], first[4:] / first[1] + second[4:] / second[1])
    assert merged[2] / merged[1] == pytest.approx(one.scores.rows())


@pytest.mark.parametrize("estimator", [OnlineClassifier("arow"), OnlineRegressor()], ids=["classes", "numbers"])
def test_counts_that_are_scaled_again_change_nothing(estimator):
    """What a row adds grows until it is 1e100, after some 460,000 rows; then all counts are divided by it."""
    X = np.random.default_rng(0).normal(size=(600, 4))
    y = (X[:, 0] > 0) + 0
    options = {"classes": [0, 1]} if isinstance(estimator, OnlineClassifier) else {}
    near, far = (clone(estimator).partial_fit(X[:200], y[:200], **options) for _ in range(2))
    state = near.learner_.state[novelty.VARIANCES]
    state[[1, 2, *range(4, len(state))]] *= 0.99e100 / state[1]
    for k in range(200, 600, 50):
        for model in (near, far):
            model.partial_fit(X[k : k + 50], y[k : k + 50])
        found, expected = (model.learner_.state[novelty.VARIANCES] for model in (near, far))
        assert found[0] == pytest.approx(expected[0], rel=1e-9)
        assert found[2] / found[1] == pytest.approx(expected[2] / expected[1], rel=1e-9)
    assert found[1] < 1e99  # they were scaled
    assert near.novelty(X) == pytest.approx(far.novelty(X), abs=1e-9)
