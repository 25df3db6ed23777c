"""Sets and intervals of every estimator are nested in the level, also those of classes compared with others."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineMedLDA, OnlineRegressor
from tests.command_line import here

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


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("by", [None, 3])
@pytest.mark.parametrize("kind", [OnlineClassifier, AutoClassifier])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_sets_of_classifiers_are_nested(kind, by, labels, seed):
    X, y = rows(seed)
    known = np.eye(5, dtype=int)[y] | np.eye(5, dtype=int)[np.roll(y, 1)] if labels else y
    model = kind(coverage_by=by).fit(X, known)
    for by_class in (True, False):
        assert nested([model.predict_set(X, level, by_class=by_class) for level in LEVELS])


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
@pytest.mark.parametrize("by", [None, 3])
@pytest.mark.parametrize("kind", [OnlineRegressor, AutoRegressor])
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_intervals_of_regressions_are_nested(kind, by, seed):
    X, y = rows(seed, 600)
    y = y + np.random.default_rng(seed).normal(0.0, 1.0 + X[:, 3])
    limits = [kind(coverage_by=by).fit(X, y).predict_interval(X, level).T for level in LEVELS]
    for (low, high), (lower, higher) in itertools.pairwise(limits):
        assert (lower <= low).all() and (high <= higher).all()


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_sets_of_documents_are_nested():
    _, y = rows(0)
    words = csr_array(np.random.default_rng(1).poisson(np.eye(5)[y] + 0.5))
    model = OnlineMedLDA(n_topics=3, random_state=0).fit(words, y)
    assert nested([model.predict_set(words[:200], level) for level in LEVELS])


@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_sets_of_dicts_are_nested():
    river = pytest.importorskip("confidently.river", exc_type=ImportError)
    X, y = rows(0)
    model, dicts = river.OnlineClassifier(), pd.DataFrame(X, columns=list("abcd")).to_dict("records")
    for row, k in zip(dicts, y.tolist(), strict=True):
        model.learn_one(row, k)
    asked = ([model.predict_set_one(row, level) for row in dicts[:60]] for level in LEVELS)
    assert nested([np.array([[k in own for k in range(5)] for own in sets]) for sets in asked])


def test_sets_of_commands_are_nested(tmp_path):
    X, y = rows(0)
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=np.array([*"vwxyz"])[y])
    table.to_csv(tmp_path / "rows.csv", index=False)
    model, found = tmp_path / "m.cw", []
    assert here("train", tmp_path / "rows.csv", "--rule", "arow", "--coverage-by", "d", "-o", model).returncode == 0
    for level in LEVELS:
        lines = here("predict", model, tmp_path / "rows.csv", "--set", str(level), "--json").stdout.splitlines()
        found.append(np.array([[name in json.loads(line)["set"] for name in "vwxyz"] for line in lines]))
    assert nested(found)
