"""The softmax of the rule ``logistic``: exact posterior modes, laws over all sizes, stability, where it is offered."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax

from confidently import OnlineClassifier, load, step
from confidently.covariances.settings import Settings
from confidently.data.memory.matrix import as_matrix
from confidently.learner.learner import Learner
from confidently.models.model import Model
from confidently.river import OnlineClassifier as RiverClassifier
from tests.tables.tasks import MULTICLASS

WEIGHTS = (0.3, 1.0, 2.0, 7.0)


def learner_of(mean, covariance):
    """Return a learner of K classes with this mean (K, d) and covariance, (K, d) variances or (K, d, d) matrices."""
    mean, covariance = np.array(mean, dtype=float), np.array(covariance, dtype=float)
    structure = "diag" if covariance.ndim == 2 else "full"
    learner = Learner(Settings("logistic", structure, "softmax", fit_intercept=False), *mean.shape)
    learner.state["weights"][:, 0] = mean.T
    if structure == "diag":
        learner.state["weights"][:, 1] = covariance.T
    else:
        learner.state["covariance"][:] = covariance
    return learner


def moved(mean, variance, truth, weight=1.0):
    """Return alpha and zeta of a step for scores of this mean and variance: of the only feature of a row (1)."""
    learner = learner_of(np.reshape(mean, (-1, 1)), np.reshape(variance, (-1, 1)))
    learner.learn(as_matrix(np.ones((1, 1))), np.array([truth], dtype=np.int32), weight=np.array([weight]))
    after = learner.state["weights"][0]
    return (after[0] - mean) / variance, 1.0 / after[1] - 1.0 / np.asarray(variance, dtype=float)


# --- the exact posterior mode ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("structure", ["diag", "full"])
@pytest.mark.parametrize("seed", range(3))
def test_the_mean_is_the_posterior_mode(structure, weight, seed):
    """Of all weights, as a generic optimizer finds it; the precision gains w p (1 - p) x x' in each class."""
    rng, (K, d) = np.random.default_rng(seed), (4, 3)
    mean, x, y = rng.normal(size=(K, d)), rng.normal(size=d), int(rng.integers(K))
    variances = 10.0 ** rng.uniform(-1, 1.5, size=(K, d))
    roots = rng.normal(size=(K, d, d)) + 2.0 * np.eye(d)
    sigma = np.stack([np.diag(v) for v in variances]) if structure == "diag" else roots @ roots.swapaxes(1, 2)
    precision = np.linalg.inv(sigma)

    def objective(numbers):
        change = numbers.reshape(K, d) - mean
        return (
            0.5 * np.einsum("ki,kij,kj", change, precision, change) - weight * log_softmax(numbers.reshape(K, d) @ x)[y]
        )

    def gradient(numbers):
        W = numbers.reshape(K, d)
        of_scores = weight * (softmax(W @ x) - (np.arange(K) == y))
        return (np.einsum("kij,kj->ki", precision, W - mean) + np.outer(of_scores, x)).ravel()

    mode = minimize(objective, mean.ravel(), jac=gradient, method="BFGS", options={"gtol": 1e-10}).x.reshape(K, d)
    learner = learner_of(mean, variances if structure == "diag" else sigma)
    learner.learn(as_matrix(x[None]), np.array([y], dtype=np.int32), weight=np.array([weight]))
    np.testing.assert_allclose(learner.mean(), mode, rtol=1e-6, atol=1e-6)
    p = softmax(mode @ x)
    gained = [weight * p[k] * (1 - p[k]) * np.outer(x, x) for k in range(K)]
    if structure == "diag":
        expected = precision.diagonal(axis1=1, axis2=2) + np.array([np.diag(g) for g in gained])
        np.testing.assert_allclose(1 / learner.column_variances(), expected, rtol=1e-6)
    else:
        np.testing.assert_allclose(np.linalg.inv(learner.covariance_matrix()), precision + gained, rtol=1e-6, atol=1e-6)


# --- laws ------------------------------------------------------------------------------------------------------------


def drawn_scores(seed):
    """Return means up to 1e3 and variances from 1e-12 to 1e12 of 2 to 40 classes, a true class and a weight."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 40))
    m = rng.normal(size=K) * 10.0 ** rng.uniform(-2, 3)
    v = 10.0 ** (rng.uniform(-12, 12) + rng.uniform(-2, 2, size=K))
    return m, np.clip(v, 1e-12, 1e12), int(rng.integers(K)), float(rng.choice([0.01, 0.5, 1.0, 2.0, 100.0]))


@pytest.mark.parametrize("block", range(10))
def test_no_step_overshoots(block):
    """The gradient at the new scores is what the mean has moved by: it never changes sign, whatever the variance."""
    for seed in range(100 * block, 100 * block + 100):
        m, v, truth, w = drawn_scores(seed)
        alpha, zeta = moved(m, v, truth, w)
        after = m + v * alpha
        p = softmax(after)
        # as exact as the stored mean determines the change
        tolerance = 1e-11 * w + 1e-15 * (np.abs(m) + np.abs(after)) / v
        residual = np.abs(alpha - w * ((np.arange(len(m)) == truth) - p))
        assert (residual <= tolerance).all(), seed
        assert (np.abs(alpha) <= w * (1 + 1e-9) + tolerance).all(), seed
        assert (zeta >= -1e-9 / v).all() and (zeta <= 0.25 * w * (1 + 1e-9) + 1e-9 / v).all(), seed
        assert after[truth] - after.max() >= m[truth] - m.max() - 1e-12 * np.abs(m).max(), seed


def test_a_shift_of_all_scores_changes_nothing():
    m, v = np.array([0.3, -1.0, 2.0, 0.0]), np.array([1.0, 20.0, 0.1, 5.0])
    for shift in (-7.0, 1e3):
        np.testing.assert_allclose(moved(m + shift, v, 1)[0], moved(m, v, 1)[0], rtol=1e-9)


def test_the_order_of_the_classes_does_not_matter():
    m, v, order = np.array([0.3, -1.0, 2.0, 0.0]), np.array([1.0, 20.0, 0.1, 5.0]), [2, 0, 3, 1]
    for found, expected in zip(moved(m[order], v[order], 0), moved(m, v, 2), strict=True):
        np.testing.assert_allclose(found, np.array(expected)[order], rtol=1e-9)


@pytest.mark.parametrize("margin", [-3.0, -0.2, 0.0, 1.0, 6.0])
def test_two_classes_agree_with_the_rule_of_two_where_little_is_uncertain(margin):
    """Matching moments and the mode of the posterior differ by the order of the variance of the margin."""
    for v in (1e-2, 1e-4, 1e-6):
        alpha, zeta = moved(np.array([0.5 * margin, -0.5 * margin]), np.array([0.5 * v, 0.5 * v]), 0)
        expected_alpha, expected_zeta, _ = step("logistic", margin, v)
        assert alpha[0] == pytest.approx(-alpha[1], rel=1e-9)
        assert alpha[0] == pytest.approx(expected_alpha, abs=0.3 * v + 4e-4)  # of the mixture of probits
        assert zeta[0] == pytest.approx(expected_zeta, abs=0.3 * v + 2e-3)


def test_a_weight_of_two_is_close_to_two_copies_and_a_weight_of_zero_is_none():
    m, v = np.array([0.3, -1.0, 2.0]), np.full(3, 1e-4)
    once, twice = learner_of(m[:, None], v[:, None]), learner_of(m[:, None], v[:, None])
    X, y = as_matrix(np.ones((2, 1))), np.array([1, 1], dtype=np.int32)
    once.learn(X, y, weight=np.array([2.0, 0.0]))
    twice.learn(X, y)
    assert (once.n_seen, twice.n_seen) == (1, 2)
    np.testing.assert_allclose(once.state["weights"], twice.state["weights"], rtol=1e-7)


# --- stability -------------------------------------------------------------------------------------------------------


def noisy_words(n=4000, d=3000, K=20):
    """Return rows of 15 present words, not of unit norm, and classes of which four in ten are noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=n)
    words = np.where(
        rng.random((n, 15)) < 0.3,
        y[:, None] * 20 + rng.integers(20, size=(n, 15)),
        400 + (rng.random((n, 15)) ** 3 * (d - 400)).astype(int),
    )
    X = np.zeros((n, d))
    X[np.arange(n)[:, None], words] = 1.0
    return X, np.where(rng.random(n) < 0.4, rng.integers(K, size=n), y)


def test_prior_variances_from_a_tenth_to_a_thousand_are_stable():
    X, y = noisy_words()
    errors, sizes = [], []
    for prior in (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0):
        classifier = OnlineClassifier("logistic", prior_variance=prior, view=None).fit(X, y)
        errors.append(classifier.mistakes_ / len(y))
        sizes.append(np.abs(classifier.coef_).max())
    assert max(errors) < 0.7  # 0.4 (1 - 1/20) of the labels are noise
    assert max(sizes) < 25


@pytest.mark.parametrize("n_features", [3, 20_000])  # few changes of a large state are logged; a small one is copied
def test_an_invalid_row_leaves_the_state_as_it_was(n_features):
    rng = np.random.default_rng(0)
    X, y = np.zeros((6, n_features)), np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    X[:, :3] = rng.normal(size=(6, 3))
    learner = Learner(Settings("logistic", task="softmax", average=True), 3, n_features)
    learner.learn(as_matrix(csr_matrix(X)), y)
    before = {name: array.tobytes() for name, array in learner.state.items()}
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in row 4"):
        learner.learn(as_matrix(csr_matrix(X), check=False), y)
    assert {name: array.tobytes() for name, array in learner.state.items()} == before


def test_scores_at_the_limits_of_the_type_stay_within_it():
    """The mode lies between what was believed and what is seen, so nothing overflows."""
    learner = learner_of([[0.9e110], [-0.9e110], [0.0]], [[1e9], [1e9], [1e9]])
    learner.learn(as_matrix(np.full((2, 1), 1e100)), np.array([1, 0], dtype=np.int32), weight=np.array([1e9, 1e-9]))
    for array in learner.state.values():
        assert np.isfinite(array).all()
    assert np.abs(learner.mean()).max() <= 1e110


# --- where it is offered ---------------------------------------------------------------------------------------------


def three_classes(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["a", "b", "c"])[(X @ rng.normal(size=(4, 3))).argmax(axis=1)]


@pytest.mark.parametrize(("rule", "task"), [("logistic", "softmax"), ("arow", "joint"), ("probit", "joint")])
def test_the_rule_determines_the_default(rule, task, tmp_path):
    X, y = three_classes()
    classifier = OnlineClassifier(rule).fit(X, y)
    assert classifier.multiclass is None
    assert classifier.learner_.settings.task.name == task
    assert OnlineClassifier(rule, multiclass=task).fit(X, y).learner_.settings.task.name == task
    classifier.save(tmp_path / "m.cw")
    assert Model.load(tmp_path / "m.cw").multiclass == task
    assert load(tmp_path / "m.cw").multiclass is None
    river = RiverClassifier(rule)
    for x, label in zip(X, y, strict=True):
        river.learn_one(dict(zip("abcd", x.tolist(), strict=True)), str(label))
    assert river._rows.learner.settings.task.name == task


@pytest.mark.parametrize("multiclass", MULTICLASS)
def test_a_saved_choice_is_kept(multiclass, tmp_path):
    X, y = three_classes()
    classifier = OnlineClassifier("logistic", multiclass=multiclass).fit(X, y)
    classifier.save(tmp_path / "m.cw")
    again = load(tmp_path / "m.cw")
    assert again.fit(X, y).learner_.settings.task.name == multiclass
    np.testing.assert_array_equal(again.coef_, classifier.coef_)


def test_other_rules_are_refused_with_one_reason():
    X, y = three_classes()
    reason = r'multiclass="softmax" moves all classes by one likelihood, which the rule \'arow\' does not have'
    with pytest.raises(ValueError, match=reason):
        OnlineClassifier("arow", multiclass="softmax").fit(X, y)
    with pytest.raises(ValueError, match=reason):
        OnlineClassifier("arow", multiclass="softmax").fit(X, y == "a")
    with pytest.raises(ValueError, match=reason):
        RiverClassifier("arow", multiclass="softmax")
    classifier = OnlineClassifier("logistic").fit(X, y)
    before = classifier.coef_
    with pytest.raises(ValueError, match=reason):
        classifier.set_params(rule="arow").partial_fit(X, y)
    np.testing.assert_array_equal(classifier.coef_, before)


def test_uncalibrated_probabilities_are_the_softmax_of_the_scores():
    X, y = three_classes()
    classifier = OnlineClassifier("logistic", calibration=None).fit(X, y)
    np.testing.assert_allclose(
        classifier.predict_proba(X), softmax(classifier.decision_function(X), axis=1), rtol=1e-12
    )


def test_a_third_class_keeps_what_is_known_of_the_first_two():
    X, y = three_classes()
    two = y != "c"
    classifier = OnlineClassifier("logistic").partial_fit(X[two], y[two], classes=["a", "b"])
    mean, variance = classifier.margin_distribution(X)
    classifier.partial_fit(X[:1], y[:1], classes=["a", "b", "c"], sample_weight=[0.0])
    assert classifier.learner_.settings.task.name == "softmax"
    assert classifier.learner_.updates == 2 * two.sum()
    scores, variances = classifier.margin_distribution(X)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], mean, rtol=1e-9)
    np.testing.assert_allclose(variances[:, :2].sum(axis=1), variance, rtol=1e-9)
