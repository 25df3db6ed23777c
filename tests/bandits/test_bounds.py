"""What the Bernstein interval takes as the range of its terms: more than what happened, all that is possible."""

import numpy as np
import pytest

from confidently.bandits import DoublyRobust, InverseProbabilityWeighting

N = 200_000  # so that intervals are within the range


def reach(estimator, weight, reward=0.1, predicted=0.1):
    """How far the interval reaches below the estimate, of rounds that are all alike: their terms have no variance."""
    found = estimator.estimate_interval(
        np.full(N, reward), np.zeros(N, dtype=int), np.tile([0.5, 0.5], (N, 1)), np.full(N, 0.5 / weight),
        np.full((N, 2), predicted), method="bernstein",
    )  # fmt: skip
    return found.value - found.low


@pytest.mark.parametrize("kind", [InverseProbabilityWeighting, DoublyRobust])
def test_a_limit_of_the_weights_is_the_largest_weight_that_is_possible(kind):
    """Whether or not it was met: weights up to the limit may come."""
    wide = reach(kind(lambda_=8.0), weight=2.0)
    assert wide == pytest.approx(reach(kind(lambda_=8.0), weight=8.0))
    assert wide > 3 * reach(kind(lambda_=2.0), weight=2.0)


@pytest.mark.parametrize("most", [1.0, 4.0, 20.0])
def test_terms_of_the_doubly_robust_estimator_have_a_wider_range(most):
    """q + w (r - q) of q and r in [0, 1] and w up to W is in [-W, 1 + W], and w r in [0, W]."""
    corners = [q + most * (r - q_of_arm) for q in (0.0, 1.0) for r in (0.0, 1.0) for q_of_arm in (0.0, 1.0)]
    expected = (max(corners) - min(corners)) / most
    ratio = reach(DoublyRobust(lambda_=most), weight=1.0) / reach(InverseProbabilityWeighting(lambda_=most), weight=1.0)
    assert ratio == pytest.approx(expected)


@pytest.mark.parametrize(("reward", "predicted", "side"), [(0.0, 1.0, "low"), (1.0, 0.0, "high")])
def test_few_rounds_of_the_doubly_robust_estimator_reach_both_ends(reward, predicted, side):
    """Of few rounds nothing is known but the range of the rewards, whatever that of the terms."""
    found = DoublyRobust(lambda_=4.0).estimate_interval(
        [reward], [0], [[0.5, 0.5]], [0.5], [[predicted, predicted]], method="bernstein"
    )
    assert (found.low, found.high) == (0.0, 1.0)
