"""Scores by group: those of a twin for each value, whatever the order, and of all values with few rows together."""

import math

import numpy as np
import pytest

from confidently import _core
from confidently.tasks import conformal, groups
from confidently.tasks.conformal import ConformalSets, rows_seen, untrained
from confidently.tasks.grouped import GroupedSets
from confidently.tasks.groups import MAX_GROUPS, Groups
from tests.twins.conformal import Sets

P = np.array([[0.05, 0.6, 0.35], [0.99, 0.004, 0.006], [0.3, 0.3, 0.4]])


def stream(n=900, names=("a", "b", "rare"), seed=0):
    generator = np.random.default_rng(seed)
    values = generator.choice(names, n, p=[0.6, 0.38, 0.02]).tolist()
    spread = np.array([{"a": 1.0, "b": 4.0, "rare": 9.0}[value] for value in values])
    scores, labels = generator.normal(1.0, spread), generator.integers(0, 3, n).astype(np.int32)
    scores[generator.random(n) < 0.1] = np.nan  # rows without weight
    return values, scores, labels


def of_all(scores, labels):
    state, known = untrained(3), ~np.isnan(scores)
    _core.conformal_learn(state, 3, scores[known], labels[known])
    return state


def test_each_group_is_a_twin_that_has_seen_its_rows_only():
    values, scores, labels = stream()
    found = Groups("town").learned(values, scores, labels, None, 3)
    twins = {value: Sets(3) for value in dict.fromkeys(values)}
    for value, score, k in zip(values, scores, labels, strict=True):
        if not math.isnan(score):
            twins[value].learn(float(score), int(k))
    assert list(found.states) == list(twins)
    for value, twin in twins.items():
        p = ConformalSets(found.states[value]).p_values(P, by_class=True)
        expected = [[twin.p_values(math.log(x / (1 - x)), k)[1] for k, x in enumerate(row)] for row in P.tolist()]
        np.testing.assert_allclose(p, expected, rtol=1e-9)


@pytest.mark.parametrize("settled", [False, True])
def test_sets_are_those_of_the_group_or_of_all_groups_with_few_rows(settled):
    values, scores, labels = stream()
    values[::29] = ["odd"] * len(values[::29])
    found, state = Groups("town").learned(values, scores, labels, None, 3), of_all(scores, labels)
    if settled:
        found, state = found.settled(), conformal.settled(state)
    sets = GroupedSets(state, found)
    few = np.isin(values, ["rare", "odd"])
    assert 0 < np.sum(few & (np.array(values) == "rare")) < 30
    together = conformal.together([found.states["rare"], found.states["odd"]], 3)
    asked = ["b", "rare", "unknown", "a", "b"]
    p = np.tile(P, (2, 1))[:5]
    for by_class in (False, True):
        got = sets.sets(p, 0.9, by_class, asked)
        for row, value in enumerate(asked):
            own = found.states[value] if value in "ab" else together
            expected = ConformalSets(own).sets(p[[row]], 0.9, by_class)
            np.testing.assert_array_equal(got[[row]], expected)
    assert (sets.sets(p, 0.9, True, asked) != sets.sets(p, 0.9, True)).any()
    assert sets.sets(p, 0.98, True, asked)[1:3].all()  # too few for that
    assert "rows whose 'town' is 'rare', 'unknown', which have few rows together" in sets.warning(0.98, True, asked)
    assert sets.warning(0.8, False, ["b", "rare"]) is None


def test_rows_of_several_groups_together_count_as_in_each():
    _, scores, labels = stream()
    half = [slice(450), slice(450, 900)]
    parts = [Groups("town").learned(["a"] * 450, scores[own], labels[own], None, 3).states["a"] for own in half]
    found = ConformalSets(conformal.together(parts, 3))
    assert found.rows == pytest.approx(sum(ConformalSets(own).rows for own in parts))
    bins = slice(conformal.LEVELS + 3, conformal.MARTINGALE)
    expected = sum(own[bins] / own[conformal.LEVELS] for own in parts)
    np.testing.assert_allclose(conformal.together(parts, 3)[bins], expected)
    np.testing.assert_allclose(found.shares, np.bincount(labels[~np.isnan(scores)]) / (~np.isnan(scores)).sum())


def test_late_rows_of_any_weight_but_none_are_learned():
    p, labels = np.random.default_rng(0).dirichlet(np.ones(3), 60), (np.arange(60) % 3).astype(np.int32)
    values, weight = ["a", "b"] * 30, np.tile([1.0, 0.5, 0.0], 20)
    found = Groups("town").learned_late(values, p, labels, weight)
    for first, value in enumerate("ab"):
        own = [row for row in range(first, 60, 2) if weight[row]]
        expected = conformal.learned_late(untrained(3), p[own], labels[own], None, None)
        np.testing.assert_array_equal(found.states[value], expected)


def test_values_beyond_the_bound_are_learned_together():
    n = 3 * MAX_GROUPS
    values = [f"v{k}" for k in range(n)] + ["v0"]
    scores, labels = np.linspace(-3.0, 3.0, n + 1), (np.arange(n + 1) % 2).astype(np.int32)
    found = Groups("id").learned(values, scores, labels, None, 2)
    assert len(found.states) == MAX_GROUPS and found.others == n - MAX_GROUPS
    assert rows_seen(found.states["v0"]) == 2
    rest = untrained(2)
    _core.conformal_learn(rest, 2, scores[MAX_GROUPS:n], labels[MAX_GROUPS:n])
    np.testing.assert_array_equal(found.rest, rest)
    parts = Groups("id")
    assert parts.others == 0
    for rows in (slice(300), slice(300, 500), slice(500, None)):
        parts = parts.learned(values[rows], scores[rows], labels[rows], None, 2)
    np.testing.assert_array_equal(parts.rest, rest)
    again = Groups("id").of(found.header()["values"], found.others, found.array(2))
    np.testing.assert_array_equal(again.array(2), found.array(2))


def test_merged_groups_add_what_each_has_seen():
    values, scores, labels = stream()
    half = [slice(0, 450), slice(450, 900)]
    parts = [Groups("town").learned(values[own], scores[own], labels[own], None, 3) for own in half]
    alone = Groups("town").learned(["new"], np.ones(1), np.zeros(1, np.int32), None, 3)
    found = groups.merged([*parts, alone], None)
    assert set(found.states) == {"a", "b", "rare", "new"}
    for value in "ab":
        expected = conformal.merged([part.states[value] for part in parts], untrained(3))
        np.testing.assert_array_equal(found.states[value], expected)
        assert rows_seen(found.states[value]) == sum(rows_seen(part.states[value]) for part in parts)
    base = parts[0]
    continued = [
        base.learned(values[own], scores[own], labels[own], None, 3) for own in (slice(450, 600), slice(600, 900))
    ]
    seen = Groups("town").learned(values, scores, labels, None, 3)
    for value, state in groups.merged(continued, base).states.items():
        assert rows_seen(state) == rows_seen(seen.states[value])
