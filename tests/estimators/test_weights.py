"""Large weights of examples neither diverge nor overshoot, with any rule."""

import numpy as np
import pytest

from confidently import RULES, OnlineClassifier, load


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
    plain, weighted = (OnlineClassifier(rule).fit(X, y, sample_weight=w) for w in (None, np.full(len(y), 30.0)))
    assert np.array_equal(plain.coef_, weighted.coef_)
    assert np.array_equal(plain.variance_, weighted.variance_)


@pytest.mark.parametrize("rule", ["pa", "cw_stdev"])
def test_balanced_classes_do_not_diverge(rule):
    """Rows of the rare class weigh 5 times as much."""
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.1).astype(int)
    X = rng.normal(size=(3000, 5)) + 0.5 * y[:, None]
    plain = np.abs(OnlineClassifier(rule).fit(X, y).coef_).max()
    balanced = np.abs(OnlineClassifier(rule, class_weight="balanced").fit(X, y).coef_).max()
    assert balanced < 3 * plain


def test_a_file_of_weighted_rows_gives_a_model_that_can_be_read(ok, tmp_path):
    rng = np.random.default_rng(1)
    rows = zip(rng.choice([-1, 1], 5000), *rng.normal(size=(2, 5000)), strict=True)
    (tmp_path / "rows.vw").write_text("".join(f"{label} 20 |a x:{x:.4f} y:{y:.4f}\n" for label, x, y in rows))
    assert "nan" not in ok("train", tmp_path / "rows.vw", "-o", tmp_path / "model.cw", "--rule", "pa")
    assert "nan" not in ok("inspect", tmp_path / "model.cw")
