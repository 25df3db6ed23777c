"""The mixture of regressions, and whole stacks of them, against plain twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from confidently import OnlineRegressor, Pairs, Standard, _core
from confidently.covariances.settings import Settings
from confidently.covariances.state import COUNT
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.learner.recipe import Recipe
from confidently.rules import Ridge as RidgeRule
from confidently.stack import plan as plans
from confidently.stack.members import ROWS, WEIGHTS
from confidently.stack.number_stack import CALIBRATION, LOGS, OF_MIXTURES, PRODUCTS, SHARE, NumberStack, mixtures
from confidently.stack.plan import Plan
from confidently.tasks.targets import INITIAL_TARGET, Targets
from confidently.views.table import make_view
from tests.twins import number_stack as twins
from tests.twins.regression import Twin

N, D = 80, 4


@pytest.mark.long("a slow twin of thirty settings")
@pytest.mark.parametrize("members, rests", [(1, 0), (2, 0), (5, 0), (2, 1), (6, 2)])
@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e15])
@pytest.mark.parametrize("awake", [[0, 1, 2], [2]])
def test_the_mixture_is_that_of_the_twin(members, rests, unit, awake):
    generator = np.random.default_rng(members)
    y = unit * generator.normal(size=N)
    predictions = np.empty((members, N, 2))
    predictions[:, :, 0] = y + unit * generator.normal(size=(members, N)) * np.arange(1, members + 1)[:, None]
    predictions[members - rests :, :, 0] -= y
    predictions[:, N // 2 :, 0] += unit * np.linspace(-1.0, 1.0, members)[:, None]  # other weights are better from here
    predictions[:, :, 1] = unit**2 * generator.uniform(0.5, 2.0, (members, N))
    w = generator.choice([0.0, 0.5, 1.0, 3.0], N)
    state = {name: np.zeros(shape, kind) for name, (shape, kind) in NumberStack.shapes(members, 1).items()}
    state[CALIBRATION][:], share = INITIAL_TARGET, np.isin(np.arange(3), awake) / len(awake)
    counter, mixed = np.zeros(1, COUNT), np.zeros(N)
    _core.number_mixture_learn(
        state[WEIGHTS], share, state[PRODUCTS], state[ROWS], state[CALIBRATION], counter, rests, predictions, y, w,
        True, mixed,
    )  # fmt: skip
    windows = [(50, 300, 5000)[i] for i in awake]
    twin, expected = twins.Mixture(members, rests, windows), np.zeros(N)
    for i in range(N):
        expected[i] = twin.weights() @ predictions[:, i, 0]
        if w[i] > 0:
            twin.learn(predictions[:, i, 0], np.sqrt(predictions[:, i, 1]), y[i], w[i])
    products, totals = zip(*map(twin.discounted, windows), strict=True)
    assert mixed / unit == pytest.approx(expected / unit, rel=1e-7, abs=1e-9)
    assert state[WEIGHTS] == pytest.approx(twin.weights(), rel=1e-7, abs=1e-9)
    assert state[WEIGHTS][: members - rests].sum() == pytest.approx(1.0, abs=1e-12)
    asleep = np.setdiff1d(np.arange(3), awake)
    assert share[awake] == pytest.approx(twin.share, rel=1e-6)
    assert members == 1 or share.std() > 0.001
    assert state[PRODUCTS][awake] / unit**2 == pytest.approx(np.array(products) / unit**2, rel=1e-9)
    assert state[ROWS][[0, *(1 + i for i in awake)]] == pytest.approx([w.sum() - w[w > 0][0], *totals])
    assert not share[asleep].any()
    assert not state[PRODUCTS][asleep].any()
    targets = Targets.of(state[CALIBRATION])
    assert np.sqrt(targets.squared_errors / targets.predicted) == pytest.approx(twin.rmse())
    assert targets.noise_factor() == pytest.approx(twin.noise_factor())
    assert counter[0] == np.count_nonzero(w)


def test_weights_of_a_mixture_are_sure_given_that_they_add_up_to_1():
    generator, X = np.random.default_rng(0), np.random.default_rng(1).normal(size=(N, D))
    recipes = [plan(learner_settings("full", prior)[0], None, f"{prior}") for prior in (0.01, 1.0, 100.0)]
    stack = NumberStack(recipes, n_features=D)
    np.testing.assert_allclose(stack.weight_deviations() ** 2, 0.3**2 * (1 - 1 / 3))
    y = 100.0 * (X[:, 0] + generator.normal(size=N))
    stack.learn(as_matrix(X), np.zeros(N, np.int32), targets=y[:, None])
    along = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]).T  # in which weights may change
    expected = np.zeros(3)
    for share, products, rows in zip(stack.state[SHARE][0], stack.state[PRODUCTS], stack.state[ROWS][1:], strict=True):
        precision = products / (products.diagonal().min() / rows) + np.eye(3) / 0.3**2
        expected += share * np.diag(along @ np.linalg.inv(along.T @ precision @ along) @ along.T)
    np.testing.assert_allclose(stack.weight_deviations() ** 2, expected, rtol=1e-6)


def test_rows_have_their_targets_and_weights_in_any_order():
    generator, X = np.random.default_rng(0), np.random.default_rng(1).normal(size=(N, D))
    y, weight, order = X[:, 0] + generator.normal(size=N), generator.choice([0.5, 2.0], N), generator.permutation(N)
    found = []
    for rows, targets, weights, given in ((X, y, weight, order), (X[order], y[order], weight[order], None)):
        recipes = [plan(learner_settings("full", prior)[0], None, f"{prior}") for prior in (0.01, 100.0)]
        stack = NumberStack(recipes, n_features=D)
        stack.learn(as_matrix(rows), np.zeros(N, np.int32), targets=targets[:, None], weight=weights, order=given)
        found.append(stack.state)
    for name, array in found[0].items():
        np.testing.assert_array_equal(array, found[1][name], err_msg=name)


def learner_settings(covariance, prior):
    return Recipe(RidgeRule(), covariance, targets=True, others={"prior_variance": prior}).settings(1)


def plan(settings, view, name, rest=False, log=False):
    def make(n_classes, n_features, columns):
        return Learner(settings, n_classes, n_features, view=view, columns=columns)

    return Plan(name, make, rest=rest, log=log)


class Logarithm:
    """What a member that learns logarithms predicts of the targets, added up row by row."""

    def __init__(self, first):
        self.floor = min(y for y in first if y > 0) / 2
        self.largest, self.targets, self.exponentials = np.log(self.floor), 0.0, 0.0

    def predicted(self, mean):
        factor = self.targets / self.exponentials if self.exponentials else 1.0
        return min(max(factor, 0.5), 2.0) * self.exponential(mean)

    def exponential(self, mean):
        return min(np.exp(mean), 2 * np.exp(self.largest))

    def learn(self, mean, y):
        self.targets, self.exponentials = self.targets + y, self.exponentials + self.exponential(mean)
        self.largest = max(self.largest, np.log(max(y, self.floor)))


@pytest.mark.long("slow twins, row by row")
@pytest.mark.few(1)
@pytest.mark.parametrize("rests, logs", [(0, 0), (1, 0), (2, 0), (0, 2), (1, 1)])
@pytest.mark.parametrize("rows_per_call", [1, 7, N])
def test_a_stack_of_regressions_is_that_of_the_twins(rows_per_call, rests, logs):
    """Ridge regressions with a full covariance and a diagonal one, whose predictions the twins make from all rows."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D))
    y = X @ generator.normal(size=D) + 0.3 * generator.normal(size=N) + 2.0
    if logs:
        y = np.maximum(np.exp(y / 2) - 1.0, 0.0)  # some are 0
        assert np.count_nonzero(y) < N
    chosen = [("full", 1.0), ("full", 0.01), ("diag", 1.0)]
    bases = len(chosen) - rests
    learned = [bases - logs <= k < bases for k in range(len(chosen))]
    recipes = [plan(*learner_settings(*one), str(one), rest=k >= bases, log=learned[k]) for k, one in enumerate(chosen)]
    stack = NumberStack((), lambda X, columns, n, targets: recipes, n_features=D)
    stack.prepare(as_matrix(X), targets=y[:, None])
    own_logs = {k: Logarithm(y) for k, log in enumerate(learned) if log}
    for first in range(0, N, rows_per_call):
        part = slice(first, first + rows_per_call)
        stack.learn(as_matrix(X[part]), np.zeros(len(y[part]), np.int32), targets=y[part, None])

    def step(s, v, target, w):
        return w * (target - s) / (1.0 + w * v), w

    regressions = [
        Twin(step, 1.0, prior, diagonal=covariance == "diag", centered=covariance == "full")
        for covariance, prior in chosen
    ]
    mixtures = [twins.Mixture(bases + k, k) for k in range(1 + rests)]  # of the members before each rest, and of all
    for x, target in zip(X, y, strict=True):
        means, deviations = np.zeros(len(chosen)), np.zeros(len(chosen))
        for k, regression in enumerate(regressions):
            before = mixtures[max(k - bases, 0)]
            own = target if k < bases else target - before.weights() @ means[:k]
            if k in own_logs:
                own = np.log(max(target, own_logs[k].floor))
            regression.learn(x, own)
            errors = regression.errors
            if mixtures[0].before:
                noise = np.mean([e**2 / spread for e, spread in errors[:-1]]) if len(errors) > 1 else 1.0
                means[k], deviations[k] = own - errors[-1][0], np.sqrt(errors[-1][1] * noise)
            else:
                means[k] = own  # which no member can predict
            if k in own_logs:
                logarithm, log = means[k], own_logs[k]
                means[k] = log.predicted(logarithm)
                deviations[k] *= means[k]
                log.learn(logarithm, target)
        for k, mixture in enumerate(mixtures):
            mixture.learn(means[: bases + k], deviations[: bases + k], target, 1.0)
    assert stack.state[WEIGHTS] == pytest.approx(mixture.weights(), rel=1e-7, abs=1e-9)
    targets = Targets.of(stack.state[CALIBRATION])
    assert np.sqrt(targets.squared_errors / targets.predicted) == pytest.approx(mixture.rmse())
    assert targets.noise_factor() == pytest.approx(mixture.noise_factor())
    found = stack.number_distribution(as_matrix(X))
    (means,), (deviations,) = stack.predictions(as_matrix(X))
    for k, log in own_logs.items():
        logarithms = stack.members[k].number_distribution(as_matrix(X))
        assert means[k] == pytest.approx([log.predicted(one) for one in logarithms.mean[:, 0]])
        assert deviations[k] == pytest.approx(means[k] * stack.members[k].number_deviations(logarithms)[:, 0])
    expected = mixture.weights() @ means
    assert found.mean[:, 0] == pytest.approx(np.maximum(expected, 0.0) if logs else expected)  # no target was negative
    spread = (np.abs(mixture.weights()[:bases]) @ deviations[:bases]) ** 2 * mixture.factor()
    assert found.spread[:, 0] == pytest.approx(spread)
    assert np.array([mixture.share for mixture in mixtures]) == pytest.approx(stack.state[SHARE])
    assert (stack.numbers(as_matrix(X)) == found.mean).all()


@pytest.mark.long("four stacks of each setting")
@pytest.mark.parametrize("rests", [0, 2])
@pytest.mark.parametrize("rows_per_call", [7, N])
def test_a_stack_of_several_numbers_is_one_stack_per_number(rows_per_call, rests):
    """Members of which nothing but the weights depends on the targets, so that sharing them changes nothing."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D))
    Y = X @ generator.normal(size=(D, 3)) * [1.0, 1e-6, 1e6] + generator.normal(size=(N, 3)) * [0.3, 1e-7, 1e6] + 2.0
    weight, order = generator.choice([0.0, 0.5, 2.0], N), generator.permutation(N)
    kinds = [("full", None), ("diag", None), ("full", Standard(unit_norm=False)), ("diag", Pairs(unit_norm=False))]
    recipes = [Recipe(RidgeRule(), covariance, targets=True, view=make_view(view)) for covariance, view in kinds]
    members = [plans.plan(one, str(k), rest=k >= len(kinds) - rests) for k, one in enumerate(recipes)]

    def trained(targets):
        stack = NumberStack(members, n_classes=targets.shape[1], n_features=D)
        for first in range(0, N, rows_per_call):
            part = order[first : first + rows_per_call]
            stack.learn(as_matrix(X), np.zeros(N, np.int32), targets=targets, weight=weight, order=part)
        return stack

    together, alone = trained(Y), [trained(np.ascontiguousarray(Y[:, [k]])) for k in range(3)]
    assert together.n_seen == alone[0].n_seen == np.count_nonzero(weight)
    assert [member.settings.covariance for member in together.members] == ["shared", "diag", "shared", "diag"]
    for mixture, one in zip(mixtures(together.state), alone, strict=True):
        for name in set(OF_MIXTURES) - {LOGS}:
            scale = np.abs(one.state[name]).max()
            assert mixture[name] == pytest.approx(one.state[name], rel=1e-6, abs=1e-9 * scale), name
    weights = np.array([one.state[WEIGHTS] for one in alone])
    assert together.member_weights == pytest.approx(weights.mean(axis=0))
    spread = np.array([one.weight_deviations() for one in alone]) ** 2 + (weights - weights.mean(axis=0)) ** 2
    assert together.weight_deviations() == pytest.approx(np.sqrt(spread.mean(axis=0)))
    found, rows = together.number_distribution(as_matrix(X)), as_matrix(X)
    assert (together.numbers(rows) == found.mean).all()
    for k, one in enumerate(alone):
        expected = one.number_distribution(rows)
        assert found.mean[:, k] == pytest.approx(expected.mean[:, 0], rel=1e-6)
        assert together.number_deviations(found)[:, k] == pytest.approx(one.number_deviations(expected)[:, 0], rel=1e-6)
        limits = one.intervals(expected, 0.8)[:, 0]
        assert together.intervals(found, 0.8)[:, k] == pytest.approx(limits, rel=1e-6)


def test_products_without_unit_norm_are_those_of_batch_ridge_regression():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(300, D)) * [1.0, 3.0, 0.1, 10.0]
    y = X[:, 0] * X[:, 1] - X[:, 2] ** 2 + generator.normal(size=300)
    model = OnlineRegressor(view=Pairs(unit_norm=False), covariance="full", fit_intercept=False).fit(X, y)
    products = PolynomialFeatures(2, include_bias=False)
    Z = products.fit_transform(X) * np.where((products.fit(X).powers_ == 1).sum(axis=1) == 2, np.sqrt(2.0), 1.0)
    expected = Ridge(alpha=1.0, fit_intercept=False).fit(Z, y)
    assert model.predict(X) == pytest.approx(expected.predict(Z), rel=1e-9, abs=1e-9)


def test_settings_of_members_are_those_of_regressions():
    settings, _ = learner_settings("diag", 1.0)
    classes = plan(Settings("arow"), None, "of classes")
    stack = NumberStack([classes], n_features=1)
    with pytest.raises(ValueError, match="regression needs targets"):
        stack.learn(as_matrix(np.ones((2, 1))), np.zeros(2, np.int32), targets=np.ones((2, 1)))
    assert replace(settings, dtype="float32").task.regression
