"""Samples and marginals of the posterior agree with its covariance."""

import numpy as np
import pytest

from confidently import OnlineClassifier
from tests.covariance_cases import OVER_WEIGHTS, serves
from tests.estimators.test_classifier import TASKS
from tests.tables.tasks import MULTICLASS

CASES = [(c, t, m) for c in OVER_WEIGHTS for t in TASKS for m in MULTICLASS]


@pytest.mark.long("20,000 samples of each covariance")
@pytest.mark.few
@pytest.mark.parametrize(("covariance", "task", "multiclass"), CASES)
def test_samples_and_marginals_are_of_the_same_gaussian(covariance, task, multiclass):
    if multiclass != "joint" and (not serves(covariance, multiclass) or task != "multiclass"):
        pytest.skip("the same learner as joint, or refused")
    if task.startswith("multilabel") and not serves(covariance, task):
        pytest.skip("refused")
    X, y = TASKS[task]()
    X = X[:150, :6]
    classifier = OnlineClassifier(
        "logistic" if multiclass == "softmax" else "arow", covariance, multiclass=multiclass, view=None
    ).fit(X, y[:150])
    label = None if task == "binary" else classifier.classes_[1]
    row = 0 if task == "binary" else 1
    marginal = classifier.marginal(label)
    np.testing.assert_allclose(marginal.mean[:-1], classifier.coef_[row])
    np.testing.assert_allclose(marginal.standard_deviation[:-1] ** 2, classifier.variance_[row], rtol=1e-9)
    one = np.column_stack([X, np.ones(len(X))])
    variance = classifier.margin_distribution(X)[1].reshape(len(X), -1)[:, row]
    sigma = np.diag(marginal.covariance) if marginal.covariance.ndim == 1 else marginal.covariance
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", one, sigma, one), variance, rtol=1e-8)
    lengths, directions = marginal.principal_axes()
    np.testing.assert_allclose((directions.T * lengths**2) @ directions, sigma, atol=1e-10)
    assert (np.diff(lengths) <= 0).all()
    drawn = classifier.sample_weights(20_000, random_state=0)
    assert drawn.shape == (20_000, len(classifier.coef_), 7)
    np.testing.assert_allclose(np.cov(drawn[:, row].T), sigma, atol=0.05 * sigma.diagonal().max())
    np.testing.assert_allclose(np.cov(marginal.sample(20_000, np.random.default_rng(1)).T), sigma,
                               atol=0.05 * sigma.diagonal().max())  # fmt: skip
    expected = sigma[0, 2] / np.sqrt(sigma[0, 0] * sigma[2, 2])
    assert marginal.correlation(0, 2) == pytest.approx(expected)


def test_invalid_arguments_are_rejected():
    X, y = TASKS["multiclass"]()
    classifier = OnlineClassifier("arow", "shared", view=None).fit(X, y)
    with pytest.raises(ValueError, match="unknown label 11; expected one of"):
        classifier.marginal(11)
    with pytest.raises(ValueError, match="n must be in 1 to 65"):
        classifier.marginal(3).principal_axes(0)
    with pytest.raises(ValueError, match="keeps coefficients of examples"):
        OnlineClassifier("arow", "kernel").fit(X[:50], y[:50]).sample_weights()
