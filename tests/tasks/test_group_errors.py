"""Errors of numbers by group: those of a twin for each value, alone, together, merged and cut."""

import math

import numpy as np
import pytest

from confidently.tasks import errors, groups, intervals
from confidently.tasks.grouped import GroupedIntervals
from confidently.tasks.groups import Groups
from confidently.tasks.targets import EDGES, INITIAL_TARGET, Targets
from tests.twins.intervals import Errors, limits

NONE = np.zeros(0, np.int32)


def stream(n=900, numbers=1, names=("a", "b", "rare"), seed=0):
    """Return values and errors, which are wider in b; some rows have none."""
    generator = np.random.default_rng(seed)
    values = generator.choice(names, n, p=[0.6, 0.388, 0.012]).tolist()
    spread = np.array([{"a": 1.0, "b": 4.0, "rare": 9.0}[value] for value in values])
    z = generator.normal(0.0, spread[:, None], (n, numbers))
    z[generator.random(n) < 0.1] = np.nan
    return values, z


def learned(values, z, before=None):
    found = Groups("town", of_numbers=True) if before is None else before
    return found.learned(values, z.ravel(), NONE, None, z.shape[1])


def of_targets(z):
    """Return what is known of all rows, whose noise is that of these errors."""
    calibration = np.tile(INITIAL_TARGET, z.shape[1])
    targets = Targets.of(calibration)
    bins = np.array([np.histogram(own[~np.isnan(own)], EDGES)[0] for own in z.T], np.float64)
    return targets._replace(bins=bins, noise=np.ones(z.shape[1]), predicted=np.full(z.shape[1], float(len(z))))


def test_each_group_is_a_twin_that_has_seen_its_rows_only():
    values, z = stream(numbers=2)
    found, twins = learned(values, z), {}
    for value, row in zip(values, z.tolist(), strict=True):
        if not all(map(math.isnan, row)):
            for twin, error in zip(twins.setdefault(value, [Errors(), Errors()]), row, strict=True):
                twin.count(error)
    assert list(found.states) == list(twins)
    for value, own in twins.items():
        state = found.states[value].reshape(2, -1)
        for known, twin in zip(state, own, strict=True):
            np.testing.assert_allclose(known[errors.BINS : errors.LOW] / known[0], twin.weights(), rtol=1e-9)
            assert errors.rows(known)[0] == pytest.approx(twin.weights().sum())
            said = [twin.low.said()[1] + 0.1, twin.high.said()[1] + 0.1]
            one = intervals.followed(known[None, errors.LOW : errors.HIGH], 0.1)
            other = intervals.followed(known[None, errors.HIGH :], 0.1)
            np.testing.assert_allclose(np.concatenate([one, other]), said, rtol=1e-9)


@pytest.mark.parametrize("coverage", [0.8, 0.9])
def test_limits_are_those_of_the_group_or_of_all_groups_with_few_rows(coverage):
    values, z = stream()
    values[::97] = ["odd"] * len(values[::97])
    values[1::150] = ["even"] * len(values[1::150])
    found = learned(values, z)
    few = [value for value, state in found.states.items() if errors.rows(state)[0] < 9.0]
    assert 2 <= len(few) <= 3
    together = errors.together([found.states[value] for value in few], 1)
    known = GroupedIntervals(intervals.untrained(1), found.settled())
    asked = ["b", *few, "unknown", "a"]
    for value, (own,) in zip(asked, known.error_limits(of_targets(z), coverage, asked), strict=True):
        state = found.states[value] if value in "ab" else together
        expected = limits(state[errors.BINS : errors.LOW] / state[0], coverage)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(np.arcsinh(own), np.arcsinh(expected), atol=2 / 64 / 40)


def test_limits_of_a_higher_level_are_those_of_both_kinds_of_rows():
    """A value of enough rows for .9, and of too few for .95, where it is compared with all such values."""
    generator = np.random.default_rng(0)
    values, z = ["b"] * 12 + [f"v{k % 30}" for k in range(360)], generator.normal(size=(372, 1))
    z[:12] *= 40.0
    found = learned(values, z)
    known = GroupedIntervals(intervals.untrained(1), found.settled())
    [((low, high),)] = known.error_limits(of_targets(z), 0.95, ["b"])
    own = errors.limits(errors.settled(found.states["b"]), 0.9)[0]
    pool = errors.limits(errors.together(list(found.states.values()), 1), 0.95)[0]
    assert (low, high) == (own[0], own[1]) and (own[0], -own[1]) < (pool[0], -pool[1])


def test_too_few_rows_have_infinite_limits_and_a_reason():
    values, z = stream()
    values[0] = "odd"
    known = GroupedIntervals(intervals.untrained(1), learned(values, z))
    targets, asked = of_targets(z), ["a", "odd", "new"]
    inside = np.isfinite(known.error_limits(targets, 0.9, asked)).all(axis=(1, 2))
    assert inside.tolist() == [True, False, False]
    why = known.shortage(targets, 0.9, asked)
    assert why.startswith("rows whose 'town' is 'odd', 'new', which have few rows together: intervals are infinite")
    assert known.shortage(targets, 0.9, ["a", "b"]) is None and known.shortage(targets, 0.9) is None


def test_numbers_that_are_foreseen_exactly_have_the_limits_of_all():
    values, z = stream(numbers=2)
    z[:, 1] = np.nan
    known = GroupedIntervals(intervals.untrained(2), learned(values, z))
    targets = of_targets(z)._replace(noise=np.array([1.0, 0.0]))
    got = known.error_limits(targets, 0.9, ["a", "b"])
    assert np.isfinite(got).all() and (got[0, 0] != got[1, 0]).any()
    np.testing.assert_array_equal(got[:, 1], np.tile(got[0, 1], (2, 1)))


def test_a_division_of_the_rows_changes_nothing():
    values, z = stream(numbers=2)
    whole, parts = learned(values, z), None
    for rows in (slice(1), slice(1, 300), slice(300, None)):
        parts = learned(values[rows], z[rows], parts)
    np.testing.assert_array_equal(parts.array(2), whole.array(2))
    order = np.random.default_rng(1).permutation(900)
    back = np.argsort(order)
    shuffled = Groups("town", of_numbers=True).learned([values[k] for k in order], z.ravel(), NONE, back, 2)
    np.testing.assert_array_equal(shuffled.array(2), whole.array(2))


def test_merged_groups_add_what_each_has_seen():
    values, z = stream(numbers=2)
    base = learned(values[:300], z[:300])
    parts = [learned(values[rows], z[rows], base) for rows in (slice(300, 600), slice(600, 900))]
    found, seen = groups.merged([*parts, learned(["new"], z[1:2], base)], base), learned(values, z)
    for value, state in seen.states.items():
        merged = found.states[value]
        np.testing.assert_allclose(errors.rows(merged), errors.rows(state), rtol=0.1)  # old rows count as in each
        assert errors.rows_seen(merged) == errors.rows_seen(state)
    assert "new" in found.states
