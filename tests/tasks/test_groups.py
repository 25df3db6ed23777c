"""Scores by group: those of a twin for each value, whatever the order, and those of all rows where a value has few."""

import math

import numpy as np
import pytest

from confidently import _core
from confidently.tasks import conformal, groups
from confidently.tasks.conformal import ConformalSets, untrained
from confidently.tasks.groups import MAX_GROUPS, GroupedSets, Groups
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
def test_sets_are_those_of_the_group_or_of_all_rows_where_it_has_few(settled):
    values, scores, labels = stream()
    found, state = Groups("town").learned(values, scores, labels, None, 3), of_all(scores, labels)
    sets = GroupedSets(state, found, settled)
    asked = ["b", "rare", "unknown", "a", "b"]
    p = np.tile(P, (2, 1))[:5]
    for by_class in (False, True):
        got = sets.sets(p, 0.9, by_class, asked)
        for row, value in enumerate(asked):
            own = found.states[value] if value in "ab" else state
            own = ConformalSets(conformal.settled(own) if settled else own)
            np.testing.assert_array_equal(got[[row]], own.sets(p[[row]], 0.9, by_class))
    assert (sets.sets(p, 0.9, True, asked) != sets.sets(p, 0.9, True)).any()
    assert ConformalSets(found.states["rare"]).shortage(0.9) and not ConformalSets(found.states["rare"]).shortage(0.5)


def test_cuts_and_an_order_of_training_change_nothing():
    values, scores, labels = stream()
    whole = Groups("town").learned(values, scores, labels, None, 3)
    parts = Groups("town")
    for first, last in ((0, 1), (1, 500), (500, 900)):
        rows = slice(first, last)
        parts = parts.learned(values[rows], scores[rows], labels[rows], None, 3)
    order = np.random.default_rng(1).permutation(900)
    back = np.argsort(order)
    shuffled = Groups("town").learned([values[row] for row in back], scores, labels[back], order, 3)
    for other in (parts, shuffled):
        assert list(other.states) == list(whole.states)
        for value, state in whole.states.items():
            np.testing.assert_array_equal(other.states[value], state)


def test_values_beyond_the_bound_have_the_scores_of_all_rows():
    n = 3 * MAX_GROUPS
    values = [f"v{k}" for k in range(n)] + ["v0"]
    found = Groups("id").learned(values, np.ones(n + 1), np.zeros(n + 1, np.int32), None, 2)
    assert len(found.states) == MAX_GROUPS and found.others == n - MAX_GROUPS
    assert found.states["v0"][conformal.SCORES + 2] == 2.0
    assert "more than 256 values" in GroupedSets(of_all(*stream()[1:]), found, False).warning(0.5)
    assert GroupedSets(of_all(*stream()[1:]), Groups("id"), False).warning(0.5) is None


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
        seen = sum(part.states[value][conformal.SCORES + 2] for part in parts)
        assert found.states[value][conformal.SCORES + 2] == seen
    base = parts[0]
    continued = [
        base.learned(values[own], scores[own], labels[own], None, 3) for own in (slice(450, 600), slice(600, 900))
    ]
    seen = Groups("town").learned(values, scores, labels, None, 3)
    for value, state in groups.merged(continued, base).states.items():
        assert state[conformal.SCORES + 2] == seen.states[value][conformal.SCORES + 2]
