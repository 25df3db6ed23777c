"""Means of mixtures over rows in random order, and races, after which scores are those of another mixture."""

import numpy as np
import pytest

from confidently import AutoClassifier
from confidently.stack import racing
from confidently.stack.averaging import Mean
from confidently.tasks.conformal import CONFORMAL, ConformalSets


def rows(n, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * generator.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("parts", [1, 2])
def test_later_states_count_more(parts):
    generator, looks = np.random.default_rng(0), np.array([16, 32, 48, 64, 80, 96, 112, 128, 144, 162, 182])
    weights, slopes = generator.normal(size=(11, 2)), np.exp(generator.normal(size=(11, 2)))
    mean = Mean()
    for rows, w, a in zip(np.diff(looks, prepend=0).tolist(), weights, slopes, strict=True):
        for k, n in enumerate([rows] if parts == 1 else [5, rows - 5]):
            assert n <= mean.rows_to_come
            other = 9.0 * (k < parts - 1)  # what the mixture is between looks does not count
            mean = mean.after(n, (w + other).tolist(), [[slope + other, 0.5] for slope in a])
    assert mean.rows == mean.looked == 182
    count = np.diff(looks, prepend=0) * looks**2
    np.testing.assert_allclose(mean.weights, np.average(weights, axis=0, weights=count))
    np.testing.assert_allclose(mean.slopes, np.average(np.log(slopes), axis=0, weights=count))
    with pytest.raises(ValueError, match="means of 2 weights"):
        mean.check(3)


def test_a_fit_ends_with_means_and_a_stream_does_not():
    X, y = rows(1200)
    fitted = AutoClassifier(random_state=0).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    streamed = AutoClassifier(shuffle=False).partial_fit(X[order], y[order], classes=[0, 1])
    weights = [model.learner_.state["mixture.weights"] for model in (fitted, streamed)]
    assert len(weights[0]) != len(weights[1]) or not np.allclose(*weights)
    np.testing.assert_array_equal(fitted.learner_.state["mixture.windows"][-1], weights[0])


def test_there_is_no_race_at_the_end_of_a_fit(monkeypatch):
    monkeypatch.setattr(racing, "FIRST_RACE", 300)
    X, y = rows(1200)
    assert AutoClassifier(passes=1).fit(X[:400], y[:400]).learner_.dropped
    assert not AutoClassifier(passes=1).fit(X[:399], y[:399]).learner_.dropped
    assert AutoClassifier().partial_fit(X[:399], y[:399], classes=[0, 1]).learner_.dropped


def test_after_a_race_scores_before_count_as_few(monkeypatch):
    monkeypatch.setattr(racing, "FIRST_RACE", 2500)
    X, y = rows(2501)
    model = AutoClassifier().partial_fit(X[:2499], y[:2499], classes=[0, 1])
    before = model.learner_.conformal.rows
    model.partial_fit(X[2499:], y[2499:])
    assert model.learner_.dropped and before > 600
    assert ConformalSets(model.learner_.state[CONFORMAL]).rows == pytest.approx(301, abs=1)
