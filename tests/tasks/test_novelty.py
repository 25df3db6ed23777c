"""How uncertain margins were, against a slow twin, and the p-values of rows that are made of it."""

import math

import numpy as np
import pytest

from confidently.tasks import novelty
from tests.twins.conformal import Scores


def place(variance):
    """A bin for each half of an octave from 2^-24 on, linear between powers of 2."""
    if variance == 0.0:
        return 0.0
    mantissa, exponent = math.frexp(variance)
    return min(max(2.0 * (exponent + 2.0 * mantissa - 2.0 + 24.0), 0.0), 96.0 - 1e-9)


def counted(variances):
    """Return the twin, and the state that the core would have."""
    twin, state = Scores(), novelty.untrained()
    for one in variances:
        twin.add(math.floor(place(one)))
    for at, weight in zip(twin.places, twin.weights, strict=True):
        state[3 + at // 8] += weight
        state[3 + 12 + at] += weight
    state[:3] = twin.gain, sum(twin.weights), len(variances)
    return twin, state


def test_p_values_are_those_of_the_rows_before_in_twins():
    rng = np.random.default_rng(0)
    twin, state = counted(np.exp(rng.normal(-3.0, 4.0, 400)))
    asked = [*np.exp(rng.normal(-3.0, 6.0, 100)), 0.0, 1e-300, 1e300, 1.0, 2.0]
    expected = [(twin.rows() - twin.below(place(v)) + 1.0) / (twin.rows() + 1.0) for v in asked]
    np.testing.assert_allclose(novelty.p_values(state, np.array(asked)), expected, rtol=1e-12)


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
    assert merged[2] == 600
    asked = np.exp(np.linspace(-8.0, 8.0, 50))
    both = [np.mean([twin.below(place(v)) for twin, _ in parts]) / parts[0][0].rows() for v in asked]
    rows = parts[0][0].rows()
    np.testing.assert_allclose(novelty.p_values(merged, asked), (rows * (1.0 - np.array(both)) + 1) / (rows + 1))
    assert all(allowed.includes(float(x)) for _, numbers, allowed in novelty.values(merged) for x in numbers)
