"""scikit-learn's own checks of OnlineRegressor, on every rule and covariance. Each exception has its reason."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from confidently import REGRESSION_RULES, OnlineRegressor
from tests.combinations import sampled

WEIGHT = "an online method: a weight scales the loss of one step, which is not the same as learning the row twice"
COUNTS = "the check has targets below 0, which are not counts"
ESTIMATORS = [
    *(OnlineRegressor(rule, covariance) for rule in REGRESSION_RULES for covariance in ("full", "diag")),
    OnlineRegressor(),
    OnlineRegressor(covariance="kernel"),
]


def expected_failures(estimator):
    exact = estimator.rule == "ridge" and estimator.covariance in ("auto", "full")
    names = () if exact else ("dense", "sparse")
    failures = {f"check_sample_weight_equivalence_on_{kind}_data": WEIGHT for kind in names}
    return failures | ({"check_regressor_multioutput": COUNTS} if estimator.rule == "poisson" else {})


@sampled(parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures))
@pytest.mark.filterwarnings("ignore::confidently.data.DataWarning")
def test_sklearn_checks(estimator, check):
    check(estimator)
