"""Sets and intervals are nested in the level: what one excludes is excluded at every lower level."""

import itertools

import numpy as np
import pytest

from confidently import _core
from confidently.tasks import conformal, intervals
from confidently.tasks.conformal import ConformalSets
from confidently.tasks.grouped import GroupedIntervals, GroupedSets
from confidently.tasks.groups import Groups
from confidently.tasks.steps import enough_rows, steps
from tests.tasks.test_group_errors import learned, of_targets

LEVELS = sorted([0.3, 0.5, 0.8, 0.9, 0.93, 0.95, 0.96, 30 / 31, 0.97, 0.98, 0.985, 0.99, 0.993, 0.995, 0.999])
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.long("more seeds")) for seed in range(4, 40))]


def classes(seed, n=2500):
    """Return scores and labels of a few frequent and many rare classes, whose scores differ."""
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(8, 0.3))
    labels = generator.choice(8, n, p=shares).astype(np.int32)
    return generator, generator.normal(generator.normal(0.0, 3.0, 8)[labels], 1.0), labels


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_sets_have_all_of_the_sets_of_lower_levels(seed, grouped, by_class, settled):
    generator, scores, labels = classes(seed)
    state = conformal.untrained(8)
    _core.conformal_learn(state, 8, scores, labels)
    p = generator.dirichlet(np.full(8, 0.5), 200)
    names = np.array([*"abcdefgh"])
    values = generator.choice(names, len(labels), p=generator.dirichlet(np.full(8, 0.3))).tolist()
    groups = Groups("town").learned(values, scores, labels, None, 8)
    if settled:
        groups, state = groups.settled(), conformal.settled(state)
    own = GroupedSets(state, groups) if grouped else ConformalSets(state)
    asked = generator.choice([*names, "new"], 200).tolist() if grouped else None
    found = [own.sets(p, level, by_class, asked) for level in LEVELS]
    for low, high in itertools.pairwise(found):
        assert (low <= high).all()
    full = [own.warning(level, by_class, asked) is not None for level in LEVELS]
    for sets, warned in zip(found, full, strict=True):
        assert not sets.all(axis=0).any() or sets.all(axis=0).any() >= warned


@pytest.mark.parametrize("seed", SEEDS)
def test_a_class_that_is_in_every_set_is_named_so(seed):
    _, scores, labels = classes(seed)
    state = conformal.untrained(8)
    _core.conformal_learn(state, 8, scores, labels)
    own = ConformalSets(conformal.settled(state))  # levels may fall to 0 where sets have missed
    impossible = np.full((1, 8), 1e-15)
    for level in LEVELS:
        inside, text = own.sets(impossible, level, True).sum(), own.warning(level)
        if text is None:
            assert not inside
        elif "of 8 classes" in text:
            assert int(text.split(" ")[0]) == inside


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_intervals_contain_those_of_lower_levels(seed, settled):
    generator = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(12)]
    values = generator.choice(names, 1500, p=generator.dirichlet(np.full(12, 0.3))).tolist()
    width = dict(zip(names, generator.lognormal(0.0, 1.0, 12), strict=True))
    z = generator.standard_t(3, (1500, 2)) * np.array([width[value] for value in values])[:, None]
    groups = learned(values, z)
    known = GroupedIntervals(intervals.untrained(2), groups.settled() if settled else groups)
    found = [known.error_limits(of_targets(z), level, [*names, "new"]) for level in LEVELS]
    for low, high in itertools.pairwise(found):
        assert (low[..., 0] >= high[..., 0]).all() and (low[..., 1] <= high[..., 1]).all()


@pytest.mark.parametrize("least, margin", [(9.0, 1.0), (30.0, 1.5)])
def test_the_rows_that_are_enough_change_at_the_steps(least, margin):
    assert enough_rows(0.5, least, margin) == enough_rows(0.9, least, margin) == least
    expected = {(9.0, 1.0): [19, 49, 99, 199, 999], (30.0, 1.5): [30, 99, 199, 499, 1999]}[least, margin]
    assert [round(enough_rows(level, least, margin)) for level in (0.95, 0.98, 0.99, 0.995, 0.999)] == expected
    found = steps(0.99, least, margin)
    assert [round(level, 3) for level in found] == ([0.9, 0.95, 0.98] if least == 9.0 else [0.952, 0.97, 0.985])
    for low, high in itertools.pairwise([*found, 0.99]):
        assert (
            enough_rows(low, least, margin) < enough_rows(low + 1e-6, least, margin) == enough_rows(high, least, margin)
        )
