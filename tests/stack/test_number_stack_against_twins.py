"""The mixture of regressions, and whole stacks of them, against plain twins."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures

from confidently import OnlineRegressor, Pairs, _core
from confidently.covariances.settings import Settings
from confidently.covariances.state import COUNT
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.learner.recipe import Recipe
from confidently.rules import Ridge as RidgeRule
from confidently.stack.members import ROWS, WEIGHTS, Plan
from confidently.stack.number_stack import CALIBRATION, PRODUCTS, NumberStack
from confidently.tasks.targets import INITIAL_TARGET, Targets
from tests.twins import number_stack as twins
from tests.twins.regression import Twin

N, D = 80, 4


@pytest.mark.parametrize("members", [1, 2, 5])
@pytest.mark.parametrize("unit", [1e-20, 1.0, 1e15])
def test_the_mixture_is_that_of_the_twin(members, unit):
    generator = np.random.default_rng(members)
    y = unit * generator.normal(size=N)
    predictions = np.empty((members, N, 2))
    predictions[:, :, 0] = y + unit * generator.normal(size=(members, N)) * np.arange(1, members + 1)[:, None]
    predictions[:, :, 1] = unit**2 * generator.uniform(0.5, 2.0, (members, N))
    w = generator.choice([0.0, 0.5, 1.0, 3.0], N)
    state = {name: np.zeros(shape, kind) for name, (shape, kind) in NumberStack.shapes(members, 1).items()}
    state[WEIGHTS][:], state[CALIBRATION][:] = 1 / members, INITIAL_TARGET
    counter = np.zeros(1, COUNT)
    _core.number_mixture_learn(
        state[WEIGHTS], state[PRODUCTS], state[ROWS], state[CALIBRATION], counter, predictions, y, w, True
    )
    twin = twins.Mixture(members)
    for i in range(N):
        if w[i] > 0:
            twin.learn(predictions[:, i, 0], np.sqrt(predictions[:, i, 1]), y[i], w[i])
    products, total = twin.discounted()
    assert state[WEIGHTS] == pytest.approx(twin.weights(), rel=1e-8, abs=1e-9)
    assert state[WEIGHTS].sum() == pytest.approx(1.0, abs=1e-12)
    assert state[PRODUCTS] / unit**2 == pytest.approx(products / unit**2, rel=1e-9)
    assert state[ROWS] == pytest.approx([w.sum() - w[w > 0][0], total])
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
    error = stack.state[PRODUCTS].diagonal().min() / stack.state[ROWS][1]
    precision = stack.state[PRODUCTS] / error + np.eye(3) / 0.3**2
    along = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]).T  # in which weights may change
    covariance = along @ np.linalg.inv(along.T @ precision @ along) @ along.T
    np.testing.assert_allclose(stack.weight_deviations() ** 2, np.diag(covariance), rtol=1e-6)


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


def plan(settings, view, name):
    def make(n_classes, n_features, columns):
        return Learner(settings, n_classes, n_features, view=view, columns=columns)

    return Plan(name, make)


@pytest.mark.parametrize("rows_per_call", [1, 7, N])
def test_a_stack_of_regressions_is_that_of_the_twins(rows_per_call):
    """Ridge regressions with a full covariance and a diagonal one, whose predictions the twins make from all rows."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(N, D))
    y = X @ generator.normal(size=D) + 0.3 * generator.normal(size=N) + 2.0
    chosen = [("full", 1.0), ("full", 0.01), ("diag", 1.0)]
    recipes = [plan(*learner_settings(*one), str(one)) for one in chosen]
    stack = NumberStack(recipes, n_features=D)
    for first in range(0, N, rows_per_call):
        part = slice(first, first + rows_per_call)
        stack.learn(as_matrix(X[part]), np.zeros(len(y[part]), np.int32), targets=y[part, None])

    def step(s, v, target, w):
        return w * (target - s) / (1.0 + w * v), w

    regressions = [
        Twin(step, 1.0, prior, diagonal=covariance == "diag", centered=covariance == "full")
        for covariance, prior in chosen
    ]
    mixture = twins.Mixture(len(chosen))
    for x, target in zip(X, y, strict=True):
        for regression in regressions:
            regression.learn(x, target)
        if len(mixture.rows) or mixture.before:
            errors = [regression.errors for regression in regressions]
            means = np.array([target - own[-1][0] for own in errors])
            noise = [np.mean([e**2 / spread for e, spread in own[:-1]]) if len(own) > 1 else 1.0 for own in errors]
            deviations = np.sqrt([own[-1][1] * factor for own, factor in zip(errors, noise, strict=True)])
        else:
            means = deviations = np.zeros(len(chosen))
        mixture.learn(means, deviations, target, 1.0)
    assert stack.state[WEIGHTS] == pytest.approx(mixture.weights(), rel=1e-7, abs=1e-9)
    targets = Targets.of(stack.state[CALIBRATION])
    assert np.sqrt(targets.squared_errors / targets.predicted) == pytest.approx(mixture.rmse())
    assert targets.noise_factor() == pytest.approx(mixture.noise_factor())
    found = stack.number_distribution(as_matrix(X))
    means, deviations = stack.predictions(as_matrix(X))
    assert found.mean[:, 0] == pytest.approx(mixture.weights() @ means)
    assert found.spread[:, 0] == pytest.approx((np.abs(mixture.weights()) @ deviations) ** 2 * mixture.factor())
    assert (stack.numbers(as_matrix(X)) == found.mean).all()


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
    settings, view = learner_settings("diag", 1.0)
    with pytest.raises(ValueError, match="one number per row, got 2"):
        NumberStack([plan(settings, view, "one")], n_classes=2)
    classes = plan(Settings("arow"), None, "of classes")
    stack = NumberStack([classes], n_features=1)
    with pytest.raises(ValueError, match="regression needs targets"):
        stack.learn(as_matrix(np.ones((2, 1))), np.zeros(2, np.int32), targets=np.ones((2, 1)))
    assert replace(settings, dtype="float32").task.regression
