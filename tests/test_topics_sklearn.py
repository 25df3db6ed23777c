"""scikit-learn's own checks of the topic model."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from confidently import OnlineMedLDA

# the tests of calibration ask for the same of counts
NEGATIVE = {"check_decision_proba_consistency": "it asks about negative numbers, which are no counts of words"}


@parametrize_with_checks(
    [OnlineMedLDA(5), OnlineMedLDA(n_topics=None, max_topics=6, classifier="averaging")],
    expected_failed_checks=lambda estimator: NEGATIVE,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
