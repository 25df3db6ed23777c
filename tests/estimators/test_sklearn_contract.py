"""scikit-learn's own checks, on every rule and covariance. Each exception has its reason."""

import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from confidently import RULES, OnlineClassifier

COVARIANCES = ("diag", "full", "shared")

WEIGHT = "an online method: a weight scales the loss of one step, which is not the same as learning the row twice"
HEAVY = (
    "one class weighs 10^7 times the other: once its rows have their margin nothing moves any more, so that the other "
    "class's rows need not be drowned, as the check wants"
)
VARIANCE = "a probability depends on the margin's variance too, so that its order need not be the margin's"
UNCALIBRATED = "the class with the largest mean need not have the largest uncalibrated posterior probability"
OFFSET = "a calibrated probability has an offset; the prediction is the sign of the margin, as in the papers"
ONE_PASS = "one pass over 300 rows in two dimensions does not reach the required accuracy"


def expected_failures(estimator):
    """Checks that cannot hold, with the reason."""
    failures = {
        "check_sample_weight_equivalence_on_dense_data": WEIGHT,
        "check_sample_weight_equivalence_on_sparse_data": WEIGHT,
        "check_decision_proba_consistency": VARIANCE,
    }
    if estimator.rule not in ("arow", "scw2"):
        failures["check_class_weight_classifiers"] = HEAVY
    if estimator.calibration == "progressive":
        failures["check_classifiers_train"] = OFFSET
    elif estimator.rule in ("sop", "cellip"):
        failures["check_classifiers_train"] = UNCALIBRATED
    elif estimator.rule == "cw_var":
        failures["check_classifiers_train"] = ONE_PASS
    return failures


WITHOUT_CALIBRATION = [
    OnlineClassifier(rule, covariance, calibration=None) for rule in RULES for covariance in COVARIANCES
]
WITH_CALIBRATION = [OnlineClassifier("arow"), OnlineClassifier("gibbs_pa", multiclass="one-vs-rest", average=True)]


@parametrize_with_checks(WITHOUT_CALIBRATION + WITH_CALIBRATION, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("covariance", COVARIANCES)
@pytest.mark.parametrize("rule", RULES)
def test_progressive_probabilities_follow_the_excepted_check(rule, covariance):
    """What check_classifiers_train requires of probabilities and calibration must not break."""
    X, y = make_blobs(n_samples=300, cluster_std=0.3, random_state=0)
    X = StandardScaler().fit_transform(X)
    classifier = OnlineClassifier(rule, covariance).fit(X, y)
    p = classifier.predict_proba(X)
    assert p.shape == (300, 3)
    assert abs(p.sum(axis=1) - 1).max() < 1e-12
    assert (p.argmax(axis=1) == classifier.decision_function(X).argmax(axis=1)).all()
    assert classifier.score(X, y) > 0.9
