"""Error by coverage: against every order of equally certain rows, repeated rows and numerical integration."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from confidently.evaluation.abstention import risk_coverage
from confidently.evaluation.metrics import AbstentionMetrics

CASES = [  # wrong predictions, and certainties with ties
    ([0, 0, 1, 0, 1, 1], [5, 4, 4, 4, 2, 2]),
    ([1, 0, 0, 1, 0], [3, 3, 3, 3, 3]),
    ([1, 0, 0, 1, 0], [1, 2, 3, 4, 5]),
    ([0, 0, 0], [1, 1, 2]),
    ([1], [0.5]),
    ([1, 0, 0, 1], [np.inf, np.inf, -np.inf, 0]),
]


def curve_of(wrong, certainty, weight=None):
    return risk_coverage(np.zeros(len(wrong)), wrong, certainty, weight)


def mean_over_orders(wrong, certainty):
    """The expected error of the k most certain rows, when ties are broken at random: by trying all orders."""
    wrong, certainty = np.array(wrong), np.array(certainty, dtype=float)
    orders = [p for p in map(list, permutations(range(len(wrong)))) if (np.diff(-certainty[p]) >= 0).all()]
    if np.isinf(certainty).any():  # inf - inf is no order
        ranks = np.unique(certainty, return_inverse=True)[1]
        orders = [p for p in map(list, permutations(range(len(wrong)))) if (np.diff(ranks[p]) <= 0).all()]
    errors = [wrong[p].cumsum() / np.arange(1, len(wrong) + 1) for p in orders]
    return np.mean(errors, axis=0)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # inf - inf
@pytest.mark.parametrize(("wrong", "certainty"), CASES)
def test_errors_are_expected_ones_over_all_orders_of_ties(wrong, certainty):
    n = len(wrong)
    curve = curve_of(wrong, certainty)
    assert_allclose(curve.error_at(np.arange(1, n + 1) / n), mean_over_orders(wrong, certainty), atol=1e-15)


@pytest.mark.parametrize(("wrong", "certainty"), CASES)
def test_points_are_the_rows_at_least_as_certain_as_a_threshold(wrong, certainty):
    wrong, certainty, curve = np.array(wrong), np.array(certainty), curve_of(wrong, certainty)
    assert list(curve.threshold) == sorted(set(certainty), reverse=True)
    for coverage, error, threshold in zip(curve.coverage, curve.error, curve.threshold, strict=True):
        predicted = certainty >= threshold
        assert coverage == predicted.mean() and error == wrong[predicted].mean()
        assert curve.threshold_at(coverage) == threshold
        assert curve.threshold_at(coverage - 1e-6) == threshold


@pytest.mark.parametrize(("wrong", "certainty"), CASES)
def test_the_area_is_the_integral_of_the_error(wrong, certainty):
    coverage = (np.arange(100_000) + 0.5) / 100_000
    curve = curve_of(wrong, certainty)
    assert curve.area == pytest.approx(curve.error_at(coverage).mean(), abs=1e-5)


def test_the_area_approaches_the_mean_error_of_the_k_most_certain_rows():
    rng = np.random.default_rng(0)
    certainty = rng.random(5000)
    wrong = rng.random(5000) > certainty
    by_rank = wrong[np.argsort(-certainty)].cumsum() / np.arange(1, 5001)
    assert curve_of(wrong, certainty).area == pytest.approx(by_rank.mean(), rel=1e-3)


def test_a_weight_counts_repetitions_and_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    wrong, certainty, weight = rng.integers(0, 2, 50), rng.integers(0, 9, 50), rng.integers(0, 4, 50)
    order = rng.permutation(50)
    repeated = curve_of(np.repeat(wrong, weight), np.repeat(certainty, weight))
    for found in (curve_of(wrong, certainty, weight), curve_of(wrong[order], certainty[order], 0.5 * weight[order])):
        for name in ("coverage", "error", "threshold", "area"):
            assert_allclose(getattr(found, name), getattr(repeated, name), rtol=1e-12)


def test_thresholds_survive_the_rounding_of_weights():
    curve = curve_of([0] * 10, np.arange(10), np.full(10, 0.1))
    assert_allclose(curve.threshold_at(np.arange(1, 11) / 10), np.arange(9, -1, -1))


@pytest.mark.parametrize(("arrays", "message"), [
    (([0, 1], [0, 1], [0.5, np.nan]), "certainty: entry 1 is NaN"),
    (([0, 1], [0, 1], [0.5]), r"certainty: expected one entry per row, shape \(2,\); got shape \(1,\)"),
    ((np.eye(2), np.eye(2), [0.5, 0.5]), r"y_true: expected one entry per row, shape \(2,\); got shape \(2, 2\)"),
    (([0, 1], [0, 1], [0.5, 0.5], [1, -1]), r"sample_weight: expected finite weights >= 0, got -1.0"),
    (([0, 1], [0, 1], [0.5, 0.5], [0, 0]), "expected at least one row of positive weight"),
    (([], [], []), "expected at least one row of positive weight"),
])  # fmt: skip
def test_invalid_arrays_are_rejected(arrays, message):
    with pytest.raises(ValueError, match=message):
        risk_coverage(*arrays)


@pytest.mark.parametrize("coverage", [0, 1.5, np.nan, [0.5, -1]])
def test_invalid_coverages_are_rejected(coverage):
    curve = curve_of([0, 1], [1, 2])
    for asked in (curve.error_at, curve.threshold_at):
        with pytest.raises(ValueError, match=r"coverage must be a fraction of the rows, in \(0, 1\]"):
            asked(coverage)


def test_abstention_below_a_probability_is_counted_over_batches():
    metrics = AbstentionMetrics(0.5)
    metrics.add(np.array([True, False]), np.array([0.5, 0.4]))
    metrics.add(np.array([False, True]), np.array([0.9, 0.8]))
    assert metrics.result() == {"probability": 0.5, "rows_predicted": 3, "coverage": 0.75, "error": 1 / 3}
    none = AbstentionMetrics(1.0)
    none.add(np.array([True]), np.array([0.5]))
    assert none.result() == {"probability": 1.0, "rows_predicted": 0, "coverage": 0.0, "error": None}
