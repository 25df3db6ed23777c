"""The theory: the confidence loss against the rule's own steps, bounds against runs, divergence against sampling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from confidently import CELLIP, IELLIP, CWStdev, IELLIPMargin, OnlineClassifier, step
from confidently.rules.theory import (
    cellip_mistake_bound,
    confidence_loss,
    confidence_loss_derivative,
    cw_mistake_bound,
    iellip_margin_update_bound,
    iellip_mistake_bound,
    kl_divergence,
    least_multiple,
)

PHIS = (0.1, 0.5, 1.0, 1.645, 3.0, 10.0)
MARGINS = np.linspace(-30, 15, 901)


def margins_around(phi):
    return np.unique(np.concatenate([MARGINS, phi + np.array([-1e-3, -1e-9, 0.0, 1e-9, 1e-3])]))


@given(
    m=st.floats(-50, 50), log_v=st.floats(-4, 4), phi=st.floats(0.05, 5)
)  # fmt: skip
def test_loss_is_the_squared_step(m, log_v, phi):
    """(xi/phi^2) alpha^2 v, whatever the variance."""
    v = math.exp(log_v)
    taken = step("cw_stdev", m, v, phi=phi)
    alpha = taken[0] if taken else 0.0
    expected = (1 + phi**2) / phi**2 * alpha**2 * v
    assert confidence_loss(m / math.sqrt(v), phi) == pytest.approx(expected, rel=1e-9, abs=1e-18)


# Lemma 5: six properties


@pytest.mark.parametrize("phi", PHIS)
def test_loss_is_zero_exactly_beyond_phi(phi):
    t = margins_around(phi)
    assert ((confidence_loss(t, phi) == 0) == (t >= phi)).all()


@pytest.mark.parametrize("phi", PHIS)
def test_loss_bounds_the_zero_one_loss(phi):
    t = margins_around(phi)
    assert confidence_loss(0.0, phi) == pytest.approx(1)
    assert (confidence_loss(t, phi) >= (t < 0)).all()


@pytest.mark.parametrize("phi", PHIS)
def test_loss_decreases(phi):
    t = margins_around(phi)
    below = t[t <= phi]
    assert (np.diff(confidence_loss(below, phi)) < 0).all()
    assert (np.diff(confidence_loss(t, phi)) <= 0).all()


@pytest.mark.parametrize("phi", PHIS)
def test_loss_is_convex(phi):
    slopes = confidence_loss_derivative(margins_around(phi), phi)
    assert (np.diff(slopes) >= -1e-12 * np.abs(slopes[:-1])).all()


@pytest.mark.parametrize("phi", PHIS)
def test_derivative_is_that_of_the_loss_and_continuous(phi):
    t = MARGINS[np.abs(MARGINS - phi) > 1e-3]
    h = 1e-5
    difference = (confidence_loss(t + h, phi) - confidence_loss(t - h, phi)) / (2 * h)
    np.testing.assert_allclose(confidence_loss_derivative(t, phi), difference, rtol=1e-5, atol=1e-6)
    edge = confidence_loss_derivative([phi - 1e-9, phi, phi + 1e-9], phi)
    np.testing.assert_allclose(edge, 0, atol=1e-7 * abs(confidence_loss_derivative(0.0, phi)))


@pytest.mark.parametrize("phi", PHIS)
def test_loss_grows_as_a_square(phi):
    """l(t)/t^2 -> xi/phi^2, and the slope over t to twice that."""
    t = -1e6
    assert confidence_loss(t, phi) / t**2 == pytest.approx((1 + phi**2) / phi**2, rel=1e-4)
    assert confidence_loss_derivative(t, phi) / t == pytest.approx(2 * (1 + phi**2) / phi**2, rel=1e-4)


def separable(seed, n=150, d=6):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(d)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((n, d)) * rng.uniform(0.3, 2, d)
    X = X[np.abs(X @ u) > 0.1 * np.linalg.norm(X, axis=1)]
    X /= np.linalg.norm(X, axis=1).max()
    return X, np.sign(X @ u).astype(int), u


def read_thirty_times(rule, X, y, prior):
    model = OnlineClassifier(
        rule, "full", prior_variance=prior, fit_intercept=False, passes=30, calibration=None, view=None
    )
    return model.fit(X, y)


def losses_of_run(classifier, X, y, phi):
    """The sum of confidence losses, each before its row is learned."""
    total = 0.0
    for x, label in zip(X, y, strict=True):
        if hasattr(classifier, "learner_"):
            mean, variance = classifier.margin_distribution(x[None])
            total += confidence_loss(label * mean / np.sqrt(variance), phi).item()
        else:
            total += confidence_loss(0.0, phi).item()
        classifier.partial_fit(x[None], [label], classes=[-1, 1])
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize("prior", [1.0, 0.2])
@pytest.mark.parametrize("phi", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("seed", range(5))
def test_cw_bound_holds(seed, phi, prior):
    X, y, u = separable(seed)
    classifier = OnlineClassifier(CWStdev(phi=phi), "full", fit_intercept=False, prior_variance=prior)
    losses = losses_of_run(classifier, X, y, phi)
    last = classifier.covariance_
    for sigma in (last, prior * np.eye(len(u)), 0.1 * prior * np.eye(len(u))):
        multiple = least_multiple(y * (X @ u), np.einsum("ij,jk,ik->i", X, sigma, X), phi)
        bound = cw_mistake_bound(multiple * u, sigma, last, phi, prior)
        assert 0 < classifier.mistakes_ <= losses <= bound


@pytest.mark.parametrize("a", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(5))
def test_cellip_bound_holds(seed, a):
    X, y, u = separable(seed)
    gamma = (y * (X @ u)).min()
    prior = (1 + (1 - a) * gamma) ** 2
    classifier = read_thirty_times(CELLIP(gamma=gamma, a=a), X, y, prior)
    assert classifier.infeasible_ == 0
    bound = cellip_mistake_bound(gamma, a, X.shape[1])
    assert 0 < classifier.mistakes_ <= bound
    free_of_dimension = prior / (a * gamma) ** 2 * math.log(prior / ((1 - a) * gamma) ** 2)
    assert bound <= cellip_mistake_bound(gamma, a, 10**9) <= free_of_dimension * (1 + 1e-6)


@pytest.mark.parametrize(("b", "c"), [(0.3, 0.1), (0.9, 0.09), (0.1, 0.85)])
@pytest.mark.parametrize("gamma", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_iellip_bound_holds(seed, gamma, b, c):
    X, y, u = separable(seed)
    classifier = read_thirty_times(IELLIP(gamma=gamma, b=b, c=c), X, y, 0.1)
    assert 0 < classifier.mistakes_ <= iellip_mistake_bound((y * (X @ u)).min(), b, c)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("prior_variance", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(("gamma", "b"), [(0.01, 0.1), (0.1, 0.3), (1.0, 0.6)])
def test_iellip_margin_bound_holds(seed, prior_variance, gamma, b):
    X, y, u = separable(seed)
    classifier = read_thirty_times(IELLIPMargin(gamma=gamma, b=b), X, y, prior_variance)
    bound = iellip_margin_update_bound((y * (X @ u)).min(), b, prior_variance, np.linalg.norm(X, axis=1).max())
    assert 0 < classifier.mistakes_ <= classifier.learner_.updates <= bound


def test_bounds_refuse_what_they_cannot_bound():
    with pytest.raises(ValueError, match="b must be in"):
        iellip_margin_update_bound(0.1, 1.0)
    with pytest.raises(ValueError, match="not separated"):
        least_multiple([1.0, -1.0], [1.0, 1.0], 1.0)
    with pytest.raises(ValueError, match="below 1"):
        iellip_mistake_bound(0.1, 0.6, 0.4)
    with pytest.raises(ValueError, match="prior_variance"):
        cellip_mistake_bound(0.1, 0.5, 3, prior_variance=1.0)
    with pytest.raises(ValueError, match="positive definite"):
        cw_mistake_bound([1.0, 0.0], np.zeros((2, 2)), np.eye(2), 1.0)


def test_divergence_is_the_integral():
    expected = quad(lambda x: norm.pdf(x, 1, 0.5) * (norm.logpdf(x, 1, 0.5) - norm.logpdf(x, 0, 2)), -8, 10)[0]
    assert kl_divergence([1.0], [0.25], [0.0], [4.0]) == pytest.approx(expected)


def test_divergence_full_is_the_expectation():
    rng = np.random.default_rng(0)
    A, B = (m @ m.T + np.eye(3) for m in rng.standard_normal((2, 3, 3)))
    a, b = rng.standard_normal((2, 3))
    one, other = multivariate_normal(a, A), multivariate_normal(b, B)
    draws = one.rvs(200_000, random_state=1)
    gaps = one.logpdf(draws) - other.logpdf(draws)
    assert kl_divergence(a, A, b, B) == pytest.approx(gaps.mean(), abs=5 * gaps.std() / math.sqrt(len(gaps)))
    assert kl_divergence(a, np.diag(A), b, np.diag(B)) == pytest.approx(
        kl_divergence(a, np.diag(np.diag(A)), b, np.diag(np.diag(B)))
    )
    assert kl_divergence(a, A, a, A) == pytest.approx(0, abs=1e-12)


def test_divergence_refuses_shapes():
    with pytest.raises(ValueError, match="shape"):
        kl_divergence([0.0], [1.0], [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="positive"):
        kl_divergence([0.0], [0.0], [0.0], [1.0])
