"""The rows at which a mixture moved to shorter memories."""

import numpy as np
import pytest

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, load, merge
from confidently.data.memory.matrix import as_matrix
from confidently.stack.choice import new_stack
from confidently.stack.moves import Moves
from confidently.stack.stack import SHARE
from confidently.views.columns import Columns

N, TURN, D = 6000, 3000, 3


def turning(n=N, turn=TURN):
    """Rows whose label is whether the first column is positive, from row ``turn`` on whether it is not.

    A tenth of the labels is wrong.
    """
    generator = np.random.default_rng(0)
    X, wrong = generator.normal(size=(N, D)), generator.random(N) < 0.1
    return X[:n], ((X[:, 0] > 0) ^ (np.arange(N) >= turn) ^ wrong).astype(np.int32)[:n]


def members():
    return [OnlineClassifier("arow", view="unit"), OnlineClassifier("logistic", view="unit", forget=0.01)]


def stack():
    found = new_stack(2, D, Columns.alike(D), trees=False)
    found.prepare(as_matrix(turning()[0][:1000]))
    return found


def expected_moves(shares):
    """Where runs of 100 rows begin, in turn above .95 and below .8."""
    short, rows = shares[:, 0] + shares[:, 1], []
    for first in range(len(short) - 99):
        run = short[first : first + 100]
        if (run < 0.8).all() if len(rows) % 2 else (run > 0.95).all():
            rows.append(first + 1)
    return rows


def test_moves_are_runs_of_rows_on_the_other_side():
    generator = np.random.default_rng(0)
    levels = np.repeat(generator.choice([0.7, 0.9, 0.96], 90), generator.choice([30, 99, 100, 201], 90))
    shares = np.column_stack([levels / 2, levels / 2, 1 - levels])
    found = Moves().after(shares, 0)
    assert list(found.rows) == expected_moves(shares)
    assert len(found.rows) > 5
    for size in (1, 150, 1000):
        cut = Moves()
        for first in range(0, len(shares), size):
            cut = cut.after(shares[first : first + size], first)
        assert cut == found
    assert Moves().after(shares, 500).rows == tuple(row + 500 for row in found.rows)


def test_spans_are_the_times_of_short_memories():
    assert Moves().spans() == []
    assert Moves((10, 500)).spans() == [(10, 500)]
    assert Moves((10, 500, 900)).spans() == [(10, 500), (900, None)]


def test_a_stack_says_when_its_data_turned():
    X, y = turning()
    whole = stack()
    whole.learn(as_matrix(X), y)
    assert TURN < whole.moves.rows[0] <= TURN + 100
    assert len(whole.moves.rows) <= 2
    shares, by_row = [], stack()
    for i in range(TURN - 300, TURN + 400):
        if not shares:
            by_row.learn(as_matrix(X[:i]), y[:i])
        by_row.learn(as_matrix(X[i : i + 1]), y[i : i + 1])
        shares.append(by_row.state[SHARE].copy())
    assert [TURN - 300 + row for row in expected_moves(np.array(shares))] == list(by_row.moves.rows)
    assert by_row.moves.rows == whole.moves.rows[:1]
    for pieces in (3, 50):
        cut = stack()
        for rows, labels in zip(np.array_split(X, pieces), np.array_split(y, pieces), strict=True):
            cut.learn(as_matrix(rows), labels)
        assert cut.moves == whole.moves


def test_nothing_moves_where_the_data_do_not():
    X, y = turning(turn=N)
    found = stack()
    found.learn(as_matrix(X), y)
    assert found.moves.rows == ()


def test_rows_without_weight_do_not_count():
    X, y = turning(4000)
    weight = np.tile([0.0, 1.0], len(y))
    twice, found = np.repeat(X, 2, axis=0), stack()
    found.learn(as_matrix(twice), np.repeat(y, 2), weight=weight)
    alone = stack()
    alone.learn(as_matrix(X), y)
    assert found.moves == alone.moves != Moves()


def test_later_passes_and_errors_leave_the_moves():
    X, y = turning(4000)
    found = stack()
    found.learn(as_matrix(X[:3500]), y[:3500])
    before = found.moves
    assert before.rows
    found.learn(as_matrix(X[:3000]), y[:3000], calibrate=False)
    assert found.moves == before

    def interrupt(rows):
        if rows > 3000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        found.learn(as_matrix(np.tile(X[3500:], (8, 1))), np.tile(1 - y[3500:], 8), progress=interrupt)
    assert found.moves == before


def test_files_keep_the_moves_and_training_goes_on(tmp_path):
    X, y = turning(4000)
    whole = AutoClassifier(members()).partial_fit(X, y, classes=[0, 1])
    for at in (3080, 3500):  # before 100 rows agree, and after
        part = AutoClassifier(members()).partial_fit(X[:at], y[:at], classes=[0, 1])
        part.save(tmp_path / "part.cw")
        loaded = load(tmp_path / "part.cw")
        assert loaded.learner_.moves == part.learner_.moves != Moves()
        loaded.partial_fit(X[at:], y[at:])
        assert loaded.learner_.moves == whole.learner_.moves
    assert whole.learner_.moves.rows


def test_merged_stacks_and_those_of_label_sets_have_none():
    X, y = turning(4000)
    parts = [AutoClassifier(members()).partial_fit(X, y, classes=[0, 1]) for _ in range(2)]
    assert merge(parts).learner_.moves == Moves()
    assert AutoClassifier(members()).partial_fit(X, np.column_stack([y, 1 - y])).learner_.moves is None


def turning_numbers(n=3000, turn=1800):
    """Rows whose target is the first column, from row ``turn`` on its opposite, with noise."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n, D))
    return X, np.where(np.arange(n) < turn, X[:, 0], -X[:, 0]) + 0.3 * generator.normal(size=n)


def regressions():
    return [OnlineRegressor(view="standard"), OnlineRegressor(view="standard", covariance="diag", forget=0.02)]


@pytest.mark.long("four stacks of thousands of rows")
def test_a_stack_of_regressions_says_when_its_data_turned(tmp_path):
    X, y = turning_numbers()
    whole = AutoRegressor(regressions()).partial_fit(X, y).learner_
    assert 1800 < whole.moves.rows[0] < 1900
    model, shares = AutoRegressor(regressions()).partial_fit(X[:1700], y[:1700]), []
    assert model.learner_.moves.rows == ()
    for i in range(1700, 2200):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
        shares.append(model.learner_.shares.copy())
    assert [1700 + row for row in expected_moves(np.array(shares))] == list(model.learner_.moves.rows)
    model.save(tmp_path / "m.cw")
    loaded = load(tmp_path / "m.cw").partial_fit(X[2200:], y[2200:])
    assert loaded.learner_.moves == whole.moves
    weight = np.tile([0.0, 1.0], len(y))
    twice = AutoRegressor(regressions()).partial_fit(np.repeat(X, 2, axis=0), np.repeat(y, 2), sample_weight=weight)
    assert twice.learner_.moves == whole.moves
