"""Sets and intervals of every estimator are nested in the level, also those of classes compared with others."""

import itertools

import numpy as np
import pytest

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor

LEVELS = (0.8, 0.9, 0.95, 30 / 31, 0.97, 0.98, 0.985, 0.99, 0.995)


def rows(seed, n=1500):
    """Rows of classes and of groups, of some of which 30 to 99 rows count."""
    generator = np.random.default_rng(seed)
    y = generator.choice(5, n, p=[0.45, 0.3, 0.12, 0.1, 0.03])
    group = generator.choice(5, n, p=[0.7, 0.2, 0.05, 0.03, 0.02])
    X = np.column_stack([generator.normal(np.eye(5)[y][:, :3] * [2.0, 1.0, 0.5], 1.0), group])
    return X, y


def nested(sets):
    assert any((low != high).any() for low, high in itertools.pairwise(sets))
    return all((low <= high).all() for low, high in itertools.pairwise(sets))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long("other rows")) for seed in range(1, 8))]
)
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("by", [None, 3])
@pytest.mark.parametrize("kind", [OnlineClassifier, pytest.param(AutoClassifier, marks=pytest.mark.long("stacks"))])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_sets_of_classifiers_are_nested(kind, by, labels, seed):
    X, y = rows(seed)
    known = np.eye(5, dtype=int)[y] | np.eye(5, dtype=int)[np.roll(y, 1)] if labels else y
    model = kind(coverage_by=by).fit(X, known)
    for by_class in (True, False):
        assert nested([model.predict_set(X, level, by_class=by_class) for level in LEVELS])


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long("other rows")) for seed in range(1, 8))]
)
@pytest.mark.parametrize("by", [None, 3])
@pytest.mark.parametrize("kind", [OnlineRegressor, AutoRegressor])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_intervals_of_regressions_are_nested(kind, by, seed):
    X, y = rows(seed, 600)
    y = y + np.random.default_rng(seed).normal(0.0, 1.0 + X[:, 3])
    limits = [kind(coverage_by=by).fit(X, y).predict_interval(X, level).T for level in LEVELS]
    for (low, high), (lower, higher) in itertools.pairwise(limits):
        assert (lower <= low).all() and (high <= higher).all()
