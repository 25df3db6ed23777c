"""Large weights of examples neither diverge nor overshoot, with any rule; small ones are learned, or refused."""

import numpy as np
import pytest

from confidently import (
    REGRESSION_RULES,
    RULES,
    AutoClassifier,
    AutoRegressor,
    OnlineClassifier,
    OnlineRegressor,
    load,
    river,
)
from confidently.data import DataError, DataWarning, open_stream
from confidently.views.table import VIEWS


def contradicting(n=800):
    """Return equal rows whose labels alternate."""
    return np.ones((n, 2)), np.arange(n) % 2


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("weight", [2.5, 10.0, 1e6])
def test_rows_that_contradict_each_other_leave_weights_of_the_size_of_one_step(rule, weight, tmp_path):
    """With steps multiplied by the weight, "pa" had coefficients of 1e307 after 800 rows of weight 10."""
    X, y = contradicting()
    classifier = OnlineClassifier(rule).partial_fit(X, y, [0, 1], sample_weight=np.full(len(y), weight))
    longest = weight if rule == "perceptron" else 100.0
    assert np.abs(classifier.coef_).max() <= longest
    classifier.save(tmp_path / "model.cw")
    assert np.array_equal(load(tmp_path / "model.cw").coef_, classifier.coef_)


@pytest.mark.parametrize("rule", ["pa", "cw_stdev", "cw_var", "cellip", "iellip"])
def test_weights_above_one_act_as_one_on_hard_rules(rule):
    X, y = contradicting(50)
    X = X + 0.1 * np.random.default_rng(0).normal(size=X.shape)
    plain, weighted = (
        OnlineClassifier(rule, view=None).fit(X, y, sample_weight=w) for w in (None, np.full(len(y), 30.0))
    )
    assert np.array_equal(plain.coef_, weighted.coef_)
    assert np.array_equal(plain.variance_, weighted.variance_)


LEAST = 1e-100


def weighted_rows(n=120):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=n)
    return X, y, np.where(np.arange(n) % 3 == 0, 1.0, LEAST)


def assert_finite(model, X):
    regression = not hasattr(model, "predict_proba")
    found = (*model.predict(X, return_std=True), model.predict_interval(X)) if regression else (model.predict_proba(X),)
    learner = model.learner_
    parts = [learner, *getattr(learner, "members", ())]
    assert all(np.isfinite(numbers).all() for numbers in found)
    assert all(np.isfinite(array).all() for part in parts for array in part.state.values())


@pytest.mark.parametrize("weights", ["all", "most"])
def test_the_smallest_weights_leave_finite_numbers(weights):
    X, y, weight = weighted_rows()
    weight = np.full(len(y), LEAST) if weights == "all" else weight
    labels = (y > 0).astype(int) + (y > 2)
    for covariance in ("full", "diag"):
        for rule in REGRESSION_RULES:
            targets = np.abs(y) if rule == "poisson" else y
            for calibration in ("progressive", None):
                model = OnlineRegressor(rule, covariance, calibration=calibration)
                assert_finite(model.fit(X, targets, sample_weight=weight), X)
        for rule in RULES:
            assert_finite(OnlineClassifier(rule, covariance).fit(X, labels, sample_weight=weight), X)
    for view in VIEWS:
        assert_finite(OnlineClassifier(view=view).fit(X, labels, sample_weight=weight), X)
    assert_finite(AutoClassifier().fit(X, labels, sample_weight=weight), X)
    model = AutoRegressor().fit(X, y, sample_weight=weight)
    if weights == "all":  # the mixture learns nothing of rows of such weights, nor of its errors
        assert np.isfinite(model.predict(X)).all()
        with pytest.warns(DataWarning, match="intervals are infinite"):
            assert np.isinf(model.predict_interval(X)).all()
    else:
        assert_finite(model, X)


@pytest.mark.parametrize("small", [5e-324, 1e-310, 9e-101])
def test_smaller_weights_are_refused(small, tmp_path):
    """They gave intervals of NaN, and a model with them was saved."""
    X, y, weight = weighted_rows()
    weight[7] = small
    labels = (y > 0).astype(int)
    message = "weights of examples must be 0 or at least 1e-100"
    for model, targets in (
        (OnlineRegressor(), y), (OnlineClassifier(), labels), (AutoClassifier(), labels), (AutoRegressor(), y),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.fit(X, targets, sample_weight=weight)
    with pytest.raises(ValueError, match=message):
        OnlineClassifier(class_weight={0: 1e-60, 1: 1.0}).fit(X, labels, sample_weight=np.full(len(y), 1e-60))
    for model, target in ((river.OnlineClassifier(), "a"), (river.OnlineRegressor(), 1.0)):
        with pytest.raises(ValueError, match="weight must be 0 or at least 1e-100"):
            model.learn_one({"x": 1.0}, target, w=small)
    (tmp_path / "rows.vw").write_text(f"1 1.0 | x\n-1 {small!r} | x y\n")
    with pytest.raises(DataError, match=r"line 2.*is above 0 and below 1e-100; use 0 to leave the row out"):
        OnlineClassifier().fit_stream(open_stream(tmp_path / "rows.vw"))
