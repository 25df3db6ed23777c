"""Rows unlike all before have small p-values, and others do not."""

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_regression

from confidently import AutoClassifier, AutoRegressor, OnlineClassifier, OnlineRegressor, merge
from confidently.stack.members import parts_of
from confidently.tasks import novelty
from confidently.tasks.novelty import VARIANCES
from tests.covariance_cases import serves
from tests.tasks.test_novelty import Variances, counted

CLASSIFIERS = [OnlineClassifier, AutoClassifier]
REGRESSORS = [OnlineRegressor, AutoRegressor]


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def labels_of(y):
    return np.column_stack([y == 0, y > 0, y == 2]).astype(int)


@pytest.mark.parametrize("covariance", ["diag", "full", "shared"])
@pytest.mark.parametrize("multiclass", ["joint", "one-vs-rest", "softmax"])
def test_variances_are_those_of_margins_before_labels_are_used(covariance, multiclass):
    if not serves(covariance, multiclass):
        pytest.skip("not served")
    X, y = wine()
    rule = "logistic" if multiclass == "softmax" else "arow"
    model = OnlineClassifier(rule, covariance=covariance, multiclass=multiclass, view=None)
    seen = []
    for k in range(40):
        if k:
            seen.append(model.learner_.top_margins(model._matrix(X[k : k + 1]))[1].item())
        else:
            prior = OnlineClassifier(rule, covariance=covariance, multiclass=multiclass, view=None)
            untrained = prior.partial_fit(X[:1], y[:1], classes=[0, 1, 2], sample_weight=[0.0])
            seen.append(untrained.learner_.top_margins(untrained._matrix(X[:1]))[1].item())
        model.partial_fit(X[k : k + 1], y[k : k + 1], classes=[0, 1, 2] if k == 0 else None)
    twin, near = Variances(), []
    for one in seen:
        near.append(twin.place(one) % 1.0)
        twin.learn(one)
    assert all(1e-6 < part < 1.0 - 1e-6 for part in near)  # none is where rounding would decide on its bin
    np.testing.assert_allclose(model.learner_.state[VARIANCES], counted(seen)[1], rtol=1e-9)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_later_passes_count_nothing(estimator):
    X, y = wine()
    order = np.random.default_rng(2).permutation(len(y))
    once, twice = (parts_of(estimator(passes=n).fit(X[order], y[order]).learner_) for n in (1, 2))
    counts = [[part.state[VARIANCES] for part in parts if VARIANCES in part.state] for parts in (once, twice)]
    assert len(counts[0]) > 0
    for one, other in zip(*counts, strict=True):
        assert np.array_equal(one, other)


@pytest.mark.long("stacks of 1,500 rows")
@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS])
def test_p_values_of_rows_in_random_order_are_valid(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = X[:, 0] + 0.3 * rng.normal(size=3000)
    target = y if estimator in REGRESSORS else np.digitize(y, [-0.5, 0.5])
    model = estimator().fit(X[:1500], target[:1500])
    p = model.novelty(X[1500:])
    assert ((p > 0.0) & (p <= 1.0)).all()
    for level in (0.05, 0.1, 0.3):
        assert (p < level).mean() < level + 0.02


@pytest.mark.long("stacks of 1,200 rows")
@pytest.mark.parametrize("estimator", [AutoClassifier, AutoRegressor, OnlineRegressor])
def test_rows_far_from_all_are_new(estimator):
    X, target = make_regression(1200, 6, noise=5.0, random_state=0)
    y = target if estimator in REGRESSORS else (target > 0).astype(int)
    model = estimator().fit(X, y)
    assert model.novelty(50.0 * X[:100]).max() < 0.06 < np.quantile(model.novelty(X), 0.1)


def test_rows_of_label_sets_are_new_by_their_variances():
    X, y = wine()
    model = OnlineClassifier(view=None).fit(X, labels_of(y))
    assert np.median(model.novelty(100.0 * X)) < 0.03 < np.median(model.novelty(X))


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
def test_merged_models_have_counted_the_rows_of_all():
    X, y = wine()
    parts = [OnlineClassifier().fit(X[k::2], y[k::2]) for k in (0, 1)]
    merged = merge(parts)
    counts = novelty.merged([part.learner_.state[VARIANCES] for part in parts], novelty.untrained())
    assert np.array_equal(merged.learner_.state[VARIANCES], counts)
    assert ((merged.novelty(X) > 0.0) & (merged.novelty(X) <= 1.0)).all()


@pytest.mark.filterwarnings("ignore:rows are sorted by label")
def test_rows_are_checked():
    X, y = wine()
    model = OnlineClassifier().fit(X, y)
    with pytest.raises(ValueError, match="12 features"):
        model.novelty(X[:, 1:])
    assert model.novelty(X[:1]).shape == (1,)
