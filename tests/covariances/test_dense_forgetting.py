"""Forgetting with matrices: rows take evidence away together, when half of it is to go; nothing else changes."""

import numpy as np
import pytest

from confidently import OnlineClassifier, OnlineRegressor, merge, river
from confidently.covariances import dense_forgetting
from confidently.covariances.host_arrays import NumpyArrays
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.rules import make_rule
from tests.covariance_cases import serves
from tests.covariances.test_core_equals_reference import (
    N_CLASSES,
    RULES_AND_TASKS,
    assert_twins_agree,
    core_labels,
    noisy_rows,
    twins,
)

CASES = [
    (rule, covariance, task)
    for rule, task in RULES_AND_TASKS
    for covariance in ("full", "shared")
    if make_rule(rule).learns_precision and serves(covariance, task)
]


@pytest.mark.few(1)
@pytest.mark.parametrize(("rule", "covariance", "task"), CASES)
@pytest.mark.parametrize("rows_per_product", [None, 20])  # row by row, and in blocks
@pytest.mark.parametrize("forget", [0.01, 0.2])
def test_equals_the_slow_twin(rule, covariance, task, rows_per_product, forget):
    X, labels = noisy_rows(task, n=260)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 40.0], size=len(X), p=[0.2, 0.3, 0.48, 0.02])
    ids, start = core_labels(labels)
    options = {"prior_variance": 0.7, "forget": forget}
    _, reference = twins(make_rule(rule), covariance, task, X.shape[1], **options)
    reference.learn(X, labels, weight)
    settings = Settings(rule, covariance, task, rows_per_product=rows_per_product, **options)
    learner = Learner(settings, N_CLASSES[task], X.shape[1])
    learner.learn(as_matrix(X), ids, start, weight=weight, calibrate=False)
    assert learner.updates > 0
    assert_twins_agree(learner, reference, 1e-7)


def narrow(n=400, d=5, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    return X, (X @ random.normal(size=d) + random.normal(size=n) > 0).astype(np.int32)


@pytest.mark.long("80,000 rows with full covariances")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("forget", [0.003, 0.05])
def test_directions_that_are_never_seen_return_to_the_prior(forget, dtype):
    """Over 20,000 rows that turn from one half of the features to the other, Sigma is a covariance below the prior."""
    X, y = narrow(20_000, 120)
    half = np.arange(len(X)) < len(X) // 2
    X[half, 60:], X[~half, :60] = 0.0, 0.0
    settings = Settings("arow", "full", prior_variance=0.5, fit_intercept=False, forget=forget, dtype=dtype)
    learner = Learner(settings, 2, 120)
    learner.learn(as_matrix(X), y)
    sigma = learner.covariance_matrix()[0]
    values = np.linalg.eigvalsh(sigma)
    rounding = 1e-9 if dtype == "float64" else 1e-4
    assert values.min() > 0.0 and values.max() < 0.5 * (1 + rounding)
    np.testing.assert_allclose(np.diagonal(sigma)[:60], 0.5, rtol=rounding)
    assert np.diagonal(sigma)[60:].max() < 0.45


@pytest.mark.parametrize("kept", [1e-90, 1e-5, 0.4, 0.9999999])
def test_a_step_is_exact(kept):
    random = np.random.default_rng(0)
    basis = np.linalg.qr(random.normal(size=(50, 50)))[0]
    values = 3.0 * 10.0 ** -random.uniform(0, 9, size=50)  # from the prior's down
    sigma = (basis * values) @ basis.T
    sigma = (sigma + sigma.T) / 2
    other = sigma + np.triu(1e-6 * random.normal(size=sigma.shape), 1)  # the rounding of a device, and more
    found = dense_forgetting.forgotten(other, kept, 3.0, NumpyArrays())
    assert np.array_equal(found, found.T)
    expected = 1.0 / (kept / values + (1.0 - kept) / 3.0)
    np.testing.assert_allclose(found, (basis * expected) @ basis.T, atol=3e-15 / max(kept, 1e-6))


@pytest.mark.parametrize("d", [3, 90])
def test_ridge_is_weighted_least_squares(d):
    """Weights of rows halve together; the intercept is a feature, since the mean of all rows would not follow."""
    random = np.random.default_rng(0)
    X, forget = random.normal(size=(500, d)) * 10.0 ** random.uniform(-3, 3, d), 0.01
    y = X @ (random.normal(size=d) / X.std(axis=0)) + random.normal(size=500)
    learner = Learner(Settings("ridge", "full", "regression", prior_variance=1e4, fit_intercept=False, forget=forget),
                      1, d)  # fmt: skip
    learner.learn(as_matrix(X), np.zeros(500, np.int32), targets=y[:, None])
    together = dense_forgetting.rows_at_a_time(forget)
    P, shift = np.eye(d) / 1e4, np.zeros(d)
    for t in range(500):
        P, shift = P + np.outer(X[t], X[t]), shift + y[t] * X[t]
        if (t + 1) % together == 0:
            kept, mean = (1 - forget) ** together, np.linalg.solve(P, shift)
            P = kept * P + (1 - kept) * np.eye(d) / 1e4
            shift = P @ mean
    np.testing.assert_allclose(learner.mean()[0] * X.std(axis=0), np.linalg.solve(P, shift) * X.std(axis=0), rtol=1e-6)
    model = OnlineRegressor("ridge", "full", forget=forget).fit(X / X.std(axis=0), y)
    assert not model.learner_.task.centered and model.learner_.settings.fit_intercept


def test_it_follows_what_turns():
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 5)) @ random.normal(size=(5, 5))
    y = (X[:, 0] > 0) ^ (np.arange(4000) >= 2000) ^ (random.random(4000) < 0.1)
    errors, moves = {}, {}
    for forget in (0.0, 0.01):
        classifier = OnlineClassifier("arow", "full", forget=forget)
        classifier.partial_fit(X[:2500], y[:2500], classes=[False, True])
        errors[forget] = 1 - classifier.score(X[2500:], y[2500:])
        target = np.where(np.arange(4000) < 2000, X[:, 0], -X[:, 0]) + 10.0 * (np.arange(4000) >= 2000)
        regressor = OnlineRegressor("ridge", "full", forget=forget).partial_fit(X[:2500], target[:2500])
        moves[forget] = np.abs(regressor.predict(X[2500:]) - target[2500:]).mean()
    assert errors[0.01] < 0.15 < errors[0.0]
    assert moves[0.01] < 0.2 < moves[0.0]


def test_dicts_learn_as_arrays_do():
    X, y = narrow(200)
    arrays = OnlineClassifier("arow", "full", forget=0.05, view=None).partial_fit(X, y, classes=[0, 1])
    dicts = river.OnlineClassifier("arow", "full", forget=0.05)
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        dicts.learn_one({str(j): x for j, x in enumerate(row)}, label)
    positive = dicts.predict_proba_one({str(j): x for j, x in enumerate(X[0])})[1]
    assert positive == pytest.approx(arrays.predict_proba(X[:1])[0, 1], rel=1e-9)


@pytest.mark.parametrize("covariance", ["full", "shared"])
def test_merging_counts_what_rows_have_left(covariance):
    X, labels = noisy_rows("joint", n=240)
    y, f, eye = np.array(labels), 0.02, np.eye(7)

    def trained(*parts):
        model = OnlineClassifier("arow", covariance, forget=f, view=None, multiclass="joint")
        for first, last in ((0, 60), *parts):
            model.partial_fit(X[first:last], y[first:last], classes=range(4))
        return model

    def precision(model, rows):
        """Of all rows, those included that have not been forgotten yet."""
        kept, sigma = (1 - f) ** model.learner_.state["aged"][0], model.covariance_
        sigma = sigma if sigma.ndim == 2 else sigma[0]
        return kept * np.linalg.inv(sigma) + (1 - kept) * np.eye(len(sigma))

    base, models = trained(), [trained((60, 100)), trained((100, 240))]
    unchanged = [model.learner_.state["covariance"].copy() for model in models]
    found = precision(merge(models, base=base), 0)
    start, eye = precision(base, 0), np.eye(len(found))
    left = [(1 - f) ** n * start + (1 - (1 - f) ** n) * eye for n in (180, 40, 140)]
    expected = left[0] + sum(precision(model, 0) - own for model, own in zip(models, left[1:], strict=True))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    for model, before in zip(models, unchanged, strict=True):
        np.testing.assert_array_equal(model.learner_.state["covariance"], before)
    apart = merge(models)
    assert np.linalg.eigvalsh(precision(apart, 0)).min() > 0


def test_rows_of_weight_that_forget_more_gain_no_less_than_nothing():
    X, y = narrow(300)
    base = OnlineClassifier("arow", "full", view=None, forget=0.05).fit(X[:100], y[:100])
    parts = []
    for first in (100, 200):
        part = OnlineClassifier("arow", "full", view=None, forget=0.05).fit(X[:100], y[:100])
        parts.append(part.partial_fit(X[first : first + 100], y[first : first + 100], sample_weight=np.full(100, 5.0)))
    merged = merge(parts, base=base)
    assert np.linalg.eigvalsh(merged.covariance_.reshape(6, 6)).min() > 0
    assert merged.score(X, y) > 0.7


def test_a_third_class_preserves_the_first_two():
    X, y = narrow(190)
    learner = Learner(Settings("arow", "full", forget=0.01), n_features=5)
    learner.learn(as_matrix(X), y)
    mean, variance = learner.margin_distribution(as_matrix(X))
    learner.grow(n_classes=3)
    scores = learner.decision(as_matrix(X))
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(2.0 * learner.margin_distribution(as_matrix(X))[1][:, 0], variance, rtol=1e-12)
    assert learner.state["aged"][0] > 0.0


def test_a_row_that_fails_changes_nothing():
    X, y = narrow(300, 110)
    model = OnlineClassifier("arow", "full", forget=0.02).partial_fit(X[:150], y[:150], classes=[0, 1])
    before = {name: array.copy() for name, array in model.learner_.state.items()}
    with pytest.raises(ValueError):
        model.partial_fit(np.vstack([X[150:], np.full((1, 110), np.inf)]), np.append(y[150:], 1))
    for name, array in before.items():
        np.testing.assert_array_equal(model.learner_.state[name], array, err_msg=name)


def test_a_matrix_that_is_no_covariance_stays_as_it_is():
    """A model file may hold one: training on does not fail."""
    found = dense_forgetting.forgotten(-np.eye(3), 0.5, 1.0, NumpyArrays())
    np.testing.assert_array_equal(found, -np.eye(3))
