"""Means of mixtures over rows in random order, and races, after which scores are those of another mixture."""

import math

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


def means_of(looks, end, weights, slopes, parts):
    """The means of a mixture that is something else between two looks."""
    mean = Mean()
    for rows, w, a in zip(np.diff(looks, prepend=0).tolist(), weights, slopes, strict=True):
        for k, n in enumerate([rows] if parts == 1 else [rows // 2, rows - rows // 2]):
            assert mean.rows + n <= mean.next_look(end)
            other = 9.0 * (k < parts - 1)
            mean = mean.after(n, end, (w + other).tolist(), [[slope + other, 0.5] for slope in a])
        assert mean.rows == mean.looked
    return mean


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    ("looks", "end"),
    [(range(7852, 10051, 314), 10_050), (range(79, 101, 3), 100), (range(1, 4), 3), (range(64, 64 * 12, 64), math.inf)],
)
def test_means_are_those_of_the_last_quarter(looks, end, parts):
    """Of eight looks, the last at the end; or of all, of which early ones count little, where no end is known."""
    looks, generator = np.array(looks), np.random.default_rng(0)
    weights, slopes = generator.normal(size=(len(looks), 2)), np.exp(generator.normal(size=(len(looks), 2)))
    mean = means_of(looks, end, weights, slopes, parts)
    count = (looks / looks[-1]) ** 4.0
    np.testing.assert_allclose(mean.weights, np.average(weights, axis=0, weights=count))
    np.testing.assert_allclose(mean.slopes, np.average(np.log(slopes), axis=0, weights=count))
    assert mean.next_look(end) == (math.inf if end == looks[-1] else looks[-1] + 64)
    with pytest.raises(ValueError, match="means of 2 weights"):
        mean.check(3)
    again = mean.begun_again()
    again.check(3)
    assert again.next_look(end) == mean.next_look(end)


def test_a_fit_ends_with_means_and_a_stream_does_not():
    X, y = rows(1200)
    fitted = AutoClassifier(random_state=0).fit(X, y)
    order = np.random.RandomState(0).permutation(len(y))
    streamed = AutoClassifier(shuffle=False).partial_fit(X[order], y[order], classes=[0, 1])
    weights = [model.learner_.state["mixture.weights"] for model in (fitted, streamed)]
    assert len(weights[0]) != len(weights[1]) or not np.allclose(*weights)
    np.testing.assert_array_equal(fitted.learner_.state["mixture.windows"][-1], weights[0])


def test_races_are_after_three_and_ten_thousand_rows_and_so_on():
    after = [racing.next_race(rows) for rows in (0, 2999, 3000, 9999, 10_000, 30_000, 99_999, 100_000)]
    assert after == [3000, 3000, 10_000, 10_000, 30_000, 100_000, 100_000, 300_000]


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
