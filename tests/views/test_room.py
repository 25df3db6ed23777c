"""Arrays by column grow in place where nobody else has what is behind them."""

import numpy as np
import pytest

from confidently import Cosines, OnlineClassifier, load, river
from confidently.data.memory.matrix import as_matrix
from confidently.views.columns import MISSING, PLAIN, Columns
from confidently.views.room import SMALL, appended, joined

N = SMALL  # bytes and more


@pytest.mark.parametrize("seed", range(5))
def test_arrays_have_what_was_appended_to_them_and_no_other(seed):
    generator = np.random.default_rng(seed)
    arrays = [(np.arange(float(N)), np.arange(float(N)))]  # and what they are to have
    for step in range(200):
        array, expected = arrays[generator.integers(len(arrays))]
        more = np.full(int(generator.integers(1, 40)), float(step))
        grown = joined(array, more) if step % 2 else appended(array, len(more))
        arrays.append((grown, np.append(expected, more if step % 2 else np.zeros(len(more)))))
        if generator.random() < 0.5:
            del arrays[generator.integers(1, len(arrays)) :]
    for array, expected in arrays:
        np.testing.assert_array_equal(array, expected)


def test_only_the_longest_grows_in_place():
    first = appended(np.zeros(N), 1)
    one, other = appended(first, 1), appended(first, 1)
    assert np.shares_memory(first, one) and not np.shares_memory(first, other)
    one[-1] = 5.0
    part = one[-1:]
    del one
    again = appended(first, 1)  # behind which the part still is
    assert not np.shares_memory(again, part) and part[0] == 5.0
    del part
    again = appended(first, 1)
    assert np.shares_memory(first, again) and again[-1] == 0.0


def row(k):
    return {f"k{(7 * k + j) % 50}": 1.0 + j % 3 for j in range(10)}


@pytest.mark.long("stacks of 5,000 columns")
@pytest.mark.parametrize("at", [5, 150])
@pytest.mark.parametrize("of_numbers", [False, True])
def test_a_long_row_does_not_make_later_rows_cost_more(at, of_numbers):
    """A young model keeps no more than in proportion to the columns, and a row with a new one copies none of it."""
    n = 5_000
    model = river.AutoRegressor() if of_numbers else river.AutoClassifier()
    for k in range(at):
        model.learn_one(row(k), float(k % 2))
    model.learn_one({f"long{j}": 1.0 for j in range(n)}, 1.0)
    stack = model._rows.learner
    sizes = [array.nbytes for member in stack.members for array in member.state.values()]
    assert sum(sizes) < 500 * len(stack.members) * n
    model.learn_one(row(0) | {"one more": 1.0}, 0.0)  # which may begin the room
    before = [dict(member.state) for member in stack.members if getattr(member, "view", None) is not None]
    model.learn_one(row(0) | {"and another": 1.0}, 0.0)
    after = [member.state for member in stack.members if getattr(member, "view", None) is not None]
    by_column = [
        (old[name], new[name])
        for old, new in zip(before, after, strict=True)
        for name in old
        if old[name].nbytes > 8 * n
    ]
    assert by_column and all(np.shares_memory(*pair) for pair in by_column)


def test_columns_beyond_the_largest_number_of_cosines_have_no_part_in_them(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 9))
    y = X[:, 0] > 0
    view, all_columns = Cosines(n=7, max_columns=4, unit_norm=False), Cosines(n=7, unit_norm=False)
    for kinds, names in ((MISSING, [f"c{j}" for j in range(9)]), (PLAIN, None)):
        arrays, in_steps = (view.new_arrays(2) for _ in range(2))
        arrays = view.grown(arrays, Columns.alike(9, kinds, names), 2)
        for first, last in ((0, 3), (3, 5), (5, 9)):
            of_step = None if names is None else names[first:last]
            in_steps = view.grown(in_steps, Columns.alike(last - first, kinds, of_step), 2)
        fewer = all_columns.grown(all_columns.new_arrays(2), Columns.alike(4, kinds, names and names[:4]), 2)
        expected = all_columns.see(fewer, as_matrix(X[:, :4], "float64"), 0, 50).values
        for state in (arrays, in_steps):
            np.testing.assert_array_equal(view.see(state, as_matrix(X, "float64"), 0, 50).values, expected)
    model = OnlineClassifier(view=["standard", view]).fit(X, y)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="max_columns"):
        Cosines(max_columns=0)
