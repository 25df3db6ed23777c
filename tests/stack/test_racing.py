"""Members that a mixture can do without are dropped, at the same row however the rows come."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from confidently import AutoClassifier, OnlineClassifier, Standard, _core, load, merge
from confidently.data.memory.matrix import as_matrix
from confidently.models.merged_learner import MergeError
from confidently.models.packing import packed
from confidently.stack import racing
from confidently.stack.choice import new_stack
from confidently.stack.racing import DISPENSABLE, FIRST_RACE, MANY_CLASSES
from confidently.stack.stack import HESSIAN, OWN, ROWS, SHARE, WEIGHTS
from confidently.views.columns import Columns

N, D = FIRST_RACE + 600, 5


def data(n=N, seed=0, noise=0.5, n_classes=2):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, D))
    score = X[:, 0] * X[:, 1] + X[:, 2] + noise * generator.normal(size=n)
    return X, np.searchsorted([0.0] if n_classes == 2 else [-1.0, 1.0], score).astype(np.int32)


def stack_on(X, y, pieces=1):
    stack = new_stack(int(y.max()) + 1, D, Columns.alike(D))
    stack.prepare(as_matrix(X[:1000]))
    for rows, labels in zip(np.array_split(X, pieces), np.array_split(y, pieces), strict=True):
        stack.learn(as_matrix(rows), labels)
    return stack


@pytest.fixture(scope="module", params=[2, 3])
def before(request):
    """A stack that has seen one row less than the first race needs, and the rows."""
    X, y = data(n_classes=request.param)
    return stack_on(X[: FIRST_RACE - 1], y[: FIRST_RACE - 1]), X, y


def test_the_cost_of_a_removal_is_that_of_the_best_weights_without_it(before):
    stack, _, _ = before
    curvature = stack.state[HESSIAN][-1] + _core.weight_precision * np.eye(len(stack.members))
    own, rows = stack.state[OWN][-1], stack.state[ROWS][0] / 2
    for k, cost in enumerate(stack.removal_costs()):
        others = np.delete(np.arange(len(own)), k)

        def loss(weights, others=others):
            move = -own.copy()
            move[others] += weights
            return move @ curvature @ move / 2

        found = minimize(loss, own[others], method="BFGS", options={"gtol": 1e-9})
        assert cost == pytest.approx(found.fun / rows, rel=1e-6, abs=1e-12)
        left = stack._without(k)
        np.testing.assert_allclose(left[OWN][-1], found.x, rtol=1e-4, atol=1e-6)
        np.testing.assert_array_equal(left[HESSIAN], stack.state[HESSIAN][:, others][:, :, others])
        np.testing.assert_allclose(left[WEIGHTS], left[SHARE] @ left[OWN], rtol=1e-15)


def test_members_that_cost_little_are_dropped_once_it_is_time(before):
    stack, X, y = before
    assert stack.dropped == {}
    names, forgetting = stack.names, [name for name in stack.names if "forget" in name or "trees" in name]
    later = stack_on(X, y)
    assert 0 < len(later.dropped) < len(names) - len(forgetting)
    assert set(later.dropped.values()) == {FIRST_RACE}
    assert later.names == [name for name in names if name not in later.dropped]
    assert set(forgetting) <= set(later.names)
    assert len(later.members) == len(later.multiclass) == len(later.state[WEIGHTS])
    # of those that stayed at the race, each is worth more
    at = stack_on(X[:FIRST_RACE], y[:FIRST_RACE])
    costs = dict(zip(at.names, at.removal_costs(), strict=True))
    assert min(cost for name, cost in costs.items() if name not in forgetting) >= DISPENSABLE


class Costs(racing.Racing):
    """Members of which only the costs of their removal are known."""

    n_classes, n_seen, mistakes, at_stake, doubted = 2, 0, 30, 1.0, False

    def __init__(self, *costs, **given):
        self.costs, self.members, self.dropped = list(costs), [None] * len(costs), {}
        self.names = self.multiclass = [str(k) for k in range(len(costs))]
        self.state = {}
        vars(self).update(given)

    def removal_costs(self):
        return np.array(self.costs)

    def _without(self, k):
        del self.costs[k]
        return {}

    def _doubt_scores(self):
        self.doubted = True


CHEAP = [9e-4, 1.0]


@pytest.mark.parametrize(("costs", "before", "given", "stay"), [
    ([9e-4, 1.1e-3, 1.0], 0, {"n_seen": 3000}, [1, 2]), ([1.1e-3, 1.0], 0, {"n_seen": 3000}, [0, 1]),
    ([9e-4, 8e-4], 0, {"n_seen": 3000}, [0]), ([9e-4], 0, {"n_seen": 3000}, [0]), (CHEAP, 0, {"n_seen": 2999}, [0, 1]),
    (CHEAP, 0, {"n_seen": 3000, "mistakes": 29}, [0, 1]), (CHEAP, 0, {"n_seen": 3000, "at_stake": 0.8}, [0, 1]),
    (CHEAP, 3000, {"n_seen": 9999}, [0, 1]), (CHEAP, 3000, {"n_seen": 10_000}, [1]),
    (CHEAP, 29_999, {"n_seen": 30_000}, [1]), (CHEAP, 30_000, {"n_seen": 99_999}, [0, 1]),
    (CHEAP, 0, {"n_seen": 3000, "pass_rows": 3999}, [0, 1]), (CHEAP, 0, {"n_seen": 3000, "pass_rows": 4000}, [1]),
    (CHEAP, 0, {"n_seen": 3000, "pass_rows": 2000, "passes": 2}, [1]),
    (CHEAP, 0, {"n_seen": 3000, "dropped": None}, [0, 1]),
])  # fmt: skip
def test_when_and_which_members_are_dropped(costs, before, given, stay):
    stack = Costs(*costs, **given)
    assert stack.race(before) == stay and stack.names == [str(k) for k in stay]
    assert stack.doubted == (len(stay) < len(costs))
    assert not stack.doubted or stack.dropped == dict.fromkeys(
        (str(k) for k in range(len(costs)) if k not in stay), stack.n_seen
    )


def test_members_that_were_given_stay():
    X, y = data()
    given = [OnlineClassifier("logistic", view=Standard()), OnlineClassifier("arow", view=Standard())]
    model = AutoClassifier(given).fit(X, y)
    assert len(model.members_) == 2
    assert model.learner_.dropped is None


@pytest.mark.parametrize("pieces", [2, 7, 41])
def test_cuts_change_nothing(pieces):
    X, y = data()
    whole, cut = stack_on(X, y), stack_on(X, y, pieces)
    assert whole.names == cut.names
    assert whole.dropped == cut.dropped
    for name, array in whole.state.items():
        np.testing.assert_array_equal(cut.state[name], array)


@pytest.mark.long("three stacks of thousands of rows")
def test_files_keep_what_was_dropped_and_training_goes_on(tmp_path):
    X, y = data()
    whole = AutoClassifier().partial_fit(X, y, classes=[0, 1])
    for at in (FIRST_RACE - 100, FIRST_RACE + 100):
        part = AutoClassifier().partial_fit(X[:at], y[:at], classes=[0, 1])
        part.save(tmp_path / "part.cw")
        loaded = load(tmp_path / "part.cw")
        assert loaded.learner_.dropped == part.learner_.dropped
        loaded.partial_fit(X[at:], y[at:])
        assert loaded.learner_.dropped == whole.learner_.dropped != {}
        np.testing.assert_array_equal(loaded.predict_proba(X[:50]), whole.predict_proba(X[:50]))


def test_an_error_after_a_race_brings_the_members_back(before):
    stack, X, y = before
    names, dropped = stack.names, stack.dropped
    weights = stack.state[WEIGHTS].copy()
    states = {name: array.copy() for name, array in packed(stack).items()}

    def stop(row):
        if len(stack.members) < len(names):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stack.learn(as_matrix(X[FIRST_RACE - 1 :]), y[FIRST_RACE - 1 :], progress=stop)
    assert (stack.names, stack.dropped) == (names, dropped)
    np.testing.assert_array_equal(stack.state[WEIGHTS], weights)
    for name, array in packed(stack).items():
        np.testing.assert_array_equal(array, states[name])


@pytest.mark.long("three stacks of thousands of rows")
def test_merged_stacks_have_the_members_that_none_has_dropped():
    X, y = data(2 * N)
    start = AutoClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    long, short = (AutoClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1]) for _ in range(2))
    long.partial_fit(X[1000:N], y[1000:N])
    short.partial_fit(X[N : N + 800], y[N : N + 800])
    merged = merge([long, short], base=start)
    assert list(merged.members_) == list(long.members_)
    assert merged.learner_.dropped == long.learner_.dropped != {}
    assert short.learner_.dropped == {}
    assert len(short.members_) > len(long.members_)
    held = X[N + 800 :], y[N + 800 :]
    assert merged.score(*held) > max(short.score(*held), long.score(*held) - 0.02)
    for model, others in ((long, short), (short, long)):
        model.learner_.dropped = dict.fromkeys(others.learner_.names, N)
    with pytest.raises(MergeError, match="every member has been dropped"):
        merge([long, short])


@pytest.mark.parametrize("pieces", [1, pytest.param(7, marks=pytest.mark.long("518 calls"))])
def test_many_classes_drop_the_members_on_products(monkeypatch, pieces):
    """The first rows, which choose the members, have few classes where rows are sorted by them."""
    monkeypatch.setattr(racing, "MAX_PRODUCTS", 2**14)
    generator = np.random.default_rng(0)
    n_classes, per_class, words = MANY_CLASSES + 10, 40, 300  # too few rows for a race
    y = np.repeat(np.arange(n_classes, dtype=np.int32), per_class)
    X = np.zeros((len(y), words))
    for row, label in zip(X, y, strict=True):
        row[generator.integers(words, size=4)] = 1.0
        row[label] = 1.0
    X = csr_matrix(X)
    stack = new_stack(2, words, Columns.alike(words))
    stack.prepare(as_matrix(X[:1000]), 20)
    products = [name for name in stack.names if "pairs" in name]
    for label in range(n_classes):
        stack.grow(n_classes=label + 1)
        rows = np.flatnonzero(y == label)
        for part in np.array_split(rows, pieces):
            stack.learn(as_matrix(X[part]), y[part])
        assert all(name in stack.names for name in products) == (label < MANY_CLASSES)
    assert stack.dropped == dict.fromkeys(reversed(products), MANY_CLASSES * per_class)
    np.testing.assert_allclose(stack.probabilities(as_matrix(X[:10])).sum(axis=1), 1.0)


@pytest.mark.parametrize(("shares", "bits"), [((0.5, 0.5), 1.0), ((0.99, 0.01), 0.0808), ((0.25,) * 4, 1.0)])
def test_what_is_at_stake_is_the_entropy_of_the_classes(shares, bits):
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(1200, D)), np.repeat(np.arange(len(shares)), np.multiply(shares, 1200).astype(int))
    stack = stack_on(X[: len(y)], generator.permutation(y).astype(np.int32))
    assert stack.at_stake == pytest.approx(bits, abs=1e-3)
