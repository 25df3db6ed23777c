"""Merging regressions: ridge regressions merged are one pass over all rows, whatever the parts."""

import itertools
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import Ridge as BatchRidge

from confidently import AROW, OnlineClassifier, OnlineRegressor, Ridge, load, merge
from confidently.models.merged_learner import MergeError
from confidently.tasks.targets import Targets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6)) @ RNG.normal(size=(6, 6)) + 4.0 * RNG.normal(size=6)
X[150:] += 2.0  # parts of other means
Y = X @ RNG.normal(size=(6, 2)) + [10.0, -300.0] + RNG.normal(size=(240, 2)) * [1.0, 5.0]
CUTS = [0, 90, 91, 160, 240]  # one part is a single row
ATTRIBUTES = ("coef_", "intercept_", "variance_", "noise_variance_")

EXACT = {
    "full": ({"covariance": "full"}, 1), "shared": ({"covariance": "shared"}, 2), "auto": ({}, 2),
    "no intercept": ({"fit_intercept": False}, 1), "no intercept of two": ({"fit_intercept": False}, 2),
    "noise and prior": ({"rule": Ridge(r=3.0), "prior_variance": 20.0}, 1),
    "unknown noise": ({"rule": Ridge(r=None), "calibration": None}, 1),
}  # fmt: skip


def targets(n):
    return Y[:, 0] if n == 1 else Y


def assert_alike(merged, whole, attributes=ATTRIBUTES, rtol=1e-9):
    for name in attributes:
        np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=rtol, err_msg=name)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_are_one_pass_over_all_rows(name, weighted):
    parameters, n = EXACT[name]
    y, weight = targets(n), RNG.uniform(0.2, 3.0, size=240) if weighted else np.ones(240)
    parts = [
        OnlineRegressor(**parameters).fit(X[first:last], y[first:last], weight[first:last])
        for first, last in itertools.pairwise(CUTS)
    ]
    whole, merged = OnlineRegressor(**parameters).fit(X, y, weight), merge(parts)
    assert_alike(merged, whole)
    assert merged.n_seen_ == 240
    for one, other in zip(merged.predict(X, return_std=True), whole.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)
    merged.partial_fit(X[:50], y[:50])  # which continues
    assert_alike(merged, whole.partial_fit(X[:50], y[:50]))
    more, numbers = np.tile(X, (6, 1)), np.tile(y, 6 if n == 1 else (6, 1))  # until Sigma is computed again
    assert_alike(merged.partial_fit(more, numbers), whole.partial_fit(more, numbers))


@pytest.mark.parametrize("name", EXACT)
def test_what_the_base_knew_counts_once(name):
    parameters, n = EXACT[name]
    y = targets(n)
    base = OnlineRegressor(**parameters).fit(X[:70], y[:70])
    cuts = [70, 120, 121, 240]
    parts = [deepcopy(base).partial_fit(X[i:j], y[i:j]) for i, j in itertools.pairwise(cuts)]
    assert_alike(merge(parts, base), OnlineRegressor(**parameters).fit(X, y))


@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_errors_that_the_base_counted_count_once(covariance):
    """Intervals are quantiles of the errors counted: the base's and those that each part has seen since."""
    base = OnlineRegressor(covariance=covariance).partial_fit(X[:120], Y[:120, 0])
    same = merge([deepcopy(base), deepcopy(base)], base)
    np.testing.assert_allclose(same.predict_interval(X), base.predict_interval(X), rtol=1e-9)
    parts = [deepcopy(base).partial_fit(X[i:j], Y[i:j, 0]) for i, j in ((120, 150), (150, 240))]
    bins = [Targets.of(model.learner_.state["calibration"]).bins[0] for model in (merge(parts, base), base, *parts)]
    forgotten = 1.0 - (1.0 - 1.0 / 2000.0) ** 90  # of the base's errors, while the longest part counted its own
    assert bins[0].sum() == pytest.approx(bins[1].sum() + 120, rel=2 * forgotten)
    assert (bins[0] >= bins[1]).all()


def test_merged_is_batch_ridge():
    parts = [OnlineRegressor(Ridge(r=2.0)).fit(X[k::3], Y[k::3]) for k in range(3)]
    batch, merged = BatchRidge(alpha=2.0).fit(X, Y), merge(parts)
    np.testing.assert_allclose(merged.coef_, batch.coef_, rtol=1e-9)
    np.testing.assert_allclose(merged.intercept_, batch.intercept_, rtol=1e-9)


def test_sparse_rows_of_parts_with_other_columns():
    """A column that a part has not seen has been 0 in its rows; names align them."""
    frame = pd.DataFrame(np.where(RNG.random(X.shape) < 0.4, X, 0.0), columns=list("abcdef"))
    left, right = frame[:120][list("abcd")], frame[120:][list("fdeb")]
    whole = frame.copy()
    whole.loc[:119, ["e", "f"]] = 0.0
    whole.loc[120:, ["a", "c"]] = 0.0
    merged = merge([OnlineRegressor().fit(left, Y[:120, 0]), OnlineRegressor().fit(right, Y[120:, 0])])
    expected = OnlineRegressor().fit(whole[list("abcdfe")], Y[:, 0])
    assert list(merged.feature_names_in_) == list("abcdfe")
    assert_alike(merged, expected)
    rows = csr_matrix(frame.to_numpy())
    halves = [OnlineRegressor().fit(rows[:120], Y[:120, 0]), OnlineRegressor().fit(rows[120:], Y[120:, 0])]
    assert_alike(merge(halves), OnlineRegressor().fit(rows, Y[:, 0]))


def test_the_mean_of_equal_parts_is_a_part():
    part = OnlineRegressor(fit_intercept=False).fit(X, Y[:, 0])
    again = merge([part, deepcopy(part)], how="mean")
    assert_alike(again, part, ("coef_", "variance_"))


@pytest.mark.parametrize("rule", ["ridge", "quantile", "arow_eps", "pa1_reg", "poisson"])
@pytest.mark.parametrize("based", [False, True])
def test_a_diagonal_is_merged_about_the_common_offset(rule, based):
    """By the formula: precisions and shifts add up, those of the constant feature about the mean of all targets."""
    y = np.floor(np.abs(Y[:, 0])) if rule == "poisson" else Y[:, 0]
    new = lambda: OnlineRegressor(rule, "diag")  # noqa: E731
    X_small = X / 20.0
    base = new().fit(X_small[:40], y[:40])
    parts = [(deepcopy(base) if based else new()).partial_fit(X_small[i:j], y[i:j]) for i, j in ((40, 150), (150, 240))]
    merged = merge(parts, base if based else None)

    def parameters(model):
        """Mean and precision with the constant feature's last, about 0."""
        mean = np.append(model.coef_, model.intercept_)
        return mean, 1.0 / model.learner_.variance()[0]

    weight = [part.learner_.state["calibration"][0] for part in parts]
    offsets = [np.append(np.zeros(6), part.intercept_ - part.learner_.mean()[0, -1]) for part in parts]
    if based:
        mean_0, precision_0 = parameters(base)
        starts = [precision_0 * mean_0] * 2
        whole = precision_0 * mean_0
    else:
        precision_0 = np.ones(7)
        starts = [precision_0 * offset for offset in offsets]
        total = sum(w * part.learner_.state["calibration"][1] for w, part in zip(weight, parts, strict=True))
        target = total / sum(weight)
        if rule == "poisson":
            target = np.log((total + 0.5) / (sum(weight) + 0.5))
        whole = precision_0 * np.append(np.zeros(6), target)
    found = [parameters(part) for part in parts]
    precision = precision_0 + sum(p - precision_0 for _, p in found)
    shift = whole + sum(p * mean - start for (mean, p), start in zip(found, starts, strict=True))
    if rule == "pa1_reg":  # no precision is gained: changes of the mean add up
        precision = precision_0
    mean = shift / precision
    np.testing.assert_allclose(np.append(merged.coef_, merged.intercept_), mean, rtol=1e-9)


def test_views_before_the_centering():
    parts = [OnlineRegressor(view="standard").fit(X[k::2], Y[k::2, 0]) for k in range(2)]
    whole = OnlineRegressor(view="standard").fit(X, Y[:, 0])
    assert merge(parts).score(X, Y[:, 0]) == pytest.approx(whole.score(X, Y[:, 0]), abs=0.01)


def test_targets_of_one_dimension_stay(tmp_path):
    merged = merge([OnlineRegressor().fit(X[k::2], Y[k::2, :1]) for k in range(2)])
    merged.save(tmp_path / "m.cw")
    assert merged.predict(X).shape == load(tmp_path / "m.cw").predict(X).shape == (240, 1)
    assert merge([OnlineRegressor().fit(X[k::2], Y[k::2, 0]) for k in range(2)]).predict(X).shape == (240,)


def fitted(y=Y[:, 0], **parameters):
    return OnlineRegressor(**parameters).fit(X, y)


@pytest.mark.parametrize(("other", "message"), [
    (fitted(Y), "targets = 1 in model 1, targets = 2 in model 2"),
    (fitted(fit_intercept=False), "view = center in model 1, view = none in model 2"),
    (fitted(rule="quantile"), "rule = ridge in model 1, rule = quantile in model 2"),
    (fitted(rule=Ridge(r=2.0)), "r = 1 in model 1, r = 2 in model 2"),
    (fitted(prior_variance=2.0), "prior_variance = 1 in model 1, prior_variance = 2 in model 2"),
    (fitted(covariance="kernel"), "kernel"),
    (OnlineClassifier(AROW(r=1.0), "full").fit(X, Y[:, 0] > 0), "rule = ridge in model 1, rule = arow in model 2"),
])  # fmt: skip
def test_different_models_are_refused(other, message):
    with pytest.raises(MergeError, match=message):
        merge([fitted(covariance="full"), other])


def test_a_base_that_the_parts_do_not_come_from():
    twice = np.vstack([X, X]), np.append(Y[:, 0], Y[:, 0])
    for parameters, message in (({}, "the base has counted rows"), ({"fit_intercept": False}, "was not trained from")):
        with pytest.raises(MergeError, match=message):
            merge([fitted(**parameters)], base=OnlineRegressor(**parameters).fit(*twice))


def test_only_fitted_estimators():
    with pytest.raises(TypeError, match="not fitted"):
        merge([OnlineRegressor()])
    with pytest.raises(TypeError, match="fitted classifiers or regressors, got Ridge"):
        merge([BatchRidge().fit(X, Y)])
